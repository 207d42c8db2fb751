"""Where an asset comes from and what a change reaches, as a tree, a flowchart and rows."""

from __future__ import annotations

import itertools
import json

import pytest

from airflow_assets.cli import exit_codes
from airflow_assets.cli.graph_text import mermaid, tree
from airflow_assets.schemas.actors import Caller, Source, SourceKind
from airflow_assets.schemas.assets import AssetInput, AssetRef
from airflow_assets.schemas.base import iso
from airflow_assets.schemas.expectations import Freshness, FreshnessState
from airflow_assets.schemas.lineage import (
    Bundle,
    Direction,
    Edge,
    Graph,
    Node,
    NodeKind,
    Relation,
    TaskRun,
    TaskRunRecord,
    TaskState,
)
from tests.support.catalog_rows import NOON

TYPE = "airflow_assets.types.Table"
STALE = Freshness(state=FreshnessState.STALE, age=9.0)


def node(asset_id: str, freshness: Freshness | None = None) -> Node:
    return Node(uid=f"asset:{asset_id}", kind=NodeKind.ASSET, id=asset_id, type=TYPE, freshness=freshness)


def task(name: str) -> Node:
    return Node(uid=f"task:{name}", kind=NodeKind.TASK, id=name, dag_id="d", task_id=name)


def edge(source: Node, target: Node, relation: Relation, *, recorded: bool = True) -> Edge:
    times = {"first_seen": NOON, "last_seen": NOON}
    return Edge(
        source=source.uid, target=target.uid, relation=relation, recorded=recorded, declared=True, **times
    )


def a_graph() -> Graph:
    """raw -> load -> stage -> build -> mart -> back to raw; a task reads the mart, a Dag is started by it."""
    raw, stage, mart = node("raw"), node("stage", STALE), node('mart "x" <1>')
    load, build, mail = task("d.load"), task("d.build"), task("d.mail")
    dag = Node(uid="dag:next", kind=NodeKind.DAG, id="next", dag_id="next")
    up, use, make = Relation.UPSTREAM_OF, Relation.CONSUMED_BY, Relation.PRODUCES
    return Graph(
        nodes=[stage, raw, mart, load, build, mail, dag],
        edges=[
            edge(raw, stage, up), edge(stage, mart, up), edge(mart, raw, up, recorded=False),
            edge(raw, load, use), edge(load, stage, make), edge(stage, build, use), edge(build, mart, make),
            edge(mart, mail, use), edge(mart, dag, Relation.TRIGGERS, recorded=False),
        ],
        hidden=2,
        truncated=1_000,
    )  # fmt: skip


def test_a_tree_of_both_directions() -> None:
    assert list(tree(a_graph(), Direction.BOTH)) == [
        "upstream:",
        "stage  (Table, stale)  by d.load",
        "└── raw  (Table)",
        '    └── mart "x" <1>  (Table)  by d.build  [declared]',
        "        └── stage  (see above)",
        "downstream:",
        "stage  (Table, stale)  by d.load",
        '└── mart "x" <1>  (Table)  by d.build',
        "    ├── raw  (Table)  [declared]",
        "    │   └── stage  (see above)",
        "    ├── dag next  [declared]",
        "    └── task d.mail",
        "2 more beside them: hidden from you.",
        "1,000 more beside them: left out; see --max_nodes.",
    ]


def test_a_flowchart() -> None:
    assert list(mermaid(a_graph())) == [
        "flowchart LR",
        '  n0["stage"]',
        '  n1["raw"]',
        '  n2["mart #quot;x#quot; #lt;1#gt;"]',
        '  n3[["d.load"]]',
        '  n4[["d.build"]]',
        '  n5[["d.mail"]]',
        '  n6{{"next"}}',
        "  n2 -.-> n1",
        "  n1 --> n3",
        "  n3 --> n0",
        "  n0 --> n4",
        "  n4 --> n2",
        "  n2 --> n5",
        "  n2 -.-> n6",
        "  classDef stale stroke:#c53030,stroke-width:2px",
        "  class n0 stale",
        "  %% 2 more beside them: hidden from you.",
        "  %% 1,000 more beside them: left out; see --max_nodes.",
    ]


def test_a_tree_is_not_bound_by_recursion() -> None:
    nodes = [node(f"{n:04}") for n in range(3_000)]
    edges = [edge(one, other, Relation.UPSTREAM_OF) for one, other in itertools.pairwise(nodes)]
    assert len(list(tree(Graph(nodes=nodes, edges=edges), Direction.DOWNSTREAM))) == 3_000


@pytest.fixture
def recorded(catalog):
    """a -> t0 -> b -> t1 -> c."""
    who = Caller(source=Source(kind=SourceKind.API, user="tester"))
    for at, (source, target) in enumerate(("ab", "bc")):
        bundle = Bundle(inputs=[AssetRef(id=source)], outputs=[AssetInput(id=target, type="T")])
        run = TaskRun(dag_id="d", run_id="r", task_id=f"t{at}", try_number=1)
        catalog.record_task_run(who, TaskRunRecord(task=run, state=TaskState.SUCCESS, bundles=[bundle]))
    return catalog


def test_lineage_of_an_asset(cli, recorded) -> None:
    code, out, _ = cli("lineage", "c", "--upstream")
    assert (code, out) == (0, "c  (T)  by d.t1\n└── b  (T)  by d.t0\n    └── a  (External)\n")
    assert cli("lineage", "c", "--upstream", "--depth", "1", "--output", "tree")[1].splitlines()[-1] == (
        "└── b  (T)"
    )
    found = json.loads(cli("lineage", "a", "--downstream", "--dags", "--output", "json")[1])
    assert [one["id"] for one in found["nodes"]] == ["a", "b", "c", "d"]
    assert cli("lineage", "b", "--output", "mermaid")[1].startswith("flowchart LR\n")
    assert cli("lineage", "b", "--upstream", "--downstream")[1].splitlines()[0] == "upstream:"
    assert cli("lineage", "c", "--upstream", "--as_of", iso(NOON))[1] == "c  (T)\n"
    assert cli("lineage", "c", "--no_tasks", "--max_nodes", "2")[1].splitlines()[-1].startswith("1 more")


def test_lineage_still_lists_what_task_runs_recorded(cli, recorded) -> None:
    assert [one["task"]["taskId"] for one in json.loads(cli("lineage", "-o", "json")[1])] == ["t1", "t0"]
    assert cli("lineage", "a", "-o", "plain")[1].split("\t")[2] == "t0"
    assert "bundle" not in cli("lineage", "--limit", "1")[1]


def test_dependencies_have_the_same_forms(cli, recorded) -> None:
    assert cli("dependencies", "b", "-o", "tree")[1].splitlines()[0] == "upstream:"
    line = cli("dependencies", "b", "--direction", "upstream", "--no_tasks", "-o", "plain")[1]
    assert line.split("\t")[:5] == ["ASSET", "a", "UPSTREAM_OF", "ASSET", "b"]
    assert line.rstrip("\n").endswith("\trecorded")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["lineage", "nope", "--upstream"], exit_codes.NOT_FOUND, "'nope'"),
        (["lineage", "--upstream"], exit_codes.INVALID, "Of which asset"),
        (["lineage", "a", "--upstream", "--run_id", "r"], exit_codes.INVALID, "--run_id"),
        (["lineage", "a", "--depth", "0"], exit_codes.INVALID, "1 to 20"),
        (["lineage", "a", "--depth", "21"], exit_codes.INVALID, "1 to 20"),
        (["lineage", "a", "--as_of", "noon"], exit_codes.INVALID, "not a time"),
        (["lineage", "a", "--max_nodes", "5000"], exit_codes.INVALID, "1 to 1,000"),
        (["lineage", "a", "--output", "dot"], exit_codes.USAGE, "invalid choice"),
    ],
)
def test_what_cannot_be_shown_has_its_code(cli, recorded, arguments, code, words) -> None:
    got, out, err = cli(*arguments)
    assert got == code
    assert words in err
    assert "Traceback" not in out + err
