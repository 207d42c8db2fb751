"""The options of section ``[airflow_assets]``: one typed function each, one table that documents them.

The provider info is made from :data:`OPTIONS`, so Airflow's own configuration reference lists exactly these.
Nothing is read at import. An option of the environment may change while the process runs, one of
``airflow.cfg`` is read once, as Airflow does.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_assets.schemas.durations import Duration

SECTION = "airflow_assets"
TASK_AUTHS = ("managed", "user", "off")
FAILURE_BEHAVIORS = ("FAIL", "WARN", "IGNORE")


@dataclass(frozen=True)
class Option:
    """One option: Airflow's type (``boolean``, ``integer``, ``string``), default and description."""

    name: str
    type: str
    default: str
    description: str
    example: str | None = None


OPTIONS = {
    option.name: option
    for option in (
        Option(
            "enabled",
            "boolean",
            "True",
            "Whether tasks record their assets and the API server runs the catalogue's background jobs.",
        ),
        Option(
            "api_url",
            "string",
            "",
            "Where tasks, triggers and commands outside the server reach the API server. Empty: derived from "
            "[core] execution_api_server_url, then from [api] base_url.",
            "https://airflow.example.com",
        ),
        Option(
            "task_auth",
            "string",
            "managed",
            "How tasks prove who they are: managed (a token signed with the secret of the connection "
            "airflow_assets_default), user (only what the connection's login or token gives), off (none).",
        ),
        Option(
            "namespaces",
            "string",
            "",
            "Which teams see the assets of a namespace (under [core] multi_team), and which namespaces may "
            "be named in a filter beside it, as JSON. Empty: everything is open.",
            '{"finance": {"allowed": ["reporting"], "teams": ["controllers"]}}',
        ),
        Option(
            "asset_failure_behavior",
            "string",
            "WARN",
            "What happens to a task whose assets cannot be rendered or stored: FAIL, WARN or IGNORE.",
        ),
        Option(
            "enable_auto",
            "boolean",
            "False",
            'Whether script lines ::{"assets": ...}:: in the output of tasks are read.',
        ),
        Option(
            "storage_path",
            "string",
            "",
            "Where ListAssetsOperator writes its results with fetch_type STORE: a path or URL that "
            "ObjectStoragePath opens, which tasks on other hosts can read too. Empty: a folder below "
            "AIRFLOW_HOME of the worker.",
            "s3://aws_default@bucket/airflow_assets",
        ),
        Option(
            "client_timeout",
            "integer",
            "30",
            "Seconds a client waits for one answer of the API.",
        ),
        Option(
            "client_patience",
            "integer",
            "60",
            "Seconds a client keeps trying while the API cannot be reached or is overloaded.",
        ),
        Option(
            "max_event_depth",
            "integer",
            "20",
            "How many Dag runs may follow each other, each started by an event of the one before; a longer "
            "chain is taken for a loop and starts no further run.",
        ),
        Option(
            "event_retention",
            "string",
            "P90D",
            "How long events are kept, as an ISO 8601 duration; older ones are purged in the background, but "
            "for what a Dag or sensor has yet to read. Empty: for ever. Lineage, usages, assets are purged "
            "by PurgeAssetsOperator only.",
            "P1Y",
        ),
        Option(
            "max_pending",
            "integer",
            "1000",
            "How many queued runs of one Dag events may pile up; further events wait in the log.",
        ),
        Option(
            "script_env",
            "string",
            "",
            "Names of environment variables, with commas between, that scripts of script triggers or sensors "
            "get from the process that runs them, beside PATH and LANG; they see no others.",
            "HTTPS_PROXY, SSL_CERT_FILE",
        ),
        Option(
            "script_memory",
            "integer",
            "1024",
            "MiB of memory that a script of a script trigger or sensor may use: each of its processes as a "
            "child process, all together in a container.",
        ),
        Option(
            "script_output",
            "integer",
            "64",
            "KiB of a script's output that are kept, half from its beginning and half from its end.",
        ),
        Option(
            "script_slots",
            "integer",
            "8",
            "How many scripts a triggerer runs at a time; the others wait.",
        ),
    )
}


def enabled() -> bool:
    """Whether this provider does anything at run time; default True."""
    return _boolean("enabled")


def api_url() -> str:
    """Return the configured address of the API server without a trailing slash, or ``""``."""
    return _text("api_url").rstrip("/")


def task_auth() -> str:
    """Return ``managed`` (default), ``user`` or ``off``."""
    return _one_of("task_auth", _text("task_auth").lower(), TASK_AUTHS)


def asset_failure_behavior() -> str:
    """Return ``FAIL``, ``WARN`` (default) or ``IGNORE``."""
    return _one_of("asset_failure_behavior", _text("asset_failure_behavior").upper(), FAILURE_BEHAVIORS)


def enable_auto() -> bool:
    """Whether script lines in the output of tasks are read; default False."""
    return _boolean("enable_auto")


def storage_path() -> str:
    """Return where results are stored, or ``""``."""
    return _text("storage_path")


def client_timeout() -> int:
    """Return the seconds a client waits for one answer; default 30."""
    return _positive("client_timeout")


def client_patience() -> int:
    """Return the seconds a client keeps trying to reach the API; default 60."""
    return _positive("client_patience")


def max_event_depth() -> int:
    """Return the longest chain of event-started runs; default 20."""
    return _positive("max_event_depth")


def max_pending() -> int:
    """Return the most queued runs of one Dag that events may pile up; default 1,000."""
    return _positive("max_pending")


def script_env() -> list[str]:
    """Return the names of the environment variables that scripts get; default none.

    Raises:
        AirflowConfigException: something in the option cannot be the name of a variable.
    """
    text = _text("script_env")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if any("=" in name or len(name.split()) > 1 for name in names):
        raise _broken("script_env", text, "must be names of variables with commas between")
    return names


def script_memory() -> int:
    """Return the MiB of memory of a script; default 1,024."""
    return _positive("script_memory")


def script_output() -> int:
    """Return the KiB of output that are kept of a script; default 64."""
    return _positive("script_output")


def script_slots() -> int:
    """Return how many scripts a triggerer runs at a time; default 8."""
    return _positive("script_slots")


def event_retention() -> Duration | None:
    """Return how long events are kept; default 90 days, None for ever.

    Raises:
        AirflowConfigException: the option is no ISO 8601 duration.
    """
    from airflow_assets.exceptions import InvalidRequest
    from airflow_assets.schemas.durations import Duration

    text = _text("event_retention")
    try:
        return Duration.parse(text) if text else None
    except InvalidRequest:
        raise _broken(
            "event_retention", text, "must be an ISO 8601 duration, such as P90D, or empty"
        ) from None


def namespaces() -> dict[str, Any]:
    """Return the namespace rules; empty (the default) when everybody may read everything.

    Raises:
        AirflowConfigException: the option is not a JSON object.
    """
    text = _text("namespaces")
    try:
        rules = json.loads(text) if text else {}
    except ValueError:
        rules = None
    if not isinstance(rules, dict):
        raise _broken("namespaces", text, "must be a JSON object: namespace -> who may read it")
    return rules


def _text(name: str) -> str:
    # Airflow reads its file once in the life of a process, and takes as long for a look-up as we for a token.
    return _looked_up(name, os.environ.get(f"AIRFLOW__{SECTION.upper()}__{name.upper()}"))


@lru_cache(maxsize=256)
def _looked_up(name: str, _variable: str | None) -> str:
    from airflow.configuration import conf

    return str(conf.get(SECTION, name, fallback=OPTIONS[name].default)).strip()


def _boolean(name: str) -> bool:
    text = _text(name).lower()
    if text in {"true", "t", "1", "yes", "on"}:
        return True
    if text in {"false", "f", "0", "no", "off"}:
        return False
    raise _broken(name, text, "must be True or False")


def _positive(name: str) -> int:
    text = _text(name)
    if not text.isdecimal() or int(text) < 1:
        raise _broken(name, text, "must be a whole number from 1")
    return int(text)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise _broken(name, value, f"must be one of {', '.join(allowed)}")
    return value


def _broken(name: str, value: str, rule: str) -> Exception:
    from airflow.exceptions import AirflowConfigException

    return AirflowConfigException(f"[{SECTION}] {name} = {value!r}: it {rule}.")
