"""Values as files or objects: pickled, as JSON, or as Parquet."""

from __future__ import annotations

import json
import pickle
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_assets.authoring.handlers.interface import BaseIOHandler
from airflow_assets.authoring.metadata_values import MetadataValue

if TYPE_CHECKING:
    from upath import UPath

    from airflow_assets.authoring.contexts import InputContext, OutputContext


class FileIOHandler(BaseIOHandler):
    """Stores each value in one file: ``<path>/<asset>.<suffix>``, or ``<path>/<asset>/<partition>.<suffix>``.

    A value appears whole or not at all: it is written beside its place and moved there, where the storage
    can move.

    :param path: a folder, or the URI of one that fsspec knows (``s3://bucket/folder``).
    :param conn_id: the Airflow connection with the credentials; it needs Airflow.
    """

    path: str
    conn_id: str | None = None

    @property
    @abstractmethod
    def suffix(self) -> str:
        """The ending of its files, without the dot."""

    @abstractmethod
    def dump(self, obj: Any) -> bytes:
        """Return the content of a value's file."""

    @abstractmethod
    def parse(self, content: bytes, type_hint: Any) -> Any:
        """Return the value of a file."""

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write the value, once for each partition of the step."""
        began = time.perf_counter()
        content = self.dump(obj)
        places = [self.place(context.asset_name, key) for key in _keys(context.partition)]
        for place in places:
            _write_whole(place, content)
        context.add_output_metadata(
            {
                "path": MetadataValue.path(str(places[0])),
                "serializer": self.suffix,
                "size_bytes": MetadataValue.bytes(len(content)),
                "write_duration_s": time.perf_counter() - began,
            }
        )

    def load_input(self, context: InputContext) -> Any:
        """Return the value; of several partitions, or of all, a dict of their values by key.

        Raises:
            FileNotFoundError: there is none.
        """
        keys = _keys(context.partition)
        if len(keys) > 1:
            return {key: self._read(context, key) for key in keys}
        if keys[0] is None and not self.place(context.asset_name, None).exists():
            stored = self._stored_keys(context.asset_name)
            if stored:
                return {key: self._read(context, key) for key in stored}
        return self._read(context, keys[0])

    def place(self, asset: str, key: str | None) -> UPath:
        """Return the file of an asset, or of one of its partitions."""
        name = quote(asset, safe="/")
        found: UPath = self._root() / (
            f"{name}/{quote(key, safe='=')}.{self.suffix}" if key else f"{name}.{self.suffix}"
        )
        return found

    def _stored_keys(self, asset: str) -> list[str]:
        from urllib.parse import unquote

        folder, ending = self._root() / quote(asset, safe="/"), f".{self.suffix}"
        if not folder.is_dir():
            return []
        return sorted(
            unquote(file.name.removesuffix(ending)) for file in folder.iterdir() if file.name.endswith(ending)
        )

    def _read(self, context: InputContext, key: str | None) -> Any:
        place = self.place(context.asset_name, key)
        try:
            content = place.read_bytes()
        except FileNotFoundError as error:
            raise FileNotFoundError(f"There is no value of {context.asset_name!r} at {place}") from error
        return self.parse(content, context.type_hint)

    def _root(self) -> Any:
        if self.conn_id:
            from airflow.sdk import ObjectStoragePath

            return ObjectStoragePath(self.path, conn_id=self.conn_id)
        from upath import UPath

        return UPath(self.path)


class PickleIOHandler(FileIOHandler):
    """Stores any value that can be pickled; load only what you have written."""

    @property
    def suffix(self) -> str:
        """The ending of its files."""
        return "pkl"

    def dump(self, obj: Any) -> bytes:
        """Return the pickled value."""
        return pickle.dumps(obj, protocol=5)

    def parse(self, content: bytes, type_hint: Any) -> Any:  # noqa: ARG002
        """Return the value."""
        return pickle.loads(content)  # noqa: S301 - its own files


class JsonIOHandler(FileIOHandler):
    """Stores what JSON can express, indented, for people and other programs to read.

    Raises:
        TypeError: a value that JSON cannot express.
    """

    @property
    def suffix(self) -> str:
        """The ending of its files."""
        return "json"

    def dump(self, obj: Any) -> bytes:
        """Return the JSON text."""
        return json.dumps(obj, ensure_ascii=False, indent=2).encode()

    def parse(self, content: bytes, type_hint: Any) -> Any:  # noqa: ARG002
        """Return the value."""
        return json.loads(content)


class ParquetIOHandler(FileIOHandler):
    """Stores tables: Arrow tables and record batches, and the data frames of pandas and Polars.

    What is loaded is of the type that the reader annotates; an Arrow table without an annotation.

    :param compression: of the columns.
    """

    compression: str = "zstd"

    @property
    def suffix(self) -> str:
        """The ending of its files."""
        return "parquet"

    def dump(self, obj: Any) -> bytes:
        """Return the file of a table.

        Raises:
            TypeError: the value is no table.
        """
        import pyarrow as pa
        from pyarrow import parquet

        sink = pa.BufferOutputStream()
        parquet.write_table(_as_arrow(obj), sink, compression=self.compression)
        return bytes(sink.getvalue())

    def parse(self, content: bytes, type_hint: Any) -> Any:
        """Return the table, as what the reader asks for."""
        import pyarrow as pa
        from pyarrow import parquet

        table = parquet.read_table(pa.BufferReader(content))
        module = getattr(type_hint, "__module__", "").partition(".")[0]
        if module == "pandas":
            return table.to_pandas()
        if module == "polars":
            import polars as pl

            frame = pl.from_arrow(table)
            return frame.lazy() if type_hint.__name__ == "LazyFrame" else frame
        return table


def _as_arrow(obj: Any) -> Any:
    import pyarrow as pa

    if isinstance(obj, pa.Table):
        return obj
    if isinstance(obj, pa.RecordBatch):
        return pa.Table.from_batches([obj])
    module = type(obj).__module__.partition(".")[0]
    if module == "pandas":
        return pa.Table.from_pandas(obj)
    if module == "polars":
        return (obj.collect() if hasattr(obj, "collect") else obj).to_arrow()
    if hasattr(obj, "__arrow_c_stream__"):
        return pa.table(obj)
    raise TypeError(f"ParquetIOHandler stores Arrow tables and data frames, not {type(obj).__name__}")


def _keys(partition: Any) -> list[str | None]:
    return list(map(str, partition.keys)) if partition is not None else [None]


def _write_whole(place: UPath, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.protocol not in {"", "file"}:
        place.write_bytes(content)  # object stores show an object when it is complete
        return
    import os
    import tempfile
    from pathlib import Path

    handle, beside = tempfile.mkstemp(dir=str(place.parent), prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(place.path)
    except BaseException:
        Path(beside).unlink()
        raise
