"""The tables of README.md and docs/commit-epoch.md, summed up over runs."""

from pathlib import Path

import msgspec
import pytest

from contract.described import SCHEMA
from contract.errors import UsageError
from contract.verdicts import Resumption, RunVerdict, StyleRow, Verdict
from studies.commit_epochs import brief, conditions, matrix, read, summed, written


def style(name: str, epoch: int, *, groups: int, of: int, resets: str) -> StyleRow:
    """Groups that skip 100 records if they committed epoch 3; that raise if they may not reset."""
    is_skipping, is_raising = epoch == 3, resets == "none" and epoch != 3
    return StyleRow(
        style=name,
        labels={"log_end": "above"},
        committed_offset=200,
        committed_epoch=epoch,
        resets=resets.split(),
        groups=groups,
        of=of,
        resumed_at=None if is_raising else 200 if is_skipping else 100,
        redelivered=0,
        never_delivered=None if is_raising else 100 if is_skipping else 0,
        exception="LogTruncationException" if is_raising else None,
    )


def run(seed: int, *styles: StyleRow, metadata_epoch: int = 1) -> Verdict:
    told = Resumption(
        group="g",
        client="java",
        commit_epoch="record",
        reset="none",
        committed_offset=200,
        committed_epoch=1,
        resumed_at=100,
        redelivered=0,
        never_delivered=0,
        exception=None,
        metadata_epoch=metadata_epoch,
    )
    return Verdict(
        schema=SCHEMA,
        run_id=str(seed),
        scenario="commit_epoch",
        parameters={},
        seed=seed,
        kafka="4.4.0",
        clients={},
        cluster="embedded",
        verdict=RunVerdict.PASS,
        checks={},
        faults=[],
        resumption=[told],
        styles=list(styles),
        rerun="",
    )


RUNS = [
    run(
        8,
        style("record", 1, groups=2, of=3, resets="earliest latest"),
        style("record", 1, groups=1, of=3, resets="none"),
        style("metadata", 1, groups=2, of=2, resets="earliest latest"),
    ),
    run(
        7,
        style("record", 1, groups=2, of=3, resets="earliest latest"),
        style("record", 1, groups=1, of=3, resets="none"),
        style("metadata", 1, groups=1, of=2, resets="earliest"),
        style("metadata", 3, groups=1, of=2, resets="latest"),
        metadata_epoch=3,
    ),
]


def test_rows_that_are_alike_are_summed_up_over_runs() -> None:
    assert matrix(summed(RUNS)) == [
        "| above | record | 1 | 4 of 6 | earliest, latest | 100 | 0 | 0 |",
        "| above | record | 1 | 2 of 6 | none | raises LogTruncationException | 0 | - |",
        "| above | metadata | 1 | 3 of 4 | earliest, latest | 100 | 0 | 0 |",
        "| above | metadata | 3 | 1 of 4 | latest | 200 | 0 | 100 |",
    ]


def test_the_brief_table_counts_each_cell() -> None:
    lines = brief(summed(RUNS), log_end="above")
    assert [line.split(" | ", 2)[2] for line in lines] == [
        "1 in 6 of 6 | 100 in 4 of 6, raises in 2 of 6 | 0 in 4 of 6, - in 2 of 6 |",
        "1 in 3 of 4 | 100 in 3 of 3 | 0 in 3 of 3 |",
        "3 in 1 of 4 | 200 in 1 of 1 | 100 in 1 of 1 |",
    ]
    assert brief(summed(RUNS), log_end="below") == []


def test_the_runs_are_named_and_their_clients_epochs_counted() -> None:
    told = conditions(RUNS)
    assert told.startswith("2 runs (seeds 7, 8), Kafka 4.4.0; verdicts: pass 2.")
    assert "| the client's metadata | 1 in 1 of 2, 3 in 1 of 2 |" in told


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = "a\n<!-- studies.commit_epochs: m -->\nold\n<!-- end -->\nb\n<!-- end -->\n"
    wanted = page.replace("old", "new")
    assert written(page, "m", "new") == wanted
    with pytest.raises(UsageError, match="no mark"):
        written(page, "other", "new")


def test_only_verdicts_of_the_scenario_are_read(tmp_path: Path) -> None:
    for name, verdict in (
        ("a", RUNS[0]),
        ("b", msgspec.structs.replace(RUNS[1], scenario="baseline")),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "verdict.json").write_bytes(msgspec.json.encode(verdict))
    assert [verdict.seed for verdict in read([tmp_path])] == [8]
    with pytest.raises(UsageError, match="make commit-epochs"):
        read([tmp_path / "b"])
