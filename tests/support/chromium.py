"""A Chromium to drive: the system's, else Debian's package, installed where the tests run as root."""

from __future__ import annotations

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
PACKAGES = ("chromium", "fonts-liberation")
# No look at the network but ours; no GPU; root has no sandbox.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class ChromiumMissingError(RuntimeError):
    """There is no Chromium and none can be had; the message says the way out."""


def find_chromium() -> str:
    """Path of a Chromium; `CHROMIUM` names one. Installs Debian's package when there is none and we are root.

    Raises:
        ChromiumMissingError: none is there, and none can be installed.
    """
    if named := os.environ.get("CHROMIUM"):
        return named
    if not (found := _installed()):
        _install()
        found = _installed()
    if found:
        return found
    raise ChromiumMissingError(
        "Chromium: none of "
        + ", ".join(NAMES)
        + " is on the PATH; install one, name one with CHROMIUM=/path, or set "
        "ALLOW_MISSING=chromium"
    )


def _installed() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def _install() -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-q", "--yes", "--no-install-recommends", *PACKAGES]
    done: subprocess.CompletedProcess[str] = subprocess.CompletedProcess(install, 1)
    for command in (
        install,
        ["apt-get", "update", "-q"],
        install,
    ):  # a fresh machine has no package lists yet
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if command is install and done.returncode == 0:
            return
    raise ChromiumMissingError(
        f"Chromium: `{' '.join(install)}` failed: {done.stderr.strip()[-500:]}; install it, name one with "
        "CHROMIUM=/path, or set ALLOW_MISSING=chromium"
    )
