"""Changes of the checks' code that their tests notice: `python -m bench.mutants [MODULE ...]`.

mutmut writes the changes: an operator, a number, an argument, a string, one at a time. Each is
judged by the micro-histories of tests/judge that run through the changed function, and noticed if
one of them fails. A sample of each module's changes is drawn, with a fixed seed. Prints a table of
the named modules, or of the core checks, and each change that no test noticed.
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

from mutmut.mutation.file_mutation import mutate_file_contents
from rich.console import Console
from rich.progress import Progress

from bench.folders import own_folder

ROOT = Path(__file__).resolve().parents[1]
CORE = ("delivery", "epochs", "resets", "truncations")
"""Modules of analysis/checks: losses, commits, resets and truncations."""
SAMPLE = 60
"""Changes of each module."""
_SEED = 19902
_RECENT_CHARACTERS = 2000
_INTRODUCTION = """\
# What changes of the checks' code the tests notice

mutmut changed one operator, number, argument or string at a time. Of each module at most {sample}
changes were drawn (seed {seed}) and judged by the micro-histories of tests/judge that run through
the changed function. Text in SQL and causes of findings are strings: mutmut replaces them as a
whole. Changes of a string's case alone are left out, since Spark finds a column in any case.

| module of analysis/checks | changes | noticed | share |
|---|---|---|---|
"""


@dataclass
class Judged:
    """The result of one module; `unnoticed` has the lines of a diff by the name of a change."""

    changes: int
    unnoticed: dict[str, str] = field(default_factory=dict)


def judge(name: str, progress: Progress) -> Judged:
    """Change a module's code, and run its tests on a sample of the changes."""
    module = f"analysis.checks.{name}"
    source = _source(name)
    mutated = mutate_file_contents(str(source), source.read_text())
    differences = _differences(mutated.code)
    names = sorted(one for one in mutated.mutant_names if not is_of_case_alone(differences[one]))
    chosen = random.Random(_SEED).sample(names, min(SAMPLE, len(names)))  # noqa: S311
    result = Judged(changes=len(chosen))
    task = progress.add_task(name, total=len(chosen))
    with own_folder("mutants") as place:
        shutil.copytree(ROOT / "analysis", place / "analysis")
        (place / "analysis" / "checks" / f"{name}.py").write_text(mutated.code)
        for mutant, is_noticed in _judged(module, chosen, place):
            progress.advance(task)
            if not is_noticed:
                result.unnoticed[mutant] = differences[mutant]
    return result


def _judged(module: str, mutants: list[str], place: Path) -> Iterator[tuple[str, bool]]:
    """Yield each change with whether a process that imports the changed module noticed it."""
    path, log = os.pathsep.join([str(place), str(ROOT)]), place / "judge.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "bench.mutants_judge", module, *mutants],
            cwd=place,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        for line in process.stdout or ():
            result = json.loads(line)
            yield result["mutant"], result["is_noticed"]
    if process.returncode:
        raise RuntimeError(f"{module} was not judged: {log.read_text()[-_RECENT_CHARACTERS:]}")


def _differences(code: str) -> dict[str, str]:
    """Return, by the name of each change, the lines that it removes and adds."""
    functions = {
        node.name: ast.get_source_segment(code, node) or ""
        for node in ast.parse(code).body
        if isinstance(node, ast.FunctionDef)
    }
    differences = {}
    for name, text in functions.items():
        function, is_mutant, _ = name.partition("__mutmut_")
        if is_mutant:
            before = functions.get(f"{function}__mutmut_orig", "").splitlines()[1:]
            lines = difflib.unified_diff(before, text.splitlines()[1:], lineterm="", n=0)
            kept = [line for line in lines if line[:3] not in ("---", "+++", "@@ ")]
            differences[name] = "\n".join(kept)
    return differences


def is_of_case_alone(difference: str) -> bool:
    """Return whether the removed and the added lines differ in capital letters only."""
    lines = difference.casefold().splitlines()
    out, in_ = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
    return out == in_


def report(judged: dict[str, Judged]) -> str:
    """Return the printed text: the noticed changes of each module, counted, and the unnoticed."""
    rows, left = [], []
    for name, result in judged.items():
        noticed = result.changes - len(result.unnoticed)
        share = noticed / max(1, result.changes)
        rows.append(f"| {name} | {result.changes} | {noticed} | {share:.2f} |")
        for mutant, difference in result.unnoticed.items():
            function = mutant.partition("__mutmut_")[0].removeprefix("x_")
            left.append(f"`{name}.{function}`:\n\n```diff\n{difference}\n```")
    parts = [_INTRODUCTION.format(sample=SAMPLE, seed=_SEED) + "\n".join(rows)]
    if left:
        parts += ["## Not noticed", *left]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Print the results of the named modules, or of the core checks."""
    names = tuple(sys.argv[1:])
    unknown = [name for name in names if not _source(name).exists()]
    if unknown:
        problem = f"analysis/checks has no {', '.join(unknown)}; the core is {', '.join(CORE)}"
        sys.exit(f"error: {problem}")
    with Progress(console=Console(stderr=True)) as progress:
        judged = {name: judge(name, progress) for name in names or CORE}
    print(report(judged))


def _source(name: str) -> Path:
    return ROOT / "analysis" / "checks" / f"{name}.py"


if __name__ == "__main__":
    main()
