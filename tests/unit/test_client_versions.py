"""Versions of the Python clients: named, locked, installed once, each with its own worker."""

import base64
import hashlib
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pytest

from cluster.clients import versions
from cluster.nodes.docker_node import DockerNode
from contract.errors import DistributionError, UsageError, WorkerError
from contract.packages import environment, python
from contract.software import Client, client_of, version_of
from harness.clients.process import JAVA_WORKER, WorkerKind, WorkerService, worker_of
from harness.commands.options import choice_of
from harness.session.catalog import read_scenario
from harness.story.consumers import Consumers, workers_for
from harness.story.workload import reader
from tests.programs import ran

NAMED = "kafka-python@9.9.9"
MODULE = b"__version__ = '9.9.9'\n"
SHOWN = """
import importlib.metadata, kafka, sys
print(kafka.__version__, importlib.metadata.version("kafka-python"), *sys.argv[1:], __name__,
    sep=chr(10))
"""
OLD, NEW = reader("old", "t", client="kafka-python@3.0.5"), reader("new", "t", client=NAMED)


def wheel(folder: Path) -> Path:
    """A wheel of kafka-python 9.9.9, with one module."""
    about = "kafka_python-9.9.9.dist-info"
    files = {
        "kafka/__init__.py": MODULE,
        f"{about}/METADATA": b"Metadata-Version: 2.1\nName: kafka-python\nVersion: 9.9.9\n",
        f"{about}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()[:-1]},"
        f"{len(content)}\n"
        for name, content in files.items()
    )
    folder.mkdir()
    path = folder / "kafka_python-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, f"{about}/RECORD": record.encode()}.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels in the place of the package index; kafka-python 9.9.9 is locked."""
    path = wheel(tmp_path / "wheels")
    locks = tmp_path / "locks"
    locks.mkdir()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lock = f"kafka-python==9.9.9 \\\n    --hash=sha256:{digest}\n"
    (locks / "kafka-python-9.9.9.lock").write_text(lock)
    monkeypatch.setattr(versions, "LOCKS", locks)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(path.parent))
    return path


def test_a_lock_names_one_release_and_hashes_and_no_address() -> None:
    files = sorted(versions.LOCKS.glob("*.lock"))
    assert files
    for file in files:
        client = next(
            package for package in versions.PACKAGES if file.stem.startswith(f"{package}-")
        )
        named = f"{client}@{file.stem.removeprefix(f'{client}-')}"
        assert versions.require_locked(named) == file
        first, *rest = file.read_text().splitlines()
        assert first == f"{versions.PACKAGES[client]}=={version_of(named)} \\"
        pinned = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?|[a-z0-9-]+==[0-9.]+.* \\")
        assert all(pinned.fullmatch(line) for line in rest)
        assert "://" not in file.read_text()


@pytest.mark.usefixtures("index")
def test_a_program_finds_it_before_what_is_installed_and_before_this_project(
    tmp_path: Path,
) -> None:
    (tmp_path / "shown.py").write_text(SHOWN)
    said = [
        ran(
            *python("shown", "an argument", packages=packages),
            env=environment({"PYTHONPATH": str(tmp_path)}),
        ).stdout.splitlines()
        for packages in (versions.ensure(NAMED), None)
    ]
    assert said[0] == ["9.9.9", "9.9.9", "an argument", "__main__"]
    assert said[1][2:] == said[0][2:]
    assert said[1][0] == said[1][1] == version("kafka-python")


def test_it_is_installed_once_and_then_needs_no_index(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = []
    install = versions._install  # noqa: SLF001
    monkeypatch.setattr(
        versions, "_install", lambda *a, **k: (installed.append(a), install(*a, **k))
    )
    with ThreadPoolExecutor(3) as pool:
        folders = set(pool.map(versions.ensure, [NAMED] * 3))
    assert len(folders) == len(installed) == 1
    index.unlink()
    assert versions.ensure(NAMED) in folders


@pytest.mark.usefixtures("index")
def test_what_was_changed_or_left_half_is_installed_anew() -> None:
    folder = versions.ensure(NAMED)
    half = folder.with_name(".making-0@" + folder.parent.name)
    half.mkdir()
    (folder / "kafka" / "__init__.py").write_bytes(MODULE.replace(b"9.9.9", b"9.9.8"))
    assert not versions.is_fetched(NAMED)
    assert versions.ensure(NAMED) == folder
    assert (folder / "kafka" / "__init__.py").read_bytes() == MODULE


@pytest.mark.parametrize("fault", ["no wheel", "another wheel"])
def test_one_that_cannot_be_had_leaves_nothing_and_the_error_says_what_to_do(
    index: Path, fault: str
) -> None:
    if fault == "no wheel":
        index.unlink()
    else:
        with zipfile.ZipFile(index, "a") as archive:
            archive.writestr("kafka/more.py", b"")
    with pytest.raises(DistributionError, match="Check the network and start the command again"):
        versions.ensure(NAMED)
    assert not versions.is_fetched(NAMED)
    assert not list((index.parent.parent / "cache" / "clients").iterdir())


def test_an_unknown_version_is_refused_with_the_locked_ones_and_the_command() -> None:
    with pytest.raises(DistributionError) as error:
        choice_of(None, None, None, None, "kafka-python@9.9.9")
    for part in ("3.0.5, 3.0.6", "fencepost versions lock kafka-python@9.9.9"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    "wrong", ["kafka-python", "kafka-python@", "java@4.4.0", "kafka-python@../x", "", "x@1.0"]
)
def test_what_names_no_version_is_refused(wrong: str) -> None:
    assert not versions.is_version(wrong)
    with pytest.raises(UsageError, match="names no version of a client"):
        choice_of(None, None, None, None, wrong)


def test_a_run_has_one_version_of_a_client() -> None:
    with pytest.raises(UsageError, match="several versions of kafka-python"):
        choice_of(None, None, None, None, "kafka-python@3.0.5,kafka-python@3.0.6")


def test_what_a_run_names_is_in_its_note_and_in_the_command_that_repeats_it() -> None:
    named = "librdkafka@2.16.0,kafka-python@3.0.8"
    choice = choice_of("4.4.0", None, None, None, named)
    assert choice.is_own
    assert choice.words() == ["--kafka", "4.4.0", "--clients", named]


def test_each_version_has_a_worker() -> None:
    assert client_of(OLD.client) is Client.KAFKA_PYTHON
    kinds = workers_for([OLD, NEW, reader("installed", "t", client=Client.KAFKA_PYTHON)])
    assert [kind.worker for kind in kinds] == [
        "clients",
        "kafka-python@3.0.5",
        "kafka-python@9.9.9",
        "kafka-python",
    ]
    assert [kind.client for kind in kinds] == ["", OLD.client, NEW.client, ""]
    assert len({kind.module for kind in kinds[1:]}) == 1


class Started:
    """A worker that has reported the version of its client."""

    def __init__(self, version: str) -> None:
        self.worker, self.client_version = version, version


@pytest.mark.parametrize(
    ("client", "reported", "is_right"),
    [
        ("kafka-python@3.0.1", "3.0.1", True),
        ("kafka-python@3.0.1", "3.0.10", False),
        ("librdkafka@2.16.1", "2.16.0 (confluent-kafka 2.16.1)", True),
        ("librdkafka@2.16.1", "2.16.0 (confluent-kafka 2.16.0)", False),
    ],
)
def test_a_worker_with_another_version_ends_the_run(
    client: str, reported: str, *, is_right: bool
) -> None:
    group = reader("g", "t", client=client)
    workers = {JAVA_WORKER: Started("4.4.0"), worker_of(client): Started(reported)}
    consumers = Consumers(cast("dict[WorkerKind, WorkerService]", workers), [group])
    if is_right:
        assert consumers.versions() == {"java": "4.4.0", client: reported}
    else:
        with pytest.raises(WorkerError, match=f"the worker of {client} runs"):
            consumers.versions()


def test_the_versions_that_a_scenario_names_are_known_before_it_starts(tmp_path: Path) -> None:
    file = tmp_path / "x_test.py"
    file.write_text(
        '"""kafka-python@3.0.5 or not?"""\nA = ("kafka-python@3.0.8", "librdkafka@x")\n'
    )
    assert read_scenario(file).clients == {"kafka-python@3.0.8"}


def test_a_container_gets_the_packages_for_its_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        versions, "ensure", lambda *a, **k: asked.append((a, k)) or tmp_path / "kafka-python-9"
    )
    monkeypatch.setattr(DockerNode, "copy_to", lambda _node, *paths: asked.append(paths))
    node = DockerNode("n", "c", "127.0.0.1", jars_mounted=None)
    place = node.packages(NAMED)
    assert asked == [((NAMED,), {"is_for_nodes": True}), (tmp_path / "kafka-python-9", place)]
