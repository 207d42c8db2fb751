"""What an author says about a script: checked where he says it, made into a :class:`Script` where it runs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.running.condition import checked_condition
from airflow_assets.running.limits import DEFAULT_IMAGE, MIB, RUNNERS, Limits, Script

MAX_SCRIPT = 40_000
"""Characters of a script as JSON: what a database column of Airflow's holds, encrypted, on MySQL."""
MAX_TIMEOUT = 3600.0


@dataclass(frozen=True)
class Definition:
    """A script and the condition on its outcome; :class:`airflow_assets.triggers.ScriptTrigger` explains.

    Raises:
        InvalidRequest: an argument breaks a rule; the message names it and the way out.
    """

    script: str
    exit_condition: str
    image: str | None = None
    runner: str = "auto"
    timeout: float = 60.0
    python: str | None = None
    network: str | None = None

    def __post_init__(self) -> None:
        if not _is_text(self.script):
            raise InvalidRequest(
                "script is blank or not a text.", hint="Give the source of a Python script.", field="script"
            )
        if "\0" in self.script or any("\ud800" <= char <= "\udfff" for char in self.script):
            raise InvalidRequest(
                "script contains U+0000 or half of a surrogate pair.",
                hint="Write it as an escape.",
                field="script",
            )
        if (size := len(json.dumps(self.script))) > MAX_SCRIPT:
            raise InvalidRequest(
                f"script has {size:,} characters; at most {MAX_SCRIPT:,} are allowed.",
                hint="Put the code into a module that the interpreter can import, and call it in the script.",
                field="script",
                limit=MAX_SCRIPT,
            )
        checked_condition(self.exit_condition)
        _check_runner(self)
        if not _is_time(self.timeout):
            raise InvalidRequest(
                f"timeout={self.timeout!r} must be a number of seconds, above 0 and at most {MAX_TIMEOUT:g}.",
                field="timeout",
                limit=MAX_TIMEOUT,
            )

    def to_json(self) -> dict[str, Any]:
        """Return the members that are not at their default."""
        plain = type(self)(self.script, self.exit_condition)
        given = {name: value for name, value in asdict(self).items() if value != getattr(plain, name)}
        return {"script": self.script, "exit_condition": self.exit_condition, **given}

    def configured(self) -> Script:
        """Return what is run, with the limits and the environment of section ``[airflow_assets]``."""
        from airflow_assets import config

        image = self.image or (DEFAULT_IMAGE if self.runner == "container" else None)
        return Script(
            source=self.script,
            limits=Limits(
                timeout=float(self.timeout),
                memory=config.script_memory() * MIB,
                output=config.script_output() * 1024,
            ),
            env={name: os.environ[name] for name in config.script_env() if name in os.environ},
            python=self.python,
            image=image,
            network=self.network or "bridge",
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= MAX_TIMEOUT


def _is_image(value: object) -> bool:
    # What begins with a dash would be an option of the engine.
    return _is_text(value) and not str(value).startswith("-")


def _check_runner(given: Definition) -> None:
    if given.runner not in RUNNERS:
        raise InvalidRequest(
            f"runner={given.runner!r} is not known.", hint=f"Use {', '.join(RUNNERS)}.", field="runner"
        )
    in_container = given.runner == "container" or (given.runner == "auto" and given.image is not None)
    if given.image is not None and not (in_container and _is_image(given.image)):
        raise InvalidRequest(
            f"image={given.image!r} cannot be used with runner={given.runner!r}.",
            hint="Name an image, with runner='auto' or 'container'.",
            field="image",
        )
    if in_container and given.python is not None:
        raise InvalidRequest(
            f"python={given.python!r} names an interpreter of this host, but a container runs its image's.",
            hint="Leave out python, or image.",
            field="python",
        )
    if given.network is not None and not in_container:
        raise InvalidRequest(
            f"network={given.network!r} is for containers: a child process has this host's network.",
            hint="Leave it out, or give an image.",
            field="network",
        )


def airflow_mask(text: str) -> str:
    """Return a text with the secrets masked that Airflow knows of in this process."""
    from airflow.sdk.log import mask_logs

    return str(mask_logs(None, "", {"event": text})["event"])
