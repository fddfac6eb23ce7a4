"""Faults that were made ineffective, on a real cluster: none counts as landed."""

import json
import subprocess
import sys
from collections.abc import Iterator

from bench.torture.attempt import Area, Attempt
from bench.torture.setting import ROOT, Setting

AREA = Area(
    "faults without effect",
    "a fault of any verb whose rule, signal or command has no effect is reported as not landed, "
    "and the run is undecided",
    "the evidence of each fault, `fault_landed`",
)
_TESTS = "tests/live/test_blunt_faults.py"
_ALSO_LONG = "long or not long"
"""They are long, which the project's options of pytest leave out."""
_NONE_COLLECTED = 5


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Run the blunt stories of the live tests; each is an attempt."""
    base = setting.place / "effectless"
    command = [sys.executable, "-m", "pytest", _TESTS, "-q", "-p", "no:cacheprovider"]
    command += ["-m", _ALSO_LONG, f"--basetemp={base}", "-o", "tmp_path_retention_policy=all"]
    ended = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    # pytest links each folder by a second name.
    files = sorted(one for one in base.glob("*/seen.json") if not one.parent.is_symlink())
    if not files:
        last = ended.stdout.strip().rpartition("\n")[2]
        is_skipped = ended.returncode in (0, _NONE_COLLECTED)
        what = "all stories"
        yield Attempt(
            AREA.name, what, "" if is_skipped else last, skipped=last if is_skipped else ""
        )
    for file in files:
        for story, problem in json.loads(file.read_text()).items():
            last = (problem or "").strip().rpartition("\n")[2]
            yield Attempt(AREA.name, story, last)
    if files and ended.returncode:
        yield Attempt(AREA.name, f"{_TESTS} as a whole", ended.stdout.strip().rpartition("\n")[2])
