"""Files that are no files end in an error, at once; files are replaced as a whole."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.facts.source import table_content, table_files
from analysis.report.explain import _verdict
from contract.errors import RunFolderError, TableError, UsageError
from contract.manifest import MANIFEST_FILE, alterations
from contract.nights import NIGHT_FILE, SUMMARY_FILE, read_night, read_summary
from contract.regular_files import (
    open_regular,
    read_file,
    read_regular,
    replace_file,
    storage_error,
)
from contract.run_folder import PLAN_FILE, RUN_FILE, RunFolder
from harness.nightly.suite import find_suite

pytestmark = pytest.mark.timeout(20)


def _loop(path: Path) -> None:
    path.symlink_to(path)


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "loop": _loop,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.fixture(params=sorted(ODD))
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a path below a folder that is no regular file."""

    def make(name: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ODD[request.param](path)
        return path

    return make


def test_what_is_no_file_is_not_read(odd: Callable[[str], Path]) -> None:
    path = odd("file")
    with pytest.raises(OSError, match="file"):
        read_file(path)
    assert read_regular(path) is None


def test_a_plan_or_description_that_is_no_file(odd: Callable[[str], Path], tmp_path: Path) -> None:
    odd(PLAN_FILE)
    odd(RUN_FILE)
    for read in (RunFolder(tmp_path).plan, RunFolder(tmp_path).run):
        with pytest.raises(RunFolderError, match="is not a valid"):
            read()


def test_a_manifest_that_is_no_file(odd: Callable[[str], Path], tmp_path: Path) -> None:
    odd(MANIFEST_FILE)
    (told,) = alterations(RunFolder(tmp_path))
    assert told.startswith("manifest.json is invalid")


def test_a_night_or_summary_that_is_no_file(odd: Callable[[str], Path], tmp_path: Path) -> None:
    odd(NIGHT_FILE)
    odd(f"report/{SUMMARY_FILE}")
    for read in (read_night, read_summary):
        with pytest.raises(RunFolderError, match="is not a valid"):
            read(tmp_path)


def test_a_verdict_that_is_no_file(odd: Callable[[str], Path], tmp_path: Path) -> None:
    odd("report/verdict.json")
    with pytest.raises(RunFolderError, match="is not a valid verdict"):
        _verdict(RunFolder(tmp_path))


def test_a_table_that_is_no_file(odd: Callable[[str], Path], tmp_path: Path) -> None:
    path = odd("tables/polls.parquet")
    assert "is not a Parquet file" in table_files(RunFolder(tmp_path)).unreadable["polls"]
    with pytest.raises(TableError, match="table polls can't be read"):
        table_content("polls", lambda: open_regular(path))


def test_a_suite_that_is_no_file(odd: Callable[[str], Path]) -> None:
    with pytest.raises(UsageError, match="there is no suite"):
        find_suite(str(odd("suite.yml")))


def test_a_limit_of_file_sizes_is_told_as_a_full_disk_is() -> None:
    told = storage_error(OSError(errno.EFBIG, "File too large"), Path("results"))
    assert told is not None
    assert told.exit_code == 69
    assert str(told).startswith("results can't be written: File too large.")
    assert "ulimit -f unlimited" in str(told)


def test_a_file_that_can_not_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "state.json"
    replace_file(file, b"old")

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]
