"""The matching rules, row by row, on outcomes as the runner gives them."""

from __future__ import annotations

import pytest

from airflow_assets.exceptions import InvalidRequest
from airflow_assets.running.condition import checked_condition, matches
from airflow_assets.running.limits import Script
from airflow_assets.running.result import Outcome
from airflow_assets.running.run import run_script_now
from airflow_assets.running.variables import as_text, variables_of


def well(**variables: object) -> Outcome:
    return Outcome(0, variables, "printed\n")


def failed(exit_code: int, logs: str = "") -> Outcome:
    return Outcome(exit_code, None, logs)


@pytest.mark.parametrize(
    ("condition", "outcome", "expected"),
    [
        # (a) the whole, trimmed text is exit + blanks + digits, any case
        ("exit 0", well(), True),
        ("exit 1", well(), False),
        ("exit 1", failed(1), True),
        ("  EXIT \t 1  ", failed(1), True),
        ("exit 01", failed(1), True),
        ("exit 1", failed(2), False),
        ("exit 137", failed(137), True),
        ("exit 99999999999999999999", failed(1), False),
        # ... and nothing else: these are patterns
        ("exit", failed(1, "will exit soon"), True),
        ("exit 1 or 2", failed(1, ""), False),
        ("exit1", failed(1, ""), False),
        ("exit -1", failed(255, ""), False),
        ("exit ١", failed(1, ""), False),
        # (b) nothing to see
        (".*", well(), False),
        ("printed", well(), False),
        # (c) search, not full match, in the variables' text
        ("rows=[1-9]", well(rows=3, ok=True), True),
        ("^rows", well(rows=3), False),
        (r"^\{rows=3\}$", well(rows=3), True),
        ("rows=3, ok=true", well(rows=3, ok=True), True),
        ("rows=[1-9]", well(rows=0), False),
        ("READY", well(state="ready"), False),
        ("(?i)READY", well(state="ready"), True),
        ("state=null", well(state=None), True),
        # ... or in the failure logs
        ("boom", failed(1, "Exception: boom\n"), True),
        ("(?m)^Exception", failed(1, "Traceback\nException: boom\n"), True),
        ("rows=", failed(1, '::{"outputs": {"rows": 3}}::\n'), False),
        ('"rows": 3', failed(1, '::{"outputs": {"rows": 3}}::\n'), True),
        ("boom", failed(1, ""), False),
        # what RE2 refuses is plain text
        ("rows=(", well(x="rows=("), True),
        ("(?<=a)b", well(x="ab"), False),
        ("(?<=a)b", well(x="(?<=a)b"), True),
        (r"(a)\1", failed(1, r"(a)\1"), True),
    ],
)
def test_matching(condition: str, outcome: Outcome, expected: bool) -> None:
    assert matches(condition, outcome) is expected


@pytest.mark.parametrize("condition", ["", "  \n\t", None, 7, "x" * 1_001])
def test_a_condition_that_cannot_be_meant_is_an_error(condition: object) -> None:
    with pytest.raises(InvalidRequest, match="exit_condition"):
        checked_condition(condition)


def test_a_catastrophic_pattern_takes_no_time() -> None:
    import time

    begun = time.process_time()
    assert not matches("(a+)+$", failed(1, "a" * 60_000 + "!"))
    assert not matches("(.*a){25}$", failed(1, "a" * 60_000 + "!"))
    assert time.process_time() - begun < 2


def test_the_contracts_example() -> None:
    outcome = run_script_now(Script('raise Exception("boom")\n'))
    assert outcome.variables is None
    assert matches("exit 1", outcome)
    assert matches("Exception: bo+m", outcome)
    assert not matches("exit 0", outcome)


def test_the_text_of_variables() -> None:
    variables = {
        "s": "a b",
        "t": True,
        "n": None,
        "i": 10**20,
        "f": 1.5,
        "l": [1, "x", [False]],
        "m": {"k": {}},
        "": "",
    }
    assert (
        as_text(variables)
        == "{s=a b, t=true, n=null, i=100000000000000000000, f=1.5, l=[1, x, [false]], m={k={}}, =}"
    )
    assert as_text({}) == "{}"


def test_later_lines_win_key_by_key() -> None:
    lines = [b'::{"outputs": {"a": {"x": 1}, "b": 1}}::', b'::{"outputs": {}}::', b'::{"outputs": {"a": 2}}::',
             b'::{"outputs": null}::', b'::{"assets": []}::']  # fmt: skip
    assert variables_of(lines) == ({"a": 2, "b": 1}, [])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"::{outputs}::", "line 1: it is no JSON"),
        (b'::{"outputs": {"a": Infinity}}::', "Infinity is no JSON number"),
        (b'::{"outputs": "x"}::', "outputs is no object but str"),
        (b'::{"outputs": {"a": 1}}:: ::{"x": 1}::', "it is no JSON"),
    ],
)
def test_a_line_that_says_nothing_is_a_problem_and_the_others_count(line: bytes, says: str) -> None:
    variables, problems = variables_of([line, b'::{"outputs": {"ok": true}}::'])
    assert variables == {"ok": True}
    assert len(problems) == 1
    assert says in problems[0]
