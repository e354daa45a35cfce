"""What the tests share: the program, a scratch folder, a project that is measured, commands of a page."""

import atexit
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DYNO = os.environ.get("DYNO_BIN", str(ROOT / "target/debug/dyno"))
BIN = Path(sys.executable).parent

SUITE = """\
title = "Status messages between two processes"
[defaults]
trials = 2
warmup = "20 ms"
window = "100 ms"
wait = "block"
[[experiment]]
name = "status"
workload = "stream"
rate = "1 kHz"
payload = "256 B"
"""
# What every machine keeps, and what none does, not even by one message of one trial.
KEPT = '[[limit]]\nname = "most arrive"\nmetric = "loss"\nat_most = "99 %"\n'
BROKEN = '[[limit]]\nname = "at once"\nmetric = "response"\nquantile = "max"\nat_most = "1 ns"\n'


@functools.cache
def scratch() -> Path:
    place = Path(tempfile.mkdtemp(prefix="dyno-ci-"))
    atexit.register(shutil.rmtree, place)
    (place / "bin").mkdir()
    # As installed: `dyno` in the PATH.
    wrapper = place / "bin/dyno"
    wrapper.write_text(f'#!/bin/sh\nexec "{DYNO}" "$@"\n')
    wrapper.chmod(0o755)
    return place


def project(name: str, limits: str = KEPT) -> Path:
    place = scratch() / name
    place.mkdir()
    (place / "load.toml").write_text(SUITE)
    (place / "limits.toml").write_text(limits)
    return place


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "RUNNER_", "CI_"))}
    return kept | {"PATH": f"{scratch() / 'bin'}:{BIN}:{os.environ['PATH']}", "HOME": str(scratch())} | more


def shell(script: str, place: Path, *, options: tuple[str, ...] = ("-eo", "pipefail"), **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", *options, "-c", script],
        cwd=place, env=environment(**more), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600,
    )


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
