"""The rules of this repository that no linter knows."""

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TypeGuard

import pytest

from contract.software import released
from harness.session.catalog import scenario_folders, scenarios
from harness.session.ducktape_session import pool_size
from harness.story import settings
from tests.programs import ran

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 800
CHANGE_MAX = 2000

PRODUCT = ("fencepost", "scenarios", "harness", "analysis", "cluster", "simulator", "contract")
ALLOWED = {
    "contract": {"contract"},
    "simulator": {"simulator", "contract"},
    "analysis": {"analysis", "contract"},
    "cluster": {"cluster", "contract"},
    "harness": {"harness", "cluster", "simulator", "contract"},
    "scenarios": {"scenarios", "harness", "cluster", "contract"},
    "fencepost": {"fencepost", "harness", "cluster", "contract"},
    "website": {"website", *PRODUCT},
    "extras": {"extras", "website", *PRODUCT},
    "lab": {"lab", "website", *PRODUCT},
}
OURS = ("contract", "harness", "cluster", "analysis", "scenarios", "extras")
# From the ground floor up: a room imports only rooms of its package that stand before it.
FLOORS = [
    "java",
    "wire",
    "decode",
    "clients",
    "collection",
    "faults",
    "invocation",
    "story",
    "session",
    "playground",
    "nightly",
    "commands",
    "cli",
    "__main__",
]
ROOMS_OF_ANALYSIS = [
    "engine",
    "statements",
    "runs",
    "facts",
    "checks",
    "verdict",
    "report",
    "judging",
    "store",
    "trends",
    "tasks",
    "results",
    "opening",
    "prepare",
    "early",
    "cli",
    "series",
    "linting",
    "__main__",
]
# Modules of the longest chain of imports from what a check is, down to the contract.
FLOORS_OF_CHECKS = 3
# Written with spaces, so that this file does not hold what it looks for.
HOSTS = re.compile(
    "|".join(
        re.escape(spaced.replace(" ", ""))
        for spaced in ("maven .org", "maven.apache .org", "pypi .org", "pythonhosted .org")
    )
)
# Lists that a reader of this repository does not have.
OUR_LISTS = re.compile(r"\bissues? \d|\btaxonom(?:y|ies)\b", re.IGNORECASE)
MACHINE_PATHS = re.compile("/" + r"(?:home/[a-z]|root/|work/)")


def tracked_files() -> list[Path]:
    words = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    return [
        ROOT / name
        for name in ran(*words, cwd=ROOT).stdout.split("\n")
        if name and (ROOT / name).is_file()
    ]


def modules() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".py"]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    wrong = []
    for path in modules():
        name = module_name(path)
        if name.split(".")[0] != package:
            continue
        for imported in imports(path):
            room = imported.split(".")[0]
            if room in ALLOWED and room not in ALLOWED[package]:
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


def test_nothing_imports_an_extra_but_itself_and_its_tests() -> None:
    """Nor does a test of the core import the laboratory."""
    wrong = []
    for path in modules():
        name = module_name(path)
        for imported in imports(path):
            room = re.match(r"(?:extras\.(?=\w)|(?=lab\b))(\w+)", imported)
            if room and not re.match(rf"{room[0]}\.|tests\.\w+\.{room[1]}\.", name):
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


@pytest.mark.parametrize(
    ("package", "floors"), [("harness", FLOORS), ("analysis", ROOMS_OF_ANALYSIS)]
)
def test_rooms_import_only_what_is_below_them(package: str, floors: list[str]) -> None:
    wrong = []
    for path in (ROOT / package).rglob("*.py"):
        name = module_name(path)
        if name == f"{package}.__init__":
            continue
        room = floors.index(name.split(".")[1])
        ours = [imported for imported in imports(path) if imported.startswith(f"{package}.")]
        above = [imported for imported in ours if floors.index(imported.split(".")[1]) > room]
        wrong += [f"{name} imports {imported}" for imported in above]
    assert wrong == []


def imported_modules(path: Path) -> set[str]:
    """What is imported when a module is, names of modules in packages included; not for types."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    for_types = {id(node) for block in ast.walk(tree) if is_for_types(block) for node in block.body}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def is_for_types(node: ast.AST) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_no_modules_import_each_other() -> None:
    every = [path for path in modules() if module_name(path).partition(".")[0] in ALLOWED]
    names = {module_name(path): path for path in every if path.stem != "__init__"}
    below = {name: imported_modules(path) & names.keys() - {name} for name, path in names.items()}
    # Raises CycleError, which names the modules.
    assert len(list(TopologicalSorter(below).static_order())) == len(names)


def test_checks_stand_on_few_floors() -> None:
    rooms = ROOMS_OF_ANALYSIS[: ROOMS_OF_ANALYSIS.index("statements") + 1]
    paths = [path for room in rooms for path in (ROOT / "analysis" / room).glob("*.py")]
    names = {module_name(path): path for path in paths if path.stem != "__init__"}
    below = {name: imported_modules(path) & names.keys() - {name} for name, path in names.items()}
    floors: dict[str, int] = {}
    for name in TopologicalSorter(below).static_order():
        floors[name] = 1 + max((floors[other] for other in below[name]), default=0)
    of_statements = {name: floor for name, floor in floors.items() if ".statements." in name}
    high = {name: floor for name, floor in of_statements.items() if floor > FLOORS_OF_CHECKS}
    assert high == {}


def test_each_file_of_tests_has_a_name_of_its_own() -> None:
    """Two of one name, in different folders, end pytest's collection."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert {name: number for name, number in names.items() if number > 1} == {}


def test_modules_fit_in_a_head() -> None:
    long = {module_name(p): len(p.read_text().splitlines()) for p in modules()}
    assert {name: lines for name, lines in long.items() if lines > LINES_MAX} == {}


SLEEPS = re.compile(r"\btime\.sleep\(|from time import .*sleep")
WAITS_FOR_A_LOCK = re.compile(r"flock\([^)\n]*LOCK_(EX|SH)\)")
READS_YAML = re.compile(r"\byaml\.(safe_|full_|unsafe_)?load")
"""Files that users write are read by contract/written.py."""
WRITES = re.compile(
    r"""\.write_(?:text|bytes)\(|FileHandler\(\w|O_(?:WRONLY|RDWR|CREAT)\b"""
    r"""|(?<!tarfile\.)(?<!fd)open\((?:[^()\n]|\([^()\n]*\))*["'][rbt]*[wax+][bt+]*["']"""
    r"""|shutil\.(?:copy2?|copyfile|move)\(|copytree\((?:(?!copy_function)[^)])*\)"""
)
"""All that is written goes through contract/files.py."""
WRITERS = [
    "analysis/early.py",  # /dev/null, and the kernel's file of a session's priority
    "cluster/reports.py",  # the pipe of reports
    "contract/files.py",
    "contract/processes.py",  # the lock of class data: never through a link, never emptied
    "contract/program.py",  # /dev/null
]
NAKED_EXCEPTION = re.compile(r"^\s*(raise Exception\b|except:)", re.MULTILINE)


@pytest.mark.parametrize(
    ("pattern", "rooms", "allowed"),
    [
        (SLEEPS, OURS, ["contract/waiting.py"]),
        (WAITS_FOR_A_LOCK, OURS, []),
        (
            READS_YAML,
            OURS,
            ["cluster/nodes/docker_pool.py", "extras/conform/released/page.py"],
        ),
        (WRITES, (*OURS, "fencepost", "simulator"), WRITERS),
        (NAKED_EXCEPTION, "", []),
    ],
)
def test_what_has_no_place_in_the_tree_is_where_it_may_be_only(
    pattern: re.Pattern[str], rooms: str | tuple[str, ...], allowed: list[str]
) -> None:
    ours = [module for module in modules() if module_name(module).startswith(rooms)]
    found = [str(our.relative_to(ROOT)) for our in ours if pattern.search(our.read_text())]
    assert found == [path for path in allowed if (ROOT / path).exists()]


def test_each_tracked_file_is_a_regular_one() -> None:
    """A link may lead out of the repository."""
    listed = ran("git", "ls-files", "--stage", cwd=ROOT).stdout
    assert [line for line in listed.splitlines() if not line.startswith("100")] == []


@pytest.mark.parametrize(
    ("pattern", "but"), [(HOSTS, ""), (MACHINE_PATHS, ""), (OUR_LISTS, "test_exam_sources.py")]
)
def test_no_file_names_a_registry_a_path_of_a_machine_or_an_issue_of_ours(
    pattern: re.Pattern[str], but: str
) -> None:
    named = [one for one in tracked_files() if pattern.search(one.read_text(errors="ignore"))]
    assert [scenario for scenario in named if scenario.name != but] == []


@pytest.mark.parametrize(
    ("path", "packages"),
    [("requirements.lock", 30), ("website/requirements.lock", 8)],
)
def test_a_python_lock_has_hashes_and_no_addresses(path: str, packages: int) -> None:
    lock = (ROOT / path).read_text()
    assert "://" not in lock
    pinned = re.findall(r"^\S+==\S+.*\\$", lock, re.MULTILINE)
    assert len(pinned) >= packages
    assert lock.count("--hash=sha256:") >= len(pinned)


def test_a_change_is_prose_for_the_changelog() -> None:
    texts = {path: path.read_text() for path in (ROOT / "changes").glob("*.md")}
    prose = re.compile(r"(?![#\s])(?:(?!#).*\n)*.*\S\n")
    wrong = [path.name for path, text in texts.items() if not prose.fullmatch(text)]
    assert wrong == []
    assert [path.name for path, text in texts.items() if len(text) > CHANGE_MAX] == []


def test_every_scenario_asks_a_question() -> None:
    for scenario in scenarios():
        assert scenario.question.endswith("?"), scenario.name


def test_scenarios_that_are_no_story_of_a_suite_name_what_exists() -> None:
    others = ("tests.", "scenarios.", *(module_name(folder) for folder in scenario_folders()))
    every = [path for path in modules() if path.name.endswith("_test.py")]
    files = [path for path in every if not module_name(path).startswith(others)]
    assert files
    for file in files:
        assert pool_size([file], released("4.4.0")) > 0, file


def test_ducktape_collects_the_scenarios_on_disk_and_the_pool_has_their_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import logging  # noqa: PLC0415

    from ducktape.tests.loader import TestLoader  # noqa: PLC0415 - slow, and only needed here
    from ducktape.tests.session import SessionContext  # noqa: PLC0415

    session = SessionContext(session_id="tidy", results_dir="unused", cluster=None, globals={})
    loader = TestLoader(session, logging.getLogger("tidy"))
    contexts = loader.load([str(folder) for folder in scenario_folders()])
    files = {Path(context.file).stem for context in contexts}
    assert files == {scenario.path.stem for scenario in scenarios()}
    # Nodes do not depend on what clients say of settings, and to ask Java takes its start.
    monkeypatch.setattr(settings, "_ask_client", lambda *_: {})
    needed = {context.file: 0 for context in contexts}
    needed |= {file: pool_size([Path(file)], released("4.4.0")) for file in needed}
    for context in contexts:
        assert context.expected_num_nodes == needed[context.file], context.test_id
