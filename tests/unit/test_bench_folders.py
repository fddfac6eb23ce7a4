"""The folders of benches end with them, or with the next."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.folders import own_folder

ROOT = Path(__file__).resolve().parents[2]
HOLDER = (
    "import sys\n"
    "from bench.folders import own_folder\n"
    "with own_folder('test') as place:\n"
    "    (place / 'history').mkdir()\n"
    "    print(place, flush=True)\n"
    "    sys.stdin.read()\n"
)


def held(temporary: Path) -> tuple["subprocess.Popen[str]", Path]:
    """A process that keeps such a folder until it is ended, and the folder."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    return holder, Path(holder.stdout.readline().rstrip())


def test_a_terminated_bench_leaves_nothing(tmp_path: Path) -> None:
    holder, place = held(tmp_path)
    assert (place / "history").exists()
    holder.terminate()
    holder.communicate()
    assert holder.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_bench_left_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    running, kept = held(tmp_path)
    killed, left = held(tmp_path)
    killed.kill()
    killed.communicate()
    assert left.exists()
    with own_folder("test") as place:
        assert sorted(tmp_path.iterdir()) == sorted([kept, place])
    running.communicate()
    assert list(tmp_path.iterdir()) == []
