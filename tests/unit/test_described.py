"""A description of a form that this release does not know is refused by name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pages_of import changed, run_folder, verdict_of

from analysis.report.explain import _verdict
from contract.comparisons import COMPARISON_FILE, Comparison, read_comparison
from contract.described import SCHEMA, read_described
from contract.errors import RunFolderError
from contract.manifest import MANIFEST_FILE, Manifest
from contract.nights import NIGHT_FILE, Night, read_night
from contract.run_folder import RUN_FILE, RunFolder
from contract.verdicts import RunVerdict
from tests.descriptions import description_of

NIGHT = Night(
    schema=SCHEMA + 1,
    suite="smoke",
    suite_sha256="0",
    description="",
    cluster="embedded",
    seed=1,
    command="",
    started_micros=1,
    runs=[],
)
UNKNOWN = "has schema 2, and this release knows schema 1 only: use the release that wrote it"


def written(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.encode(content))
    return file


def test_a_manifest_of_another_form(tmp_path: Path) -> None:
    file = written(tmp_path / MANIFEST_FILE, Manifest(schema=SCHEMA + 1, files={}))
    with pytest.raises(RunFolderError, match=f"{file} {UNKNOWN}"):
        read_described(file, Manifest)


def test_a_night_of_another_form(tmp_path: Path) -> None:
    file = written(tmp_path / NIGHT_FILE, NIGHT)
    with pytest.raises(RunFolderError, match=f"{file} {UNKNOWN}"):
        read_night(tmp_path)


def test_a_verdict_of_another_form(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    verdict = changed(verdict_of({}, verdict=RunVerdict.PASS), schema=SCHEMA + 1)
    written(folder.report / "verdict.json", verdict)
    with pytest.raises(RunFolderError, match=UNKNOWN):
        _verdict(folder)


def test_a_comparison_of_another_form(tmp_path: Path) -> None:
    comparison = Comparison(schema=SCHEMA + 1, scenario="s", parameters={}, builds={}, sides={})
    file = written(tmp_path / COMPARISON_FILE, comparison)
    with pytest.raises(RunFolderError, match=f"{file} {UNKNOWN}"):
        read_comparison(tmp_path)


@pytest.mark.parametrize("key", ["seed", "started_micros"])
def test_a_description_with_a_key_twice_is_refused(tmp_path: Path, key: str) -> None:
    folder = RunFolder(tmp_path)
    folder.write_run(description_of())
    file = tmp_path / RUN_FILE
    file.write_text(file.read_text().replace("{", f'{{"{key}": 2, "{key}": 3,', 1))
    with pytest.raises(RunFolderError, match=f"the key '{key}' is there twice"):
        folder.run()
