"""Judges changes of one module by its tests, in one process: see `bench.mutants`.

`python -m bench.mutants_judge MODULE MUTANT...`, in a folder whose `analysis` has the changed
module, prints one line of JSON for each change.
"""

import contextlib
import io
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from mutmut.mutation import trampoline

from analysis.checks.registry import CHECKS

ROOT = Path(__file__).resolve().parents[1]
_TESTS = ROOT / "tests" / "judge"
_SLOW = ("test_generated.py",)
"""Generated histories, by every check: minutes for each change."""


class Tracer:
    """A plugin of pytest's: which tests run through which functions, and how long they take."""

    def __init__(self) -> None:
        """No test yet."""
        self.tests: dict[str, dict[str, float]] = defaultdict(dict)
        self._hit: set[str] = set()

    def record(self, name: str, **_: Any) -> None:
        """A function of the changed module is called; `name` has its module."""
        self._hit.add(name.rpartition(".")[2])

    def pytest_runtest_setup(self) -> None:
        """Begin a test."""
        self._hit.clear()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End a test's call."""
        if report.when == "call":
            for function in self._hit:
                # Absolute, since pytest reads what it is given from the folder where it runs.
                self.tests[function][f"{ROOT}/{report.nodeid}"] = report.duration


def fails(tests: Iterable[str], plugins: Iterable[object] = ()) -> bool:
    """Return whether one of the tests fails; its failure is on standard error.

    Raises:
        RuntimeError: they could not be run.
    """
    options = ["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    options += ["-m", "not long and not spark"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = pytest.main([*options, *tests], plugins=[*plugins])
    print(output.getvalue(), file=sys.stderr, flush=True)
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"pytest ended with {status!r}")
    return status == pytest.ExitCode.TESTS_FAILED


def tests_of(module: str) -> list[str]:
    """The files of tests that name a check of a module, and judge micro-histories."""
    names = {check.name for check, made in CHECKS.items() if made.judge.__module__ == module}
    return [
        str(path)
        for path in sorted(_TESTS.glob("test_*.py"))
        if path.name not in _SLOW and any(f"Check.{name}" in path.read_text() for name in names)
    ]


def main() -> None:
    """Judge all changes that are named."""
    module, *mutants = sys.argv[1:]
    tracer = Tracer()
    trampoline.record_trampoline_hit = tracer.record
    trampoline.set_mutant_under_test("stats")
    if fails(tests_of(module), [tracer]):
        sys.exit("its tests fail before anything is changed")
    for mutant in mutants:
        trampoline.set_mutant_under_test(f"{module}.{mutant}")
        known = tracer.tests[mutant.partition("__mutmut_")[0]]
        is_noticed = bool(known) and fails(sorted(known, key=known.__getitem__))
        print(json.dumps({"mutant": mutant, "is_noticed": is_noticed}), flush=True)


if __name__ == "__main__":
    main()
