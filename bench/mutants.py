"""What changes of the core checks' code their tests notice: `python -m bench.mutants [MODULE ...]`.

mutmut writes the changes: an operator, a number, an argument, a string, one at a time. Each is
judged by the micro-histories of tests/spark that run through the changed function, and noticed if
one of them fails. Of each module a sample is drawn, with a fixed seed. Writes docs/mutants.md, and
tells each change that nobody noticed.
"""

import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from mutmut.mutation.file_mutation import mutate_file_contents
from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
CORE = ("delivery", "epochs", "resets", "truncations")
"""Modules of analysis/checks: what is lost, what is committed, who goes back."""
SAMPLE = 60
"""Changes of each module."""
_SEED = 19902
_PAGE = ROOT / "docs" / "mutants.md"
_INTRODUCTION = """\
# What changes of the checks' code the tests notice

Made by `make mutants`. mutmut changed the code of the core checks, one operator, number, argument
or string at a time; of each module {sample} changes were drawn (seed {seed}), and judged by the
micro-histories of tests/spark that run through the changed function. What is written in SQL or as
a cause is a string to it: it is only ever spoiled as a whole, or written in other case.

| module of analysis/checks | changes | noticed | share | not noticed, in words for people | else |
|---|---|---|---|---|---|
"""


@dataclass
class Judged:
    """How the changes of one module fared; by their names, what is left has its difference."""

    changes: int = 0
    unnoticed: dict[str, str] = field(default_factory=dict)

    @property
    def in_words(self) -> int:
        """How many of those that nobody noticed are in a string with blanks."""
        return sum(1 for told in self.unnoticed.values() if _is_in_words(told))


def judge(name: str, progress: Progress) -> Judged:
    """Change a module's code, and let its tests judge a sample of the changes."""
    module = f"analysis.checks.{name}"
    source = ROOT / "analysis" / "checks" / f"{name}.py"
    mutated = mutate_file_contents(str(source), source.read_text())
    names = sorted(mutated.mutant_names)
    chosen = random.Random(_SEED).sample(names, min(SAMPLE, len(names)))  # noqa: S311
    differences = _differences(mutated.code)
    told = Judged(changes=len(chosen))
    task = progress.add_task(name, total=len(chosen))
    with TemporaryDirectory(prefix="fencepost-mutants-") as place:
        shutil.copytree(ROOT / "analysis", Path(place) / "analysis")
        (Path(place) / "analysis" / "checks" / f"{name}.py").write_text(mutated.code)
        for mutant, is_noticed in _judged(module, chosen, Path(place)):
            progress.advance(task)
            if not is_noticed:
                told.unnoticed[mutant] = differences[mutant]
    return told


def _judged(module: str, mutants: list[str], place: Path) -> Iterator[tuple[str, bool]]:
    """Each change, and whether it was noticed, by a process that imports the changed module."""
    path = os.pathsep.join([str(place), str(ROOT)])
    with subprocess.Popen(
        [sys.executable, "-m", "bench.mutants_judge", module, *mutants],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        for line in process.stdout or ():
            told = json.loads(line)
            yield told["mutant"], told["is_noticed"]
    if process.returncode:
        raise RuntimeError(f"the tests of {module} fail before anything is changed")


def _differences(code: str) -> dict[str, str]:
    """By the name of each change, the lines that it takes out and puts in."""
    functions = {
        node.name: ast.get_source_segment(code, node) or ""
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }
    told = {}
    for name, text in functions.items():
        function, is_mutant, _ = name.partition("__mutmut_")
        if is_mutant:
            before = functions.get(f"{function}__mutmut_orig", "").splitlines()[1:]
            lines = difflib.unified_diff(before, text.splitlines()[1:], lineterm="", n=0)
            told[name] = "\n".join(line for line in lines if line[:3] not in ("---", "+++", "@@ "))
    return told


def _is_in_words(difference: str) -> bool:
    """Whether a change is within a text for people: a cause or a kind."""
    return any(word in difference for word in ('"XX', "cause", "kind", "format_string", "F.lit("))


def main() -> None:
    """Write the page."""
    names = tuple(sys.argv[1:]) or CORE
    console = Console(stderr=True)
    rows = []
    with Progress(console=console) as progress:
        for name in names:
            told = judge(name, progress)
            left = len(told.unnoticed)
            noticed = told.changes - left
            rows.append(
                f"| {name} | {told.changes} | {noticed} | {noticed / max(1, told.changes):.2f}"
                f" | {told.in_words} | {left - told.in_words} |"
            )
            for mutant, difference in told.unnoticed.items():
                console.print(f"{mutant}\n{difference}", markup=False, highlight=False)
    _PAGE.write_text(_INTRODUCTION.format(sample=SAMPLE, seed=_SEED) + "\n".join(rows) + "\n")
    console.print(f"wrote {_PAGE}")


if __name__ == "__main__":
    main()
