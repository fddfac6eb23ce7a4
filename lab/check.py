"""Which tests concern the changed files, and what they say: `python -m lab.check [BASE]`.

A file is changed if it is new or differs from BASE, by default the last commit. Its tests are those
of its kind, such as the exam of a check, and the nearest ones that read it: the tests that import
it; without one, those that import what imports it, and so on. What Python does not import is read
by the modules that name the file. Tests that start a cluster are listed, and not run.
"""

import ast
import re
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from contract.errors import UsageError
from contract.program import run_program

UNIT, LIVE = "tests/unit", "tests/live"
FILES_MAX = 25
"""More files of tests may take more than a minute."""
_ROOT = Path(__file__).resolve().parents[1]
_BIN = _ROOT / ".venv" / "bin"
_OF_KIND = {
    r"analysis/(checks|facts|macros)/.*\.sql": "test_(exam|statements|mutants)",
    r"analysis/(facts|macros)/.*\.sql": "test_facts",
    r"tests/exam/histories/.*": "test_exam.*",
    r"analysis/report/templates/.*": r"test_(run|session|night|morning)_page",
    r"(extras/\w+/)?scenarios/.*_test\.py": r"test_(verbs_in_scenarios|answer\w+|mistakes)",
    r"(docs/.*|changes/.*|\w+)\.md|Makefile": "test_(docs|words).*",
    r".*": "test_tidy",
}
"""Tests by the path of what changed."""
_EXTENDED = re.compile(r"^pytestmark = .*mark\.extended", re.MULTILINE)
_SHORT = ("-q", "--numprocesses", "2", "-m", "not extended and not long and not live")
_OF_SCENARIOS = "tests/unit/test_tidy.py::test_ducktape_collects_the_scenarios_on_disk"
Reasons = dict[str, tuple[int, int, str]]
"""Of each test: steps to what changed, and its imports, of which few are likelier; and in words."""
app = typer.Typer(add_completion=False, help=__doc__)


class Tree:
    """The files of a folder that git does not ignore, and what the Python files import."""

    def __init__(self, root: Path) -> None:
        """Read them."""
        self.root = root
        listed = self._git("ls-files", "--cached", "--others", "--exclude-standard", "*.py")
        self.texts = {path: (root / path).read_text() for path in listed if (root / path).is_file()}
        self.imports = {path: _imports(text) for path, text in self.texts.items()}

    def _git(self, command: str, *arguments: str) -> set[str]:
        git = ["git", "-C", str(self.root), command, "-z", *arguments]
        listed = subprocess.run(git, capture_output=True, text=True, check=False)
        if listed.returncode:
            raise UsageError(listed.stderr.strip())
        return set(filter(None, listed.stdout.split("\0")))

    def changed_files(self, base: str = "HEAD") -> list[str]:
        """The paths of changed, new and deleted files."""
        new = self._git("ls-files", "--others", "--exclude-standard")
        found = new | self._git("diff", "--name-only", "--no-renames", base, "--")
        return sorted(path for path in found if not (self.root / path).is_dir())

    def choose_tests(self, changed: list[str], folder: str = UNIT) -> Reasons:
        """The tests of a folder that concern what changed, the likeliest first."""
        found: Reasons = {}
        for path in changed:
            kinds = [tests for kind, tests in _OF_KIND.items() if re.fullmatch(kind, path)]
            of_kind = re.compile(rf"{folder}/(\w+/)?({'|'.join(kinds)})\.py")
            likely = dict.fromkeys(filter(of_kind.match, self.texts), (0, 0, f"is for {path}"))
            for test, reason in [*likely.items(), *self._nearest(path, folder).items()]:
                found[test] = min(reason, found.get(test, reason))
        return dict(sorted(found.items(), key=lambda pair: (pair[1], pair[0])))

    def _nearest(self, path: str, folder: str) -> Reasons:
        """Unit tests in the fewest steps; live ones in any number, by files of their folder."""
        found, seen, level, steps = Reasons(), set[str](), {path}, 0
        while level and not (found and folder == UNIT):
            seen |= level
            words = ("changed", f"reads {path}", f"reads {path} in {steps} steps")[min(steps, 2)]
            tests = re.compile(rf"{folder}/(\w+/)?test_\w+\.py")
            for test in [name for name in level & self.texts.keys() if tests.fullmatch(name)]:
                found[test] = (steps, len(self.imports[test]), words)
            readers = set[str]().union(*map(self._readers, level)) - seen
            within = "" if folder == UNIT else folder
            level, steps = {reader for reader in readers if reader.startswith(within)}, steps + 1
        return found

    def _readers(self, path: str) -> set[str]:
        parts = Path(path).with_suffix("").parts
        names = {".".join(parts).removesuffix(".__init__")}
        names |= {parts[-1]} if path.startswith((UNIT, LIVE)) else set()
        found = {reader for reader, imports in self.imports.items() if names & imports}
        if not path.endswith(".py") or path.endswith("_test.py"):
            named = re.compile(rf"\b{re.escape(Path(path).name)}\b")
            found |= {reader for reader, text in self.texts.items() if named.search(text)}
        # All tests of a folder read its conftest.py, few because of what that imports.
        return {reader for reader in found if Path(reader).name != "conftest.py"}


@app.command()
def main(base: Annotated[str, typer.Argument(help="What to compare with.")] = "HEAD") -> None:
    """Run the tests that concern what changed, and ruff on it."""
    tree = Tree(_ROOT)
    changed = tree.changed_files(base)
    run: list[str] = []
    for test, (_, _, words) in tree.choose_tests(changed).items():
        is_extended = _EXTENDED.search(tree.texts[test])
        suite = "make test-live" if is_extended else "make test" if len(run) == FILES_MAX else ""
        print(f"{test} {words}" + f": not run, {suite} does" * bool(suite))
        run += [] if suite else [test]
    for test, (_, _, words) in tree.choose_tests(changed, LIVE).items():
        print(f"{test} {words}: not run, make test-live does")
    python = [path for path in changed if path in tree.texts]
    ruff = [["ruff", "check", *python], ["ruff", "format", "--check", *python]] if python else []
    slow = [] if "scenarios/" in " ".join(changed) else ["--deselect", _OF_SCENARIOS]
    pytest = [["pytest", *_SHORT, *slow, *run]] if run else []
    codes = [subprocess.call([_BIN / tool, *rest], cwd=_ROOT) for tool, *rest in [*pytest, *ruff]]
    raise typer.Exit(max(codes, default=0))


def _imports(text: str) -> set[str]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # which ruff reports
        return set()
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    members = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    return names | members | {str(node.module) for node in froms}


if __name__ == "__main__":
    run_program(app, name="lab.check")
