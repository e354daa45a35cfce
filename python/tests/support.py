"""What the tests share: the program, places, and a run that was measured once."""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "crates/dyno-store/tests/golden"
DYNO = os.environ.get("DYNO_BIN", str(ROOT / "target/debug/dyno"))
sys.path.insert(0, str(ROOT / "python/src"))

SUITE = """\
title = "Round trips and status messages between two processes"
[defaults]
trials = 3
warmup = "20 ms"
window = "150 ms"
wait = "block"
[[experiment]]
name = "round-trip"
workload = "ping-pong"
[experiment.matrix]
payload = ["64 B", "1 KiB"]
[[experiment]]
name = "status"
workload = "stream"
rate = "2 kHz"
payload = "256 B"
raw_samples = 100
"""


@functools.cache
def scratch() -> Path:
    """A folder that the end of the tests removes; what matplotlib, IPython and Jupyter leave goes there too."""
    place = Path(tempfile.mkdtemp(prefix="dyno-results-"))
    atexit.register(shutil.rmtree, place)
    for name in ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        (place / name).mkdir()
        os.environ[name] = str(place / name)
    return place


def dyno(*arguments: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        [DYNO, *map(str, arguments)], cwd=scratch(), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600
    )
    assert done.returncode in codes, f"dyno {arguments}: code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@functools.cache
def measured() -> Path:
    """A run of two stacks and their floor."""
    (scratch() / "small.toml").write_text(SUITE)
    dyno("run", "small.toml", "--stack", "pipe,uds-stream", "--out", "small", "--quiet", "--repeats", "1")
    return scratch() / "small"
