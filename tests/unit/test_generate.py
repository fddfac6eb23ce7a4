"""The simulator of histories: the same seed, the contract's schemas, and what a clean one obeys."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from contract.errors import UsageError
from contract.run_folder import RunFolder
from contract.tables import TABLES
from harness.cli import program
from harness.commands import generate
from simulator.history import (
    Generated,
    Request,
    description,
    universes_of,
    write_history,
)
from simulator.universe import Universe
from tests.records import as_rows

EVENTS = 2_000


def write(path: Path, **asked: Any) -> Generated:
    request = Request(**{"events": EVENTS, "seed": 7} | asked)
    return write_history(
        RunFolder(path), universes_of(request), description(request.seed, "test", "0", {})
    )


def tables(path: Path) -> dict[str, pd.DataFrame]:
    files = {name: path / "tables" / f"{name}.parquet" for name in TABLES}
    return {name: as_rows(name, pq.read_table(file)).to_pandas() for name, file in files.items()}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    path = tmp_path_factory.mktemp("clean")
    write(path)
    return tables(path)


def test_the_same_seed_makes_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name)
    for file in sorted((tmp_path / "one").rglob("*.*")):
        other = tmp_path / "two" / file.relative_to(tmp_path / "one")
        assert file.read_bytes() == other.read_bytes(), file.name


def test_another_seed_makes_another_history(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", seed=8)
    one, two = tables(tmp_path / "one"), tables(tmp_path / "two")
    assert not one["leaderships"].equals(two["leaderships"])


def test_a_request_that_differs_makes_another_run(tmp_path: Path) -> None:
    """Else tables of the one would be taken for those of the other."""
    asked = ((), ("--seed", "1"), ("--events", "3000"), ("--kind", "unhealthy"))
    identities = set()
    for number, options in enumerate(asked):
        folder = tmp_path / str(number)
        words = ["generate", str(folder), "--events", "2000", *options]
        assert CliRunner().invoke(program(), words).exit_code == 0
        identities.add(RunFolder(folder).run().identity)
    assert len(identities) == len(asked)


def test_every_table_has_the_contracts_schema(tmp_path: Path) -> None:
    write(tmp_path)
    for name, schema in TABLES.items():
        assert pq.read_schema(tmp_path / "tables" / f"{name}.parquet").equals(schema), name


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        (1_000, "clean"),
        (50_000, "clean"),
        (2_000, "unhealthy"),
        (50_000, "unhealthy"),
        (12_000, "fragmented"),
    ],
)
@pytest.mark.extended
def test_a_history_is_about_as_long_as_asked(tmp_path: Path, events: int, kind: str) -> None:
    made = write(tmp_path, events=events, kind=kind)
    assert made.events == pytest.approx(events, rel=0.1)


def test_groups_of_an_unhealthy_history_read_everything_three_times(tmp_path: Path) -> None:
    write(tmp_path, events=30_000, kind="unhealthy")
    made = tables(tmp_path)
    log = made["replica_records"].drop_duplicates("value")
    times = made["polls"].groupby(["group", "value"]).size()
    assert (times == 3).all()
    assert len(times) == len(log) * made["polls"]["group"].nunique()
    assert made["polls"].groupby(["group", "partition", "seq"]).size().max() <= 500
    begun = made["resets"].groupby(["group", "partition"])["to_offset"].agg(["size", "max"])
    assert set(begun["size"]) == {3}
    assert set(begun["max"]) == {0}


def test_records_of_a_fragmented_history_form_few_ranges(tmp_path: Path) -> None:
    made = write(tmp_path, events=12_000, kind="fragmented")
    for table in ("sends", "polls", "replica_records"):
        ranges = pq.read_metadata(tmp_path / "tables" / f"{table}.parquet").num_rows
        assert ranges > 0.95 * made.rows[table], table
    rows = tables(tmp_path)
    assert (rows["replica_batches"]["record_count"] == 1).all()
    sends = rows["sends"].sort_values("sequence")
    assert list(sends["sequence"]) == list(range(len(sends)))
    assert sends["partition"].nunique() == 60
    assert (sends["partition"].diff() == 0).mean() < 0.05


def test_tables_are_sorted_by_where_a_record_lies(clean: dict[str, pd.DataFrame]) -> None:
    for name in ("sends", "polls", "replica_records"):
        known = clean[name][clean[name]["offset"].notna()]
        where = list(known[["topic", "partition"]].itertuples(index=False, name=None))
        assert where == sorted(where), name


def test_a_clean_history_has_what_its_checks_are_about(clean: dict[str, pd.DataFrame]) -> None:
    """That nothing in it is wrong, test_generated.py says."""
    bounds = clean["log_starts"].drop_duplicates(["topic", "partition"])
    sends = clean["sends"].merge(bounds, on=["topic", "partition"])
    assert (sends["offset"] < sends["log_start_offset"]).sum() > 50
    assert ((sends["acks"] == "all") & (sends["offset"] >= sends["log_start_offset"])).sum() > 100
    assert len(clean["committed_offsets"]) > 100
    assert clean["leaderships"]["leader_epoch"].max() > 0
    steps = clean["transactions"]
    committed = ((steps["step"] == "commit") & (steps["outcome"] == "ok")).sum()
    assert 0 < committed < steps["step"].eq("begin").sum()


def test_a_transaction_and_a_metadata_log_go_on_from_topic_to_topic(tmp_path: Path) -> None:
    write(tmp_path, events=5_000)
    made = tables(tmp_path)
    offsets = [*made["leaderships"]["metadata_offset"], *made["broker_states"]["metadata_offset"]]
    assert sorted(offsets) == list(range(min(offsets), max(offsets) + 1))
    stored = made["committed_offsets"]
    assert not stored.duplicated(["offsets_partition", "offsets_offset"]).any()


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ({"events": 10}, "--events"),
        ({"kind": "nonsense"}, "unhealthy"),
        ({"kind": "fragmented"}, "fragmented needs --events"),
    ],
)
def test_a_wrong_request_is_reported(tmp_path: Path, asked: dict[str, Any], reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        write(tmp_path, **asked)


def test_a_history_that_is_broken_off_leaves_no_empty_folder(tmp_path: Path) -> None:
    def universes() -> Iterator[Universe]:
        yield from ()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_history(RunFolder(tmp_path), universes(), description(0, "", "", {}, run_id="x"))
    assert list(tmp_path.iterdir()) == []


def test_a_second_interrupt_while_tables_are_closed_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[int] = []

    def interrupted(*_: object) -> None:
        for number in (1, 2):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                came.append(number)
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(generate, "write_history", interrupted)
    try:
        ended = CliRunner().invoke(program(), ["generate", str(tmp_path / "new")])
    finally:
        signal.signal(signal.SIGINT, usual)
    assert ended.exit_code != 0
    assert came == [1]


def test_the_command_spares_other_files(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    refused = CliRunner().invoke(program(), ["generate", str(tmp_path)])
    assert isinstance(refused.exception, UsageError)
    reported = CliRunner().invoke(
        program(), ["generate", str(tmp_path / "new"), "--events", "1500"]
    )
    assert reported.exit_code == 0
    assert "1," in reported.stdout
    asked = ["generate", str(tmp_path / "other"), "--events", "1500", "--kind", "unhealthy"]
    assert CliRunner().invoke(program(), asked).exit_code == 0
    assert RunFolder(tmp_path / "other").plan().topics[0].topic.endswith("unhealthy")
