"""What Airflow's command line is told; every ``airflow`` command imports this, so it imports little."""

from __future__ import annotations

from typing import Any

from airflow.cli.cli_config import ActionCommand, Arg, CLICommand, GroupCommand, lazy_load_command

from airflow_assets.cli.exit_codes import TABLE

_GROUP_HELP = "The asset catalogue: assets with metadata, events, lineage, locks"
_DESCRIPTION = """Read and change the asset catalogue.

On a host that may use Airflow's database the commands work on it directly, in the name of the user of the
host. Elsewhere, or with --api_url, they use the API and its permissions: give --username (and
AIRFLOW_ASSETS_PASSWORD, or type the password), or AIRFLOW_ASSETS_TOKEN.
"""


def _arg(flags: tuple[str, ...], **options: Any) -> Arg:
    return Arg(flags, **options)  # type: ignore[no-untyped-call]


ID = _arg(("asset_id",), help="id of the asset, or a former id")
CONNECTION = (
    _arg(("--conn_id",), help="Airflow connection (default: airflow_assets_default)", metavar="ID"),
    _arg(("--api_url",), help="address of Airflow's API server", metavar="URL"),
    _arg(("--username",), help="user of Airflow's API", metavar="NAME"),
    _arg(("--tenant",), help="tenant to act on", metavar="TENANT"),
)
OUTPUT = _arg(
    ("-o", "--output"),
    help="table (default), json, yaml, or plain: values separated by tabs, without a head",
    choices=("table", "json", "yaml", "plain"),
    default="table",
)
YES = _arg(("-y", "--yes"), help="do not ask", action="store_true")


def _limit(default: int) -> Arg:
    help_text = f"at most so many, 0 for all (default: {default})"
    return _arg(("--limit",), type=int, default=default, metavar="N", help=help_text)


TYPE = _arg(("--type",), help="type, compared exactly", metavar="TYPE")
NAMESPACE = _arg(("--namespace",), help="namespace, compared exactly", metavar="NAMESPACE")
WHERE = _arg(
    ("--where",),
    help="conditions on metadata: 'owner = data and tier >= 2 and region in (eu, us)'; docs/cli.md has all",
    metavar="CONDITIONS",
)
DELETED = _arg(("--include_deleted",), help="also deleted assets", action="store_true")
FIELDS = (
    NAMESPACE,
    _arg(("--display_name",), help="name for people", metavar="TEXT"),
    _arg(("--description",), help="description in Markdown, @FILE reads it", metavar="TEXT"),
    _arg(("--metadata",), help="JSON object, @FILE reads it; null removes a key", metavar="JSON"),
    _arg(("--uri",), help="where the data is", metavar="URI"),
)
TASK_FILTER = (
    _arg(("--dag_id",), help="Dag", metavar="DAG"),
    _arg(("--run_id",), help="Dag run", metavar="RUN"),
    _arg(("--task_id",), help="task", metavar="TASK"),
)

GRAPH = (
    _arg(("--as_of",), help="as it had been seen by then: 2026-03-29T07:00:00Z", metavar="TIME"),
    _arg(("--no_tasks",), help="only assets", action="store_true"),
    _arg(("--dags",), help="Dags in the place of their tasks", action="store_true"),
    _arg(("--max_nodes",), type=int, metavar="N", help="nodes shown, 1 to 1000 (default: 500)"),
)


def _command(name: str, help: str, *args: Arg, epilog: str | None = None) -> ActionCommand:  # noqa: A002
    function = name.replace("-", "_") + "_command"
    return ActionCommand(
        name=name,
        help=help,
        func=lazy_load_command(f"airflow_assets.cli.commands.{function}"),
        args=(*args, *CONNECTION),
        epilog=epilog,
    )


def get_cli_commands() -> list[CLICommand]:
    """Return the commands; Airflow calls this at every start of its command line."""
    return [
        GroupCommand(
            name="assets-catalog",
            help=_GROUP_HELP,
            description=_DESCRIPTION,
            epilog=TABLE,
            subcommands=(*_asset_commands(), *_lock_commands(), *_log_commands(), *_server_commands()),
        )
    ]


def _asset_commands() -> tuple[ActionCommand, ...]:
    return (
        _command(
            "list", "List assets, ordered by id",
            _arg(("--id",), help="this id; may be repeated", action="append", metavar="ID"),
            _arg(("--type",), help="whole type; may be repeated", action="append", metavar="TYPE"),
            NAMESPACE,
            _arg(("--q",), help="part of id, display name or description", metavar="TEXT"),
            WHERE, DELETED,
            _arg(
                ("--sort",), default="id", help="order (default: id)",
                choices=("id", "-id", "updated", "-updated", "created", "-created"),
            ),
            _limit(100), OUTPUT,
        ),
        _command("get", "Show one asset", ID, DELETED, OUTPUT),
        _command(
            "create", "Create an asset; fails if the id exists",
            _arg(("asset_id",), help="id: 1 to 1,500 printable characters"),
            _arg(("--type",), help="type, such as airflow_assets.types.Table", required=True, metavar="TYPE"),
            *FIELDS, OUTPUT,
        ),
        _command(
            "update", "Change members of an asset; what is left out stays", ID, TYPE, *FIELDS,
            _arg(("--clear_namespace",), help="make the asset belong to no namespace", action="store_true"),
            OUTPUT,
        ),
        _command("delete", "Delete an asset", ID, YES),
        _command(
            "rename", "Give an asset a new id; the old one still finds it",
            _arg(("old_id",), help="present id"), _arg(("new_id",), help="new id"), OUTPUT,
        ),
    )  # fmt: skip


def _lock_commands() -> tuple[ActionCommand, ...]:
    ids = _arg(("asset_ids",), nargs="+", help="ids of assets", metavar="asset_id")
    return (
        _command(
            "lock", "Lock assets: nobody else can write them; all of them or none", ids,
            _arg(
                ("--ttl",), default="PT5M", metavar="DURATION",
                help="free again after this time: PT1S to PT24H, or seconds (default: PT5M)",
            ),
            _arg(("--wait",), help="wait while somebody else holds one", action="store_true"),
            _arg(("--timeout",), help="wait at most so long: PT10M, or seconds", metavar="DURATION"),
            OUTPUT,
        ),
        _command(
            "unlock", "Release your locks; what is not yours stays as it is", ids,
            _arg(("--force",), help="also locks of others; needs --reason", action="store_true"),
            _arg(("--reason",), help="why the holder may be locked out; recorded", metavar="TEXT"),
        ),
        _command(
            "locks", "List the locks that are held now, the longest held first",
            _arg(("--id",), help="only of this asset", metavar="ID"),
            _arg(("--forced",), help="instead, locks that were taken by force", action="store_true"),
            _limit(100), OUTPUT,
        ),
    )  # fmt: skip


def _log_commands() -> tuple[ActionCommand, ...]:
    return (
        _command(
            "events", "List events, newest first",
            _arg(("--id",), help="asset", metavar="ID"), TYPE, NAMESPACE, WHERE,
            _arg(
                ("--event",), action="append", choices=("CREATED", "UPDATED", "DELETED", "USED"),
                help="kind; may be repeated",
            ),
            _arg(("--after",), type=int, help="only events after this number, oldest first", metavar="SEQ"),
            _limit(100), OUTPUT,
        ),
        _command(
            "replay", "Start the runs of an old event again",
            _arg(("event_id",), help="id of the event"),
            _arg(("--dag_id",), help="only this Dag (default: every Dag that follows it)", metavar="DAG"),
            _arg(
                ("--replay_id",), metavar="ID",
                help="names this replay: repeated with the same id it starts no second run (default: new)",
            ),
            OUTPUT,
        ),
        _command(
            "lineage", "List what task runs read and wrote, or show what an asset comes from and leads to",
            _arg(("asset_id",), nargs="?", help="only of this asset"), *TASK_FILTER,
            _arg(("--limit",), type=int, metavar="N", help="at most so many, 0 for all (default: 100)"),
            _arg(("--upstream",), help="show a graph: what it was made from", action="store_true"),
            _arg(("--downstream",), help="show a graph: what is made from it", action="store_true"),
            _arg(("--depth",), type=int, metavar="N", help="hops of a graph, 1 to 20 (default: 3)"),
            *GRAPH,
            _arg(
                ("-o", "--output"), choices=("tree", "mermaid", "table", "json", "yaml", "plain"),
                help="tree (default of a graph), mermaid, table (default of a list), json, yaml, plain",
            ),
        ),
        _command(
            "dependencies", "Show what an asset is made from and what is made from it", ID,
            _arg(
                ("--direction",), choices=("upstream", "downstream", "both"), default="both",
                help="(default: both)",
            ),
            _arg(("--depth",), type=int, default=1, metavar="N", help="hops, 1 to 20 (default: 1)"),
            *GRAPH,
            _arg(
                ("-o", "--output"), choices=("table", "tree", "mermaid", "json", "yaml", "plain"),
                default="table", help="table (default): a row an edge; tree, mermaid, json, yaml, plain",
            ),
        ),
        _command("history", "List the changes of an asset, newest first", ID, _limit(100), OUTPUT),
    )  # fmt: skip


def _server_commands() -> tuple[ActionCommand, ...]:
    return (
        _command(
            "export", "Write the whole catalogue as JSON lines",
            _arg(("file",), nargs="?", default="-", help="file to write, - for standard output (default)"),
            _arg(("--no_log",), help="leave out events and lineage", action="store_true"),
        ),
        _command(
            "import", "Read an export; what is there already stays as it is",
            _arg(("file",), nargs="?", default="-", help="file to read, - for standard input (default)"),
            OUTPUT,
        ),
        _command(
            "purge", "Delete for good what is old: assets, usages, lineage, and events with --events",
            _arg(
                ("--end_date",), required=True, metavar="TIME",
                help="what is as old as this: 2026-03-29T07:00:00Z; or older than a duration: P90D",
            ),
            _arg(("--namespace",), help="namespace, with its dotted children", metavar="NAMESPACE"),
            _arg(("--id",), help="only of this asset; with --no_lineages", metavar="ID"),
            _arg(
                ("--type",), action="append", metavar="TYPE",
                help="whole type; may be repeated; with --no_usages and --no_lineages",
            ),
            WHERE,
            _arg(("--no_assets",), help="leave assets", action="store_true"),
            _arg(("--no_usages",), help="leave usages", action="store_true"),
            _arg(("--no_lineages",), help="leave lineage events", action="store_true"),
            _arg(("--events",), help="also events", action="store_true"),
            _arg(("--dry_run",), help="only count", action="store_true"),
            YES, OUTPUT,
        ),
        _command(
            "rotate-secret", "Replace the secret of tasks; the old one is valid for 10 more minutes", YES
        ),
        _command("doctor", "Look for what is wrong, and say the way out", OUTPUT),
    )  # fmt: skip
