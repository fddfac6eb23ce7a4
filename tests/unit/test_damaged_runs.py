"""A damaged run never passes and never accuses: it is refused with a clear error, or undecided."""

from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from damages import DAMAGES, copy_run, damage, wrong

from analysis.engine.duckdb import Database
from analysis.runs.load import trace_of
from analysis.runs.source import table_files
from analysis.tasks import Share, judge_here
from contract.errors import FencepostError
from contract.manifest import write_manifest
from contract.run_folder import RunFolder
from tests.traces import generated

SEED = 19902


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = generated(tmp_path_factory.mktemp("genuine") / "run")
    write_manifest(folder)
    return folder


@pytest.mark.extended
@pytest.mark.usefixtures("by_one_check")
@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damaged_run_neither_passes_nor_accuses(
    name: str, genuine: RunFolder, tmp_path: Path
) -> None:
    copy = RunFolder(tmp_path / "copy")
    copy_run(genuine, copy)
    damaged = damage(copy, name, Random(SEED))
    judged = judge_here(Share(at_once=1), copy)
    assert wrong(copy, judged.verdict) == "", damaged
    if judged.verdict is None:
        assert judged.exit_code not in (0, FencepostError.exit_code), damaged
    assert not list(copy.path.glob(".[jd]*-*")), "nothing is left beside the report"


@pytest.mark.parametrize("table", ["sends", "samples"])
@pytest.mark.parametrize("rows_in_memory", [20_000, 0])
def test_a_damaged_page_of_any_column_makes_its_table_unreadable(
    table: str,
    rows_in_memory: int,
    genuine: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether or not a rule of the contract is about it (DuckDB decodes what is asked)."""
    monkeypatch.setattr("analysis.engine.duckdb._LOADED_ROWS", rows_in_memory)
    database = Database(threads=1, memory="1GB", spill=tmp_path / "spill")
    file = genuine.tables / f"{table}.parquet"
    content = file.read_bytes()
    columns = pq.read_metadata(file).row_group(0)
    try:
        for number in range(columns.num_columns):
            chunk = columns.column(number)
            if chunk.statistics.null_count == chunk.num_values:
                continue  # a page of nulls is never read
            at = chunk.dictionary_page_offset or chunk.data_page_offset
            file.write_bytes(content[:at] + b"\xff" * 8 + content[at + 8 :])
            trace = trace_of(database.engine(), genuine, table_files(genuine))
            assert table in trace.unreadable, chunk.path_in_schema
    finally:
        file.write_bytes(content)
