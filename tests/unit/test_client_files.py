"""A client is its files: found by its name, complete in the image, apart from other clients."""

import ast
import json
import re
from functools import cache
from importlib.metadata import packages_distributions
from inspect import signature
from pathlib import Path

import pytest

from cluster.image import build
from cluster.image.build import client_packages, wheels
from contract.errors import PrerequisiteError
from contract.software import INSTALLED, Client
from harness.clients.process import JAVA_WORKER, worker_of
from harness.decode.client_logs import reader_of
from tests.programs import ran_python

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted({client.module for client in INSTALLED})
WORKERS = sorted({worker_of(client).module for client in INSTALLED})
LIBRARIES = {*client_packages(), "jpype1"}
DRIVER = (
    "harness.cli",
    "harness.playground.playground_test",
    "scenarios.truncation_detection_test",
)
packages = cache(packages_distributions)

LOADED = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""
WITHOUT = """
import importlib, json, sys
missing = set(json.loads(sys.argv[2]))
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in missing:
            raise ModuleNotFoundError(f"{name} is not in the image")
sys.meta_path.insert(0, Missing())
importlib.import_module(sys.argv[1])
"""
EAGER = """
import json
from harness.clients.member import Member
from harness.clients.java_consumer import JavaMember
from contract.software import INSTALLED, Client
def opened(client):
    member = JavaMember.__new__(JavaMember)
    member.member = Member(group="g", member="g#1", topic="t", reset="none", client=client)
    return member
print(json.dumps([opened(client)._is_eager() for client in (Client.JAVA, Client.JAVA_CONSUMER)]))
"""
MEMBERS = """
import importlib, json, sys
import inspect
from harness.clients.member import GroupMember
for name, found in vars(importlib.import_module(sys.argv[1])).items():
    if name.startswith("_") or not isinstance(found, type) or inspect.isabstract(found):
        continue
    if issubclass(found, GroupMember):
        print(json.dumps(sorted(found.definite_failures)))
"""


def output_of(program: str, *arguments: str) -> str:
    """What a process of its own prints."""
    ended = ran_python("-c", program, *arguments, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def libraries(modules: set[str]) -> set[str]:
    """The clients' libraries among packages of which modules are imported."""
    return {package for name in modules for package in packages().get(name, ())} & LIBRARIES


def libraries_loaded(*modules: str) -> set[str]:
    """The clients' libraries of a process that imports these modules."""
    return libraries(set(json.loads(output_of(LOADED, *modules))))


def libraries_imported(module: str) -> set[str]:
    """The clients' libraries that a module itself imports."""
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
    names = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    }
    return libraries({name.partition(".")[0] for name in names if name})


@pytest.mark.parametrize("client", INSTALLED)
def test_a_client_has_a_worker_and_a_reader_of_its_log(client: Client) -> None:
    worker = worker_of(client)
    assert (ROOT / f"{worker.module.replace('.', '/')}.py").is_file()
    assert worker == JAVA_WORKER or worker.worker == client
    assert list(signature(reader_of(client)).parameters) == ["lines"]


def test_a_client_is_named_by_its_own_files_alone() -> None:
    """What else is to be known of it stands in its declaration: `Client.about`."""
    naming = {
        path.relative_to(ROOT).as_posix()
        for folder in ("contract", "cluster", "harness", "analysis", "simulator")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\bClient\.(LIBRDKAFKA|KAFKA_PYTHON)\b", path.read_text())
    }
    workers = {f"harness/clients/{client}_consumer.py" for client in ("librdkafka", "kafka_python")}
    assert naming == workers | {
        "contract/software.py",
        "harness/clients/time_lookup.py",  # Two clients look up times, each by its own call.
        "harness/collection/collect.py",  # Only librdkafka's log has commits that it omits.
    }


@pytest.mark.parametrize("client", INSTALLED)
def test_a_client_has_its_row(client: Client) -> None:
    pages = [ROOT / "README.md", ROOT / "docs" / "running.md"]
    assert any(f"\n| {client} |" in page.read_text() for page in pages if page.is_file())


@pytest.mark.parametrize("module", MODULES)
def test_a_client_has_one_member_that_names_its_definite_failures(module: str) -> None:
    (reported,) = output_of(MEMBERS, f"harness.clients.{module}_consumer").splitlines()
    assert json.loads(reported)


def test_only_kip_848_lets_a_java_member_keep_its_partitions() -> None:
    assert json.loads(output_of(EAGER)) == [True, False]


@pytest.mark.parametrize("module", MODULES)
def test_a_client_loads_no_library_of_another(module: str) -> None:
    consumer = f"harness.clients.{module}_consumer"
    assert libraries_loaded(consumer) == libraries_imported(consumer) != set()


def test_each_library_of_clients_is_imported_by_one() -> None:
    assert (
        set().union(*(libraries_imported(f"harness.clients.{m}_consumer") for m in MODULES))
        == LIBRARIES
    )


def test_the_driver_loads_no_client() -> None:
    """It has the roles of workers, with JPype, and starts no JVM."""
    assert libraries_loaded(*DRIVER) == {"jpype1"}


@pytest.mark.parametrize("worker", [*WORKERS, "harness.clients.observer_worker"])
def test_the_image_has_all_that_a_worker_needs(worker: str) -> None:
    there = {"fencepost", *wheels()}
    missing = [name for name, packages in packages().items() if there.isdisjoint(packages)]
    output_of(WITHOUT, worker, json.dumps(missing))


def test_the_image_has_what_its_packages_need_on_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [*build.wheels(), "needed", "elsewhere", "unneeded"]
    parents = {"needed": "some-client", "elsewhere": "some-client", "unneeded": "no-client"}
    markers = {"elsewhere": " ; sys_platform == 'win32'"}
    locked = [
        f"{name}==1.0{markers.get(name, '')} \\\n    --hash=sha256:00\n"
        f"    # via\n    #   other\n    #   {parents.get(name, 'fencepost')}\n"
        for name in ["some-client", *names]
    ]
    (tmp_path / "requirements.lock").write_text("".join(locked))
    declared = ["other", 'Some_Client>=1; extra == "clients"']
    monkeypatch.setattr(build, "requires", lambda _: declared)
    monkeypatch.setattr(build, "_ROOT", tmp_path)
    found = build.wheels()
    assert {"some-client", "needed"} <= set(found)
    assert {"elsewhere", "unneeded"}.isdisjoint(found)
    assert found["needed"].split() == ["needed==1.0", "\\", "--hash=sha256:00"]
    (tmp_path / "requirements.lock").write_text(locked[1])
    with pytest.raises(PrerequisiteError, match="make lock"):
        build.wheels()
