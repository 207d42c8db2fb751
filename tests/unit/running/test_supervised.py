"""Real scripts in real processes: what they see, what they may use, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from airflow_assets.running.limits import MIB, Limits, Script
from airflow_assets.running.result import Outcome, ScriptNotRun
from airflow_assets.running.run import run_script, run_script_now
from tests.support.processes import is_running, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT = Limits(timeout=1.0)
# Two children in sessions of their own, each with a child; none of the five minds TERM. Says their ids first.
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(): os.write(out, f"{os.getpid()}\\n".encode())
out = os.open(PIDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
say()
for n in range(2):
    if os.fork() == 0:
        if n: os.setsid()
        say()
        if os.fork() == 0:
            os.setsid(); say()
        time.sleep(1000)
"""


def run(source: str, **options: Any) -> Outcome:
    return run_script_now(Script(textwrap.dedent(source), **options))


def not_run(source: str, **options: Any) -> ScriptNotRun:
    with pytest.raises(ScriptNotRun) as caught:
        run(source, **options)
    return caught.value


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """After each test: no folder, no child, no zombie of ours."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "private"))
    (tmp_path / "private").mkdir()
    yield
    assert list((tmp_path / "private").iterdir()) == []
    assert psutil.Process().children(recursive=True) == []


def stubborn(tmp_path: Path, more: str = "") -> str:
    return STUBBORN.replace("PIDS", repr(str(tmp_path / "pids"))) + textwrap.dedent(more)


def pids_of(tmp_path: Path, count: int = 5) -> list[psutil.Process]:
    def all_said() -> list[int] | None:
        said = (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []
        return [int(pid) for pid in said] if len(said) == count else None

    found: Any = wait_until(all_said, 20, f"{count} processes of the script")
    return [psutil.Process(pid) for pid in found if psutil.pid_exists(pid)]


async def until(condition: Callable[[], object], what: str, seconds: float = 20) -> None:
    await asyncio.to_thread(wait_until, condition, seconds, what, 0.01)


def any_exists(tmp_path: Path) -> bool:
    """Whether any of the processes exists, be it as a zombie."""
    return any(psutil.pid_exists(int(pid)) for pid in (tmp_path / "pids").read_text().split())


def test_what_a_script_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://u:hidden@h/d")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    said = run(
        """
        import json, os, sys
        print("::" + json.dumps({"outputs": {
            "env": dict(os.environ), "here": os.getcwd(), "files": os.listdir(), "mode": oct(os.stat(".").st_mode & 0o777),
            "isolated": [sys.flags.isolated, sys.flags.no_user_site], "name": __name__, "argv": sys.argv,
            "group": os.getpgrp() == os.getpid(), "input": sys.stdin.read(), "names": [true, false, null],
            "path": "/nowhere" in sys.path, "fds": len(os.listdir("/proc/self/fd")),
        }}) + "::")
        """,
        env={"GIVEN": "yes"},
    ).variables
    assert said is not None
    # LC_CTYPE is what Python itself adds in the C locale.
    assert set(said["env"]) - {"LC_CTYPE"} == {"PATH", "LANG", "HOME", "TMPDIR", "GIVEN"}
    assert said["env"]["HOME"] == said["env"]["TMPDIR"] == said["here"]
    assert (said["files"], said["mode"], said["isolated"]) == ([], "0o700", [1, 1])
    assert (said["name"], said["argv"], said["group"], said["input"]) == ("__main__", ["script.py"], True, "")
    assert said["names"] == [True, False, None]
    assert said["path"] is False
    assert said["fds"] == 4, "standard input, output, error, and the listing itself"


@pytest.mark.parametrize(
    ("source", "exit_code", "says"),
    [
        ("pass", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("x = 1\nraise Exception('boom')", 1, 'File "script.py", line 2'),
        ("def f(:\n  pass", 1, "SyntaxError"),
        ("from __future__ import annotations\ndef f(x: nowhere): pass\nf(1)", 0, ""),
        ("import os; os.kill(os.getpid(), 15)", 128 + 15, ""),
        ("import os; os.kill(os.getpid(), 9)", 128 + 9, ""),
        ("import os; os._exit(127)", 127, ""),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n  b: 'A'\nimport pickle; pickle.dumps(A(1))", 0, ""),
    ],
)  # fmt: skip
def test_how_it_ends(source: str, exit_code: int, says: str) -> None:
    outcome = run_script_now(Script(source))
    assert outcome.exit_code == exit_code
    assert says in outcome.logs
    assert outcome.variables == ({} if exit_code == 0 else None)


@pytest.mark.parametrize(
    ("source", "limits", "says"),
    [
        ("bytearray(300 * 2**20)", Limits(memory=256 * MIB), "MemoryError"),
        ("open('big', 'wb').write(b'x' * 3 * 2**20)", Limits(file_size=MIB), "File too large"),
        ("files = [open('/dev/null') for _ in range(40)]", Limits(files=32), "Too many open files"),
        ("import os; os.write(2, b'core'); os.abort()", Limits(), "core"),
    ],
)
def test_what_it_may_use(source: str, limits: Limits, says: str) -> None:
    outcome = run(source, limits=limits)
    assert outcome.exit_code != 0
    assert says in outcome.logs


def test_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    error = not_run("print('so far', flush=True)\nimport time; time.sleep(1000)", limits=SHORT)
    assert (error.reason, error.logs) == ("timeout", "so far\n")
    assert "not done after 1 s" in str(error)
    assert time.monotonic() - begun < 1 + 5


def test_a_tree_that_ignores_term_and_leaves_its_session_is_gone_in_5_s(tmp_path: Path) -> None:
    begun = time.monotonic()
    error = not_run(stubborn(tmp_path, "time.sleep(1000)"), limits=SHORT)
    assert error.reason == "timeout"
    assert time.monotonic() - begun < 1 + 5
    assert len((tmp_path / "pids").read_text().split()) == 5
    assert not any_exists(tmp_path)


def test_what_a_script_leaves_running_ends_with_it(tmp_path: Path) -> None:
    outcome = run(stubborn(tmp_path, "\nwhile len(open(PIDS).read().split()) < 5: time.sleep(0.01)".replace(
        "PIDS", repr(str(tmp_path / "pids")))))  # fmt: skip
    assert outcome.exit_code == 0
    assert not any_exists(tmp_path)


def test_cancelling_ends_it(tmp_path: Path) -> None:
    async def cancelled() -> float:
        task = asyncio.create_task(run_script(Script(stubborn(tmp_path, "time.sleep(1000)"))))
        await asyncio.to_thread(pids_of, tmp_path)
        begun = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not any_exists(tmp_path) and not psutil.Process().children(), "all to be gone")
        return time.monotonic() - begun

    assert asyncio.run(cancelled()) < 5
    assert not any_exists(tmp_path)


def test_nothing_is_left_of_a_script_whose_triggerer_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys; from airflow_assets.running.run import run_script_now;"
        "from airflow_assets.running.limits import Script; import tempfile; tempfile.tempdir = sys.argv[1];"
        "run_script_now(Script(sys.argv[2]))"
    )
    private = str(tmp_path / "private")
    source = stubborn(tmp_path, "time.sleep(1000)")
    triggerer = subprocess.Popen([sys.executable, "-c", code, private, source], start_new_session=True)
    pids_of(tmp_path)
    triggerer.kill()
    triggerer.wait()
    wait_until(lambda: not any_exists(tmp_path), 5, "the script to be gone")
    wait_until(lambda: not list((tmp_path / "private").iterdir()), 5, "its folder to be gone")


def test_the_loss_of_the_watching_process_is_told(tmp_path: Path) -> None:
    async def lost() -> None:
        task = asyncio.create_task(run_script(Script("import time; time.sleep(1000)")))
        await until(lambda: len(psutil.Process().children(recursive=True)) > 1, "the script")
        scripts = psutil.Process().children(recursive=True)[1:]
        psutil.Process().children()[0].kill()
        with pytest.raises(ScriptNotRun, match="lost or killed") as caught:
            await task
        assert caught.value.reason == "lost"
        await until(lambda: not any(is_running(script) for script in scripts), "the script to be gone")

    asyncio.run(asyncio.wait_for(lost(), 20))


MEASURE = """
import asyncio, contextlib, json, sys
from pathlib import Path
import psutil
from airflow_assets.running.run import run_script
from airflow_assets.running.limits import Limits, Script

def peak(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)

async def measure():
    await run_script(Script("pass"))
    before, watcher = peak("self"), 0
    work = asyncio.create_task(run_script(Script(sys.stdin.read(), limits=Limits(timeout=120))))
    while not work.done():
        await asyncio.sleep(0.005)
        with contextlib.suppress(psutil.Error):
            child = psutil.Process().children()
            # Until it has become the other program it is a copy of this one.
            if child and "supervisor.py" in " ".join(child[0].cmdline()):
                watcher = max(watcher, peak(child[0].pid))
    out = await work
    return [peak("self") - before, watcher, out.exit_code, out.dropped, len(out.logs), out.logs[:20], out.logs[-20:],
            out.logs.count("are cut out here")]

print(json.dumps(asyncio.run(measure())))
"""


@pytest.mark.parametrize("line_end", ["", "\\n"])
def test_500_mb_of_output_cost_less_than_20(line_end: str) -> None:
    import json

    source = f"""
import os
os.write(1, b"begin")
piece = (b"y" * 99 + b"{line_end or "y"}") * 10_000
for _ in range(500): os.write(1, piece)
os.write(1, b"end")
os._exit(3)
"""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=source, capture_output=True, text=True, timeout=300, check=True
    )
    grown, watcher, exit_code, dropped, kept, begin, end, notices = json.loads(done.stdout)
    print(f"500 MB of output: the caller grew by {grown} KiB, the watching process had {watcher} KiB in all")
    assert watcher > 0
    assert grown + watcher < 20 * 1024
    assert exit_code == 3
    assert dropped > 499_000_000
    assert kept <= 64 * 1024 + 100
    assert begin.startswith("begin")
    assert end.endswith(("yend", "\nend"))
    assert notices == 1


def test_the_notice_counts_every_byte_that_is_not_shown() -> None:
    outcome = run("print('x' * 999_999)", limits=Limits(output=8 * 1024))
    shown, missing = (
        outcome.logs.split("... ")[0],
        int(outcome.logs.split("... ")[1].split(" ")[0].replace(",", "")),
    )
    last = outcome.logs.rpartition(" ...\n")[2]
    assert len(shown.rstrip("\n")) + missing + len(last) == 1_000_000


def test_any_bytes_survive() -> None:
    outcome = run(r"""
        import os, sys
        os.write(1, b'caf\xc3\xa9 \xff\xfe\x00 \xed\xa0\x80 \xf0\x9f\x98\x80\n')
        os.write(2, bytes(range(256)) + b'\n')
        os.write(1, b'::{"outputs": {"k\xff": "\\ud800 \\u0000", "whole": "\xf0\x9f\x98\x80"}}::\n')
    """)
    assert outcome.exit_code == 0
    assert "café \\xff\\xfe\\x00 \\xed\\xa0\\x80 😀\n" in outcome.logs
    assert outcome.logs.encode()
    assert outcome.variables == {"k\\xff": "\\ud800 \\x00", "whole": "😀"}


def test_variable_lines_in_either_stream_and_without_a_line_end() -> None:
    outcome = run("""
        import sys
        print('x' * 300_000 + '::{"outputs": {"glued": 1}}::')
        print('::{"outputs": {"a": 1, "b": {"c": [1.5, null]}}}::')
        print('::{"outputs": {"a": 2}}::\\r', file=sys.stderr)
        print('::{"metrics": [1]}::'); print('not ::{"outputs": {"no": 1}}::'); print('::{broken}::')
        print('::{"outputs": {"no": NaN}}::'); print('::{"outputs": [1]}::')
        sys.stdout.write('::{"outputs": {"last": true}}::')
    """)
    assert outcome.variables == {"a": 2, "b": {"c": [1.5, None]}, "last": True}
    assert [problem.split(":")[1].strip() for problem in outcome.problems] == [
        "it is no JSON", "it is no JSON", "outputs is no object but list.",
    ]  # fmt: skip


def test_variables_that_cannot_be_stored_are_no_answer() -> None:
    error = not_run("""print('::{"outputs": {"big": "' + 'x' * 200_000 + '"}}::');print('::{"outputs": {"more": "' + 'x' * 200_000 + '"}}::')""")  # fmt: skip
    assert error.reason == "variables"
    assert "at most 262,144" in str(error)


def test_more_lines_than_are_read_are_a_problem() -> None:
    outcome = run('for n in range(10_001): print(\'::{"outputs": {"n": %d}}::\' % n)')
    assert outcome.variables == {"n": 9_999}
    assert "10,000" in outcome.problems[0]


def test_secrets_are_masked_also_at_a_cut() -> None:
    secret = "-".join(f"s3cr3t{n}" for n in range(20))
    outcome = run(
        "import os; s = os.environ['DB_PASSWORD']; print(s * 2_000); raise SystemExit('known-to-airflow')",
        env={"DB_PASSWORD": secret}, limits=Limits(output=8 * 1024),
    )  # fmt: skip
    assert "s3cr3t" not in outcome.logs
    assert outcome.logs.count("***") > 10
    masked = run_script_now(
        Script("raise SystemExit('known-to-airflow')"),
        mask=lambda text: text.replace("known-to-airflow", "***"),
    )
    assert masked.logs == "***\n"


def test_another_interpreter(tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "venv", with_pip=False)
    source = 'import sys, os; print(\'::{"outputs": {"prefix": "%s"}}::\' % sys.prefix)'
    for python in (tmp_path / "venv", tmp_path / "venv" / "bin" / "python"):
        assert run(source, python=str(python)).variables == {"prefix": str(tmp_path / "venv")}
    assert not_run("pass", python=str(tmp_path / "none")).reason == "not_started"
    error = not_run("pass", python="/bin/false")
    assert error.reason == "not_started"
    assert "did not begin" in str(error)


def test_too_little_memory_to_begin_is_no_failure_of_the_script() -> None:
    assert not_run("pass", limits=Limits(memory=MIB)).reason == "not_started"


def test_the_loop_is_never_blocked() -> None:
    async def longest_step(scripts: int) -> float:
        """CPU seconds of this thread between two turns of the loop: other programs on the host do not count."""
        flood = "import os\nfor _ in range(200): os.write(1, b'z' * 99_999 + b'\\n')"
        work = [asyncio.create_task(run_script(Script(flood))) for _ in range(scripts)]
        longest = 0.0
        while not all(task.done() for task in work):
            begun = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begun)
        assert [(await task).exit_code for task in work] == [0] * scripts
        return longest

    longest = asyncio.run(longest_step(20))
    print(f"20 scripts of 20 MB at once: the longest turn of the loop took {longest * 1000:.1f} ms of CPU")
    assert longest < 0.1


def test_no_thread_is_started() -> None:
    import threading

    async def counted() -> int:
        task = asyncio.create_task(run_script(Script("import time; time.sleep(0.3)")))
        most = 0
        while not task.done():
            most = max(most, threading.active_count())
            await asyncio.sleep(0.01)
        return most

    assert asyncio.run(counted()) == threading.active_count()


def test_where_nothing_can_be_adopted_the_group_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_assets.running import run as module

    elsewhere = tmp_path / "supervisor.py"
    text = Path(module.SUPERVISOR).read_text().replace('LINUX = sys.platform == "linux"', "LINUX = False")
    assert "LINUX = False" in text
    elsewhere.write_text(text)
    monkeypatch.setattr(module, "SUPERVISOR", str(elsewhere))
    in_group = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    with open(PIDS, "w") as out: out.write(f"{os.getpid()} ")
    time.sleep(1000)
while not os.path.exists(PIDS): time.sleep(0.01)
""".replace("PIDS", repr(str(tmp_path / "pids")))
    assert run(in_group).exit_code == 0
    wait_until(lambda: not any_exists(tmp_path), 5, "the child to be gone")
    error = not_run(f"{in_group}time.sleep(1000)", limits=SHORT)
    assert error.reason == "timeout"
    wait_until(lambda: not any_exists(tmp_path), 5, "the child to be gone")


def test_no_process_to_be_had_is_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert not_run("pass").reason == "not_started"
