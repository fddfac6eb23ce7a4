"""What judging a large trace keeps in files."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from analysis.engine import spark as spark_engine
from analysis.engine.scratch import Scratch
from analysis.engine.spark import SparkEngine
from analysis.runs.load import load_trace
from contract.run_folder import RunFolder
from simulator.history import Request, description, universes_of, write_history

pytestmark = [pytest.mark.spark, pytest.mark.extended]


def test_rows_are_kept_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.sql("select id, if(id = 1, null, array('a', 'b')) as names from range(3)")
    scratch = Scratch(tmp_path)
    kept = scratch.kept(rows)
    assert kept.rows == 3
    again = spark.read.schema(kept.schema).parquet(kept.uri)
    assert again.dtypes == rows.dtypes
    assert sorted(again.collect()) == sorted(rows.collect())
    assert kept.as_table().to_pylist() == rows.toArrow().to_pylist()


def test_no_row_has_columns_too(spark: SparkSession, tmp_path: Path) -> None:
    nothing = spark.range(3).where("id > 5")
    scratch = Scratch(tmp_path)
    kept = scratch.kept(nothing)
    assert kept.rows == 0
    assert kept.as_table().column_names == ["id"]
    assert spark.read.schema(kept.schema).parquet(kept.uri).collect() == []


def test_executors_of_a_group_may_write(spark: SparkSession, tmp_path: Path) -> None:
    umask = os.umask(0o002)
    try:
        scratch = Scratch(tmp_path)
        scratch.kept(spark.range(1))
    finally:
        os.umask(umask)
    (place,) = tmp_path.iterdir()
    assert place.stat().st_mode & 0o777 == 0o775


def test_files_are_gone_with_the_trace(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path)
    request = Request(events=2_000, seed=1)
    write_history(folder, universes_of(request), description(1, "test", "0", {}))
    before = set(tmp_path.rglob("*"))
    monkeypatch.setattr(spark_engine, "LOCAL_ROWS", 0)
    trace = load_trace(spark, folder)
    assert trace.engine.keep("kept_polls", "select * from polls", numbers={})
    kept = trace.engine.rows("select count(*) as rows from kept_polls", numbers={})
    assert kept.to_pylist() == [{"rows": trace.rows["polls"]}]
    assert set(tmp_path.rglob("*")) > before
    del trace
    gc.collect()
    assert set(tmp_path.rglob("*")) == before


def test_what_a_killed_process_left_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    holding = "import sys; from pathlib import Path; from contract.locks import HeldFolder; "
    holding += "held = HeldFolder(Path(sys.argv[1]), '.judging-'); print(held.path, flush=True); "
    gone, living = (
        subprocess.Popen(
            [sys.executable, "-c", f"{holding}sys.stdin.read()", str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    )
    left, others = (Path((one.stdout or sys.stdin).readline().strip()) for one in (gone, living))
    elsewhere = tmp_path / ".judging-x@another-host"
    elsewhere.mkdir()
    gone.kill()
    gone.communicate()
    assert left.exists()
    Scratch(tmp_path).kept(spark.range(1))
    assert not left.exists()
    assert others.exists()
    assert elsewhere.exists()
    living.communicate()


def test_each_trace_has_tables_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    engines = [SparkEngine(spark, rows=0, scratch=Scratch(tmp_path)) for _ in range(2)]
    for number, engine in enumerate(engines):
        engine.add("named", pa.table({"id": [number]}))
        engine.define("defined", "select id + 10 as id from named", numbers={})
    for number, engine in enumerate(engines):
        found = engine.rows("select * from named", "select * from defined", numbers={})
        assert found.to_pylist() == [{"id": number}, {"id": number + 10}]
    assert not spark.catalog.tableExists("named")
