"""The tree of a log is computed from tables: where branches part, and where groups stand."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages_of import changed, finding, result, run_folder, verdict_of, with_tables

from analysis.report.log_tree import log_trees
from analysis.report.log_tree.drawing import (
    COMMITS_MAX,
    PLACES_MAX,
    TREES_MAX,
    offsets_of,
    scale_of,
    simplified,
)
from analysis.report.log_tree.model import (
    Commit,
    Segment,
    Tree,
    branch_in_words,
    commit_in_words,
    commits_of,
    tree_of,
    why,
)
from analysis.report.run_facts import RunFacts
from analysis.report.timeline.source import Partition, Source
from contract.run_folder import RunFolder, TopicPlan
from contract.tables import TABLES as CONTRACT
from contract.verdicts import FINDINGS, Finding, Resumption, Verdict

SECOND = 1_000_000
Row = dict[str, Any]
HERE: Row = {"topic": "t", "partition": 0}
T0 = Partition("t", 0)


def lead(leader: int, epoch: int, at: int, isr: list[int]) -> Row:
    replicas = {"replicas": [1, 2], "isr": isr, "elr": []}
    times = {"metadata_offset": at, "at_micros": at * SECOND}
    return {**HERE, "leader": leader, "leader_epoch": epoch, **replicas, **times}


def starts(broker: int, **epochs: int) -> list[Row]:
    """E.g. `starts(1, e0=0, e3=100)`."""
    return [
        {**HERE, "broker": broker, "leader_epoch": int(name[1:]), "start_offset": start}
        for name, start in epochs.items()
    ]


def bounds(broker: int, start: int, end: int) -> Row:
    return {**HERE, "broker": broker, "log_start_offset": start, "log_end_offset": end}


def batch(broker: int, first: int, last: int, epoch: int) -> Row:
    return {
        **HERE,
        "broker": broker,
        "base_offset": first,
        "last_offset": last,
        "leader_epoch": epoch,
    }


def resumed(group: str = "java.g", **fields: Any) -> Resumption:
    values: dict[str, Any] = {
        "group": group,
        "client": "java",
        "commit_epoch": "record",
        "reset": "earliest",
        "committed_offset": 200,
        "committed_epoch": 1,
        "resumed_at": 100,
        "redelivered": 0,
        "never_delivered": 0,
        "exception": None,
        **HERE,
    }
    return Resumption(**values | fields)


# Broker 1 leads epoch 1 and is truncated to 100, where epoch 3 of broker 2 begins.
TABLES: dict[str, list[Row]] = {
    "leaderships": [
        lead(2, 0, 1, [2, 1]),
        lead(1, 1, 2, [1]),
        lead(-1, 2, 3, []),
        lead(2, 3, 4, [2]),
    ],
    "epoch_checkpoints": [*starts(1, e0=0, e1=50, e3=100), *starts(2, e0=0, e1=50, e3=100)],
    "log_starts": [bounds(1, 0, 350), bounds(2, 0, 350)],
    "truncations": [{**HERE, "broker": 1, "to_offset": 100, "at_micros": 8 * SECOND}],
    "cut_batches": [batch(1, 100, 149, 1), batch(1, 150, 199, 1)],
}


def made(path: Path, **tables: list[Row]) -> RunFolder:
    others: dict[str, list[Row]] = {name: [] for name in CONTRACT}
    return with_tables(run_folder(path), **others | TABLES | tables)


def verdict(*rows: Resumption, findings: list[Finding] | None = None) -> Verdict:
    checks = {one.check: result(one) for one in findings or []}
    return changed(verdict_of(checks), resumption=list(rows))


def tree(folder: RunFolder) -> Tree:
    found = tree_of(Source(RunFacts(folder), verdict()), T0)
    assert found is not None
    return found


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - made here
    return [one.text or "" for one in root.iter() if one.tag.endswith("}text")]


def test_a_truncated_branch_parts_where_the_new_epoch_begins(tmp_path: Path) -> None:
    found = tree(made(tmp_path))
    assert [(one.epoch, one.begin, one.end) for one in found.main] == [
        (0, 0, 50),
        (1, 50, 100),
        (3, 100, 350),
    ]
    assert found.broker == 2
    (branch,) = found.branches
    assert (branch.fork, branch.segments, branch.brokers) == (100, (Segment(1, 100, 200, 1),), (1,))
    assert branch_in_words(branch) == (
        "epoch 1: offsets 100 to 199 at least, truncated by broker 1 at +8.000 s"
    )


@pytest.mark.parametrize(("missing", "broker"), [("faults", 2), ("leaderships", 1)])
def test_a_tree_does_without_the_tables_of_elections(
    tmp_path: Path, missing: str, broker: int
) -> None:
    folder = made(tmp_path)
    (folder.tables / f"{missing}.parquet").unlink()
    found = tree(folder)
    assert (found.broker, found.log_end) == (broker, 350)
    assert [one.epoch for one in found.leaderships] == ([] if broker == 1 else [0, 1, 2, 3])


def test_what_was_not_kept_before_a_truncation_is_not_known(tmp_path: Path) -> None:
    (branch,) = tree(made(tmp_path, cut_batches=[])).branches
    assert branch.segments == (Segment(1, 100, None, 1),)
    assert branch_in_words(branch).endswith("what was removed is not known")


def test_the_same_records_removed_from_two_replicas_are_one_branch(tmp_path: Path) -> None:
    batches = [batch(1, 100, 199, 1), batch(3, 100, 199, 1)]
    (branch,) = tree(made(tmp_path, cut_batches=batches)).branches
    assert branch.brokers == (1, 3)


def test_a_replica_that_differs_at_the_end_is_a_branch(tmp_path: Path) -> None:
    epochs = [*starts(1, e0=0, e1=50), *starts(2, e0=0, e1=50, e3=100)]
    ends = [bounds(1, 0, 170), bounds(2, 0, 350)]
    folder = made(
        tmp_path, epoch_checkpoints=epochs, log_starts=ends, truncations=[], cut_batches=[]
    )
    (branch,) = tree(folder).branches
    assert branch_in_words(branch) == "epoch 1: offsets 100 to 169, still on broker 1 at the end"


def test_a_replica_that_is_only_behind_is_no_branch(tmp_path: Path) -> None:
    epochs = [*starts(1, e0=0, e1=50), *starts(2, e0=0, e1=50, e3=100)]
    ends = [bounds(1, 0, 90), bounds(2, 0, 350)]
    folder = made(
        tmp_path, epoch_checkpoints=epochs, log_starts=ends, truncations=[], cut_batches=[]
    )
    assert tree(folder).branches == ()


def test_a_partition_without_epochs_has_no_tree(tmp_path: Path) -> None:
    folder = made(tmp_path, epoch_checkpoints=[])
    assert tree_of(Source(RunFacts(folder), verdict()), T0) is None


def test_an_election_is_unclean_as_the_fact_of_elections_has_it(tmp_path: Path) -> None:
    """A reassignment may elect a leader from outside of the ISR."""
    found = [one for one in tree(made(tmp_path / "a")).leaderships if one.is_unclean]
    assert [one.epoch for one in found] == [3]
    states = [*TABLES["leaderships"][:3], {**lead(2, 3, 4, [2]), "replicas": [2]}]
    moved = tree(made(tmp_path / "b", leaderships=states))
    assert not any(one.is_unclean for one in moved.leaderships)


def test_a_topic_that_was_created_again_had_no_unclean_election(tmp_path: Path) -> None:
    first, again = [lead(1, 0, 1, [1])], [lead(2, 0, 2, [2])]
    ids = [row | {"topic_id": "a"} for row in first] + [row | {"topic_id": "b"} for row in again]
    (only,) = tree(made(tmp_path, leaderships=ids)).leaderships
    assert (only.leader, only.is_unclean) == (2, False)


def test_groups_that_committed_and_continued_in_the_same_way_are_one_row(tmp_path: Path) -> None:
    rows = [resumed("a"), resumed("b", commit_epoch="max"), resumed("c", resumed_at=200)]
    folder = made(tmp_path)
    source = Source(RunFacts(folder), verdict(*rows))
    found = commits_of(source, tree(folder))
    assert [one.groups for one in found] == [("a", "b"), ("c",)]
    assert commit_in_words(found[0]) == (
        "2 groups (java: max, record): commit (200, epoch 1), resumes at 100"
    )


def test_without_a_resumption_the_last_stored_commit_counts(tmp_path: Path) -> None:
    stored = [
        {**HERE, "group": "java.g", "offset": offset, "committed_epoch": 0}
        | {"offsets_offset": offset, "committed_micros": offset, "is_tombstone": False}
        for offset in (40, 30)
    ]
    folder = made(tmp_path, committed_offsets=stored)
    (only,) = commits_of(Source(RunFacts(folder), verdict()), tree(folder))
    assert commit_in_words(only) == "group java.g: commit (40, epoch 0)"


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        (
            {},
            "Epoch 1 ends at 100 in the surviving log: the commit is 100 records beyond it.",
        ),
        (
            {"committed_epoch": -1},
            "A commit without an epoch cannot be compared with the log.",
        ),
        (
            {"committed_epoch": 7},
            "The surviving log has no epoch as high as 7.",
        ),
        (
            {"committed_epoch": 3, "record_epoch": 1},
            (
                "Epoch 3 reaches to 350 in the surviving log: the commit is within it. The last "
                "record that was polled has epoch 1."
            ),
        ),
    ],
)
def test_each_row_says_what_the_epoch_of_the_commit_shows(
    tmp_path: Path, fields: dict[str, Any], reported: str
) -> None:
    folder = made(tmp_path)
    (only,) = commits_of(Source(RunFacts(folder), verdict(resumed(**fields))), tree(folder))
    assert why(only, tree(folder)) == reported
    (drawn,) = log_trees(RunFacts(folder), verdict(resumed(**fields)))
    assert reported in " ".join(texts(drawn.svg))


def test_skipped_offsets_come_from_every_finding_not_from_the_examples(tmp_path: Path) -> None:
    folder = made(tmp_path)
    skip = finding("skipped_record", group="java.g", offset_first=100, offset_last=199)
    row = {**msgspec.to_builtins(skip), "number": 11, "evidence": "{}"}
    pq.write_table(pa.Table.from_pylist([row], schema=FINDINGS), folder.report / "findings.parquet")
    lost = resumed(resumed_at=200, never_delivered=100)
    (only,) = commits_of(Source(RunFacts(folder), verdict(lost)), tree(folder))
    assert only.skipped == (100, 199)
    (drawn,) = log_trees(RunFacts(folder), verdict(lost))
    assert "never delivered: 100 to 199" in drawn.svg


def test_the_picture_changes_with_the_tables(tmp_path: Path) -> None:
    (before,) = log_trees(RunFacts(made(tmp_path / "a")), verdict(resumed()))
    (after,) = log_trees(
        RunFacts(made(tmp_path / "b", cut_batches=[batch(1, 100, 179, 1)])), verdict(resumed())
    )
    reported = "epoch 1: offsets 100 to {} at least, truncated by broker 1"
    assert reported.format(199) in " ".join(texts(before.svg))
    assert reported.format(179) in " ".join(texts(after.svg))
    assert {"0", "50", "100", "200", "350"} <= set(texts(before.svg))
    assert "2 none, 3 broker 2 (unclean election)" in " ".join(texts(before.svg))


def test_records_below_the_log_start_are_shown_as_deleted(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        epoch_checkpoints=starts(2, e1=60, e3=100),
        log_starts=[bounds(2, 60, 350)],
    )
    (drawn,) = log_trees(RunFacts(folder), verdict(resumed(committed_offset=20)))
    assert "below the log start 60" in drawn.svg
    assert "The log starts at 60: offsets 20 to 59 are deleted." in texts(drawn.svg)


def test_partitions_are_shown_for_truncations_and_for_findings(tmp_path: Path) -> None:
    quiet = made(tmp_path, truncations=[], cut_batches=[])
    assert log_trees(RunFacts(quiet), verdict()) == []
    assert len(log_trees(RunFacts(quiet), verdict(findings=[finding()]))) == 1
    assert log_trees(RunFacts(quiet), verdict(findings=[finding("duplicate_delivery")])) == []
    one_epoch = made(tmp_path, epoch_checkpoints=starts(2, e0=0), truncations=[], cut_batches=[])
    assert log_trees(RunFacts(one_epoch), verdict(findings=[finding()])) == []


def test_texts_are_escaped_and_the_picture_has_a_title_and_a_description(tmp_path: Path) -> None:
    evil = '</svg><img src=x onerror="alert(1)">'
    folder = made(tmp_path)
    (drawn,) = log_trees(RunFacts(folder), verdict(resumed(evil, exception=evil, resumed_at=None)))
    assert "<img" not in drawn.svg
    root = ET.fromstring(drawn.svg)  # noqa: S314 - made here
    named = re.split(r"\s+", root.attrib["aria-labelledby"])
    reported = {one.attrib["id"]: one.text for one in root.iter() if one.attrib.get("id") in named}
    assert reported["fp-tree-1-title"] == "The log of t-0 as a tree of epochs"
    assert "A branch at offset 100" in str(reported["fp-tree-1-desc"])


def test_a_long_log_joins_epochs_that_no_branch_and_no_commit_needs(tmp_path: Path) -> None:
    epochs = {f"e{number}": number * 10 for number in range(60)}
    folder = made(
        tmp_path,
        epoch_checkpoints=starts(2, **epochs),
        log_starts=[bounds(2, 0, 600)],
        cut_batches=[batch(1, 300, 340, 29)],
    )
    found = tree(folder)
    main = simplified(found, [])
    assert len(offsets_of(found, main, [])) <= PLACES_MAX
    assert 300 in {one.begin for one in main}
    assert [one.end for one in main[:-1]] == [one.begin for one in main[1:]]
    assert (main[0].begin, main[-1].end) == (0, 600)


def test_places_keep_the_order_of_offsets_and_leave_room_for_labels() -> None:
    scale = scale_of({0, 50, 1_000_000, 1_000_001}, 0, 900)
    gaps = [after - before for before, after in zip(scale.places, scale.places[1:], strict=False)]
    assert min(gaps) >= 60
    assert (scale.places[0], round(scale.places[-1])) == (0, 900)
    assert scale.x(25) == pytest.approx(scale.places[1] / 2)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = [resumed(f"g{number}", committed_offset=100 + number) for number in range(9)]
    (drawn,) = log_trees(RunFacts(made(tmp_path / "a")), verdict(*rows))
    assert f"{9 - COMMITS_MAX} other kinds of commits are not drawn." in texts(drawn.svg)
    folder = run_folder(tmp_path / "b")
    topic = TopicPlan(topic="t", partitions=5, replication=2, min_insync=1, unclean_election=False)
    folder.write_plan(msgspec.structs.replace(folder.plan(), topics=[topic]))
    tables = {
        name: [row | {"partition": number} for row in some for number in range(5)]
        for name, some in ({name: [] for name in CONTRACT} | TABLES).items()
    }
    trees = log_trees(RunFacts(with_tables(folder, **tables)), verdict())
    assert (len(trees), trees[-1].left) == (TREES_MAX, 5 - TREES_MAX)


def test_a_commit_of_many_styles_names_each_client_once() -> None:
    commit = Commit(1, 0, ("a", "b"), (("java", "max"), ("java", "record")), 1, None, 0, 0, 0, None)
    assert commit.names == "2 groups (java: max, record)"
