"""Runs at the URI of a Hadoop file system: here `viewfs`, which mounts a folder."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark import SparkContext
from test_analyze import run_folder

from analysis.engine import jvm
from analysis.engine.hadoop import HadoopFolder, in_full
from analysis.engine.session import sql_session
from analysis.runs.remote import RemoteFolder
from contract.errors import RunFolderError
from tests.programs import ran_python
from tests.traces import generated

pytestmark = [pytest.mark.spark, pytest.mark.extended]


@pytest.fixture
def hadoop(spark: SparkContext) -> Iterator[Callable[[str, str], None]]:  # noqa: ARG001 - runs
    """Sets settings of Hadoop, and unsets them at the end."""
    gateway: Any = jvm.gateway()
    settings = gateway.jvm.org.apache.spark.SparkContext.getOrCreate().hadoopConfiguration()
    given: list[str] = []

    def give(key: str, value: str) -> None:
        given.append(key)
        settings.set(key, value)

    yield give
    for key in given:
        settings.unset(key)


@pytest.fixture
def mounted_folder(tmp_path: Path, hadoop: Callable[[str, str], None]) -> tuple[Path, str]:
    """A folder, and the URI of another file system that it has too."""
    folder = tmp_path / "there"
    folder.mkdir()
    table = tmp_path.name.replace("_", "-")
    hadoop(f"fs.viewfs.mounttable.{table}.link./data", folder.as_uri())
    return folder, f"viewfs://{table}/data"


def test_two_that_write_a_file_at_a_uri_at_once_leave_one_whole(
    mounted_folder: tuple[Path, str], tmp_path: Path
) -> None:
    there, uri = mounted_folder
    sources = [tmp_path / name for name in "ab"]
    for source in sources:
        source.write_bytes(source.name.encode() * 300_000)

    def write(source: Path) -> None:
        for _ in range(20):
            HadoopFolder(uri).put(source, "verdict.json")

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, sources))
    assert [path.name for path in there.iterdir() if path.suffix != ".crc"] == ["verdict.json"]
    assert (there / "verdict.json").read_bytes() in [source.read_bytes() for source in sources]


def test_files_of_a_uri_are_read(mounted_folder: tuple[Path, str]) -> None:
    folder, uri = mounted_folder
    (folder / "a b" / "c").mkdir(parents=True)
    content = bytes(range(256)) * 9000
    (folder / "a b" / "c" / "d#1").write_bytes(content)
    (folder / "e").write_bytes(b"")
    there = HadoopFolder(uri)
    assert there.uri == HadoopFolder(f"{uri}/").uri == uri
    assert sorted(HadoopFolder(uri.removesuffix("/data")).files()) == ["data/a b/c/d#1", "data/e"]
    assert sorted(there.files()) == ["a b/c/d#1", "e"]
    assert (there.read("a b/c/d#1"), there.read("e")) == (content, b"")
    with pytest.raises(FileNotFoundError):
        there.read("f")


def test_a_file_at_a_uri_is_replaced_and_removed(
    mounted_folder: tuple[Path, str], tmp_path: Path
) -> None:
    folder, uri = mounted_folder
    there, source = HadoopFolder(uri), tmp_path / "source"
    for content in (b"\x00\xff" * 9, b"other"):
        source.write_bytes(content)
        there.put(source, "report/page")
        assert (folder / "report" / "page").read_bytes() == content
    assert list(there.files()) == ["report/page"]
    there.remove("report/page")
    there.remove("report/page")
    assert list(there.files()) == []


def test_local_files_are_read_whatever_the_file_system_of_the_cluster_is(
    mounted_folder: tuple[Path, str], tmp_path: Path, hadoop: Callable[[str, str], None]
) -> None:
    hadoop("fs.defaultFS", mounted_folder[1].removesuffix("/data"))
    (tmp_path / "text").write_text("a line")
    found = sql_session().read.text(in_full(tmp_path / "text"))
    assert [row.value for row in found.collect()] == ["a line"]


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("s3a://bucket/run", "Spark has no such file system: give the package of it"),
        ("nosuch://bucket/run", "Spark has no such file system: give the package of it"),
        ("/missing", "can't be read"),
        ("", "no run at or below"),
    ],
)
def test_a_uri_without_runs_is_reported(
    mounted_folder: tuple[Path, str], tmp_path: Path, uri: str, reason: str
) -> None:
    asked = uri if ":" in uri else f"{mounted_folder[1]}{uri}"
    with pytest.raises(RunFolderError, match=reason):
        RemoteFolder(asked, tmp_path / "copy")


WRITES_AS_S3A = """
from analysis.cli import Asked
from analysis.engine.jvm import gateway
spark = Asked("local[1]", {}).open()
jvm = gateway().jvm
conf = jvm.org.apache.spark.SparkContext.getOrCreate().hadoopConfiguration()
buffers = jvm.org.apache.hadoop.fs.LocalDirAllocator("hadoop.tmp.dir")
buffers.createTmpFileForWrite("part", 1, conf).delete()
"""


@pytest.mark.long
def test_file_systems_that_buffer_in_local_files_can_write() -> None:
    ended = ran_python("-c", WRITES_AS_S3A)
    assert ended.returncode == 0, ended.stderr


def test_a_run_at_a_uri_is_judged_there(tmp_path: Path) -> None:
    """Other than the tests above, by the command, with the file system set up by --conf."""
    there = tmp_path / "there"
    good, damaged = generated(there / "a"), run_folder(there / "b")
    (damaged.path / "plan.json").write_text("{")
    mount = f"spark.hadoop.fs.viewfs.mounttable.m.link./runs={there.as_uri()}"
    words = ("-m", "harness", "analyze", "viewfs://m/runs", "--conf", mount)
    ended = ran_python(*words, cwd=tmp_path)
    assert ended.returncode == 64, ended.stderr
    assert "report: viewfs://m/runs/a/report/index.html" in ended.stdout
    assert "error: viewfs://m/runs/b: viewfs://m/runs/b/plan.json is not a valid" in ended.stderr
    verdict = msgspec.json.decode((good.report / "verdict.json").read_bytes())
    assert verdict["verdict"] == "pass"
    (script,) = good.report.glob("plotly-*.js")
    assert script.name in (good.report / "index.html").read_text(), "the timeline is missing"
    assert not list(damaged.report.iterdir())
    summary = msgspec.json.decode((there / "report" / "summary.json").read_bytes())
    assert [row["verdict"] for row in summary["runs"]] == ["pass", "undecided"]
    assert "viewfs://m/runs/b/plan.json" in summary["runs"][1]["error"]
    assert {path.name for path in tmp_path.iterdir()} <= {"there"}
