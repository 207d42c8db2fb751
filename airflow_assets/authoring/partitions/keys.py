"""Names of partitions: one key, several keys, keys of several dimensions, and ranges of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from airflow_assets.authoring.checks import of_type
from airflow_assets.authoring.errors import PartitionDefinitionError

RESERVED = "|,"
"""Characters that no key holds: they separate keys and dimensions in the canonical text."""


@dataclass(frozen=True)
class PartitionKey:
    """One or several partitions of one asset.

    ``dimensions`` maps each dimension to its keys; the dimension of a definition with one is ``""``. The
    canonical text is ``a,b``, or ``day=2026-01-01|region=eu,us`` with the dimensions in their order.

    >>> str(PartitionKey.multi({"region": ["eu", "us"], "day": "2026-01-01"}))
    'day=2026-01-01|region=eu,us'
    """

    dimensions: tuple[tuple[str, tuple[str, ...]], ...]
    combinations: tuple[PartitionKey, ...] = ()
    """Keys that are no product of dimensions, such as the days 1 and 2 of two regions each."""

    @classmethod
    def single(cls, key: str | Sequence[str]) -> PartitionKey:
        """Return the key (or keys) of a definition with one dimension.

        Raises:
            PartitionDefinitionError: there is no key, or an empty one.
        """
        return cls((("", _keys(key, "PartitionKey.single")),))

    @classmethod
    def multi(cls, keys: Mapping[str, str | Sequence[str]]) -> PartitionKey:
        """Return the keys of each dimension of a multi-dimensional definition; several mean their product.

        Raises:
            PartitionDefinitionError: there is no dimension, or one without a key.
        """
        of_type(keys, (Mapping,), "PartitionKey.multi")
        if not keys:
            raise PartitionDefinitionError(
                "PartitionKey.multi needs a key for each dimension, not an empty dict"
            )
        found = ((name, _keys(keys[name], f"dimension {name!r}")) for name in sorted(keys))
        return cls(tuple(found))

    @classmethod
    def set_of(cls, keys: Sequence[PartitionKey]) -> PartitionKey:
        """Return keys that need not be a product of dimensions, as one."""
        single = tuple(dict.fromkeys(one for key in keys for one in key))
        if not single:
            raise PartitionDefinitionError("A set of partition keys needs at least one key")
        return single[0] if len(single) == 1 else cls((), single)

    @classmethod
    def parse(cls, text: str) -> PartitionKey:
        """Return the key of a canonical text.

        >>> PartitionKey.parse("day=2026-01-01|region=eu").of("region")
        ('eu',)
        """
        parts = [part.partition("=") for part in text.split("|")]
        if len(parts) == 1 and not parts[0][1]:
            return cls.single(text.split(","))
        return cls.multi({name: keys.split(",") for name, _, keys in parts})

    @classmethod
    def from_json(cls, s: str | Mapping[str, Any]) -> PartitionKey:
        """Return the key of a text of :meth:`to_json`, or of its document.

        Raises:
            PartitionDefinitionError: it has another form.
        """
        found = json.loads(s) if isinstance(s, str) else s
        if isinstance(found, Mapping) and len(found) == 1:
            ((form, value),) = found.items()
            if form == "single":
                return cls.single(value)
            if form == "multi":
                return cls.multi(value)
            if form == "set":
                return cls.set_of([cls.from_json(one) for one in value])
        raise PartitionDefinitionError(
            f'A partition key is {{"single": [...]}}, {{"multi": {{...}}}} or {{"set": [...]}}, not {found!r}'
        )

    def to_json(self) -> str:
        """Return the key as a JSON text."""
        return json.dumps(self.document(), ensure_ascii=False, separators=(",", ":"))

    def document(self) -> dict[str, Any]:
        """Return what :meth:`to_json` writes."""
        if self.combinations:
            return {"set": [one.document() for one in self.combinations]}
        if self.is_multi:
            return {"multi": {name: list(keys) for name, keys in self.dimensions}}
        return {"single": list(self.of(""))}

    @property
    def is_multi(self) -> bool:
        """Whether the key has named dimensions."""
        key = self.combinations[0] if self.combinations else self
        return key.dimensions[0][0] != ""

    @property
    def key(self) -> list[str]:
        """The keys of a definition with one dimension.

        Raises:
            AttributeError: the key has several dimensions.
        """
        if self.is_multi:
            raise AttributeError("A key of several dimensions has 'keys', by dimension, and no 'key'")
        return list(self.of(""))

    @property
    def keys(self) -> dict[str, list[str]]:
        """The keys of each dimension.

        Raises:
            AttributeError: the key has one dimension.
        """
        if not self.is_multi:
            raise AttributeError("A key of one dimension has 'key', a list, and no 'keys'")
        names = dict.fromkeys(name for one in self.combinations or (self,) for name, _ in one.dimensions)
        return {name: list(self.of(name)) for name in names}

    def of(self, dimension: str) -> tuple[str, ...]:
        """Return the keys of a dimension, in their order; none where the key has no such dimension."""
        if self.combinations:
            return tuple(dict.fromkeys(key for one in self.combinations for key in one.of(dimension)))
        return dict(self.dimensions).get(dimension, ())

    def __iter__(self) -> Iterator[PartitionKey]:
        """Yield the single partitions that the key stands for."""
        if self.combinations:
            yield from self.combinations
            return
        names = [name for name, _ in self.dimensions]
        for choice in product(*(keys for _, keys in self.dimensions)):
            yield PartitionKey(tuple((name, (key,)) for name, key in zip(names, choice, strict=True)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"PartitionKey({str(self)!r})"

    def __str__(self) -> str:
        if self.combinations:
            return ";".join(map(str, self.combinations))
        return "|".join(
            f"{name}={','.join(keys)}" if name else ",".join(keys) for name, keys in self.dimensions
        )


@dataclass(frozen=True)
class PartitionKeyRange:
    """Keys from one to another, both included, in the order of the definition.

    >>> PartitionKeyRange.single("2026-01-01", "2026-01-31").dimensions
    (('', ('2026-01-01', '2026-01-31')),)
    """

    dimensions: tuple[tuple[str, tuple[str, str] | list[str]], ...]

    @classmethod
    def single(cls, from_key: str, to_key: str) -> PartitionKeyRange:
        """Return a range of a definition with one dimension."""
        return cls((("", (of_type(from_key, str, "from_key"), of_type(to_key, str, "to_key"))),))

    @classmethod
    def multi(cls, dimensions: Mapping[str, tuple[str, str] | list[str]]) -> PartitionKeyRange:
        """Return a range (a pair) or a list of keys for each dimension; one left out means all its keys."""
        of_type(dimensions, (Mapping,), "PartitionKeyRange.multi")
        return cls(tuple((name, dimensions[name]) for name in sorted(dimensions)))


def _keys(value: str | Sequence[str], what: str) -> tuple[str, ...]:
    keys = (value,) if isinstance(value, str) else tuple(value)
    for key in keys:
        if not of_type(key, str, what):
            raise PartitionDefinitionError(f"{what}: a partition key is never empty")
    if not keys:
        raise PartitionDefinitionError(f"{what} needs at least one key")
    return tuple(dict.fromkeys(keys))
