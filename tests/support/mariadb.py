"""A MariaDB server of our own: the system's where it has one, else Debian's packages unpacked, not installed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.support.postgres import DatabaseMissingError
from tests.support.processes import die_with_parent, tail, wait_until

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = Path("/usr/sbin/mariadbd")
UNPACKED = ROOT / ".build" / "mariadb"
PACKAGES = ("mariadb-server-core", "mariadb-client-core")


def find_base() -> Path:
    """The folder that has `sbin/mariadbd` (or `bin/mariadbd`) and `share`; unpacks the packages when none is there."""
    if SYSTEM.exists():
        return SYSTEM.parents[1]
    UNPACKED.parent.mkdir(exist_ok=True)
    with (UNPACKED.parent / "mariadb.lock").open("w") as lock:  # several test processes may come here at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (UNPACKED / "complete").exists():
            _unpack(UNPACKED)
    return UNPACKED / "usr"


def _unpack(target: Path) -> None:
    if not shutil.which("apt-get"):
        raise DatabaseMissingError(
            "MariaDB: no /usr/sbin/mariadbd and no apt-get to download it with; install MariaDB 10.6 or newer, or set "
            "ALLOW_MISSING=mariadb"
        )
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    names = _closure()
    done = subprocess.run(
        ["apt-get", "download", "-q", *names], cwd=target, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise DatabaseMissingError(
            f"MariaDB: apt-get download {' '.join(names)} failed: {done.stderr.strip()[-500:]}; run `apt-get update` "
            "first, install MariaDB, or set ALLOW_MISSING=mariadb"
        )
    for package in target.glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(target)], check=True)
        package.unlink()
    (target / "complete").touch()


def _closure(*, refresh: bool = True) -> list[str]:
    """The two packages and what they need that the machine does not have."""
    plan = subprocess.run(
        ["apt-get", "install", "--print-uris", "--yes", "--no-install-recommends", *PACKAGES],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if plan.returncode and refresh and os.geteuid() == 0:  # a fresh machine has no package lists yet
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=False)
        return _closure(refresh=False)
    needed = re.search(r"The following NEW packages will be installed:\n((?: .*\n)+)", plan.stdout)
    return sorted({*PACKAGES, *(needed.group(1).split() if needed else [])})


class MariadbServer:
    """One server on a Unix socket in a folder of its own under the temporary directory.

    `durable=True` flushes at each commit (benchmarks), `False` does not (tests).
    """

    def __init__(self, *, durable: bool = False) -> None:
        self.durable = durable
        self.home = Path(tempfile.mkdtemp(prefix="aa-my-"))
        self.log = self.home / "log"
        self.socket = self.home / "s"
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> MariadbServer:
        """Make the data folder, start the server, and return when it answers."""
        base = find_base()
        libraries = sorted({str(path.parent) for path in (base / "lib").rglob("lib*.so.*")})
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)} if base != Path("/usr") else None
        data = self.home / "data"
        user = ["--user=root"] if os.geteuid() == 0 else []
        install = subprocess.run(
            [str(base / "bin" / "mariadb-install-db"), "--no-defaults", f"--basedir={base}", f"--datadir={data}",
             "--auth-root-authentication-method=normal", "--skip-test-db", *user],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if install.returncode:
            raise RuntimeError(
                f"mariadb-install-db failed:\n{install.stdout[-2000:]}\n{install.stderr[-2000:]}"
            )
        flush = 1 if self.durable else 0
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(base / "sbin" / "mariadbd"), "--no-defaults", f"--basedir={base}", f"--datadir={data}",
                 f"--socket={self.socket}", f"--tmpdir={self.home}", f"--pid-file={self.home / 'pid'}", "--skip-networking",
                 f"--innodb-flush-log-at-trx-commit={flush}", "--innodb-buffer-pool-size=256M",
                 "--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci", "--max-connections=300",
                 "--default-time-zone=+00:00", *user],
                env=environment, cwd=self.home, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True, preexec_fn=die_with_parent,
            )  # fmt: skip
        wait_until(self._answers, 60, "MariaDB to answer")
        return self

    def _answers(self) -> bool:
        import MySQLdb

        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"MariaDB ended at once:\n{tail(self.log)}")
        try:
            self._execute("SELECT 1")
        except MySQLdb.OperationalError:
            return False
        return True

    def _execute(self, statement: str) -> None:
        import MySQLdb

        connection = MySQLdb.connect(unix_socket=str(self.socket), user="root")
        with contextlib.closing(connection), contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(statement)

    def create_database(self) -> str:
        """Make an empty database and return its SQLAlchemy URL (driver mysqlclient)."""
        self._count += 1
        name = f"test_{self._count}"
        self._execute(f"CREATE DATABASE {name}")
        return f"mysql+mysqldb://root@localhost/{name}?unix_socket={self.socket}&charset=utf8mb4"

    def drop_database(self, url: str) -> None:
        """Drop a database of `create_database`."""
        self._execute(f"DROP DATABASE IF EXISTS {url.split('localhost/', 1)[1].split('?', 1)[0]}")

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> MariadbServer:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
