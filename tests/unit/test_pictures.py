"""The timeline and the trees of logs are computed from tables, and drawn by a script of a page."""

import re
from collections.abc import Iterator
from math import sin
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pages_of import (
    PERMITTED,
    change_verdict,
    finding,
    make_send,
    phase,
    result,
    run_folder,
    verdict_of,
    with_tables,
)
from pages_of import make_resumption as resumed_of

from analysis.report.pictures.source import SUBJECTS_MAX, Partition, Source
from analysis.report.pictures.timeline import POINTS_MAX, select, timeline
from analysis.report.pictures.tree import (
    COMMITS_MAX,
    TREES_MAX,
    Tree,
    branch_in_words,
    commit_in_words,
    commits_of,
    log_trees,
    tree_of,
    why,
)
from analysis.report.run_facts import RunFacts
from contract.run_folder import RunFolder, TopicPlan
from contract.tables import TABLES as CONTRACT
from contract.verdicts import FINDINGS, Finding, Resumption, Verdict
from tests import golden

SECOND = 1_000_000
Row = dict[str, Any]
Rows = dict[str, list[Row]]
HERE: Row = {"topic": "t", "partition": 0}
T0 = Partition("t", 0)


def lead(leader: int, epoch: int, at: int, isr: list[int], elr: list[int] | None = None) -> Row:
    replicas = {"replicas": [1, 2], "isr": isr, "elr": elr or []}
    times = {"metadata_offset": at, "at_micros": at * SECOND}
    return {**HERE, "leader": leader, "leader_epoch": epoch, **replicas, **times}


def fault(*seconds: int | None, name: str = "kill") -> Row:
    times = ("injected", "proved", "heal_began", "healed")
    micros = [None if second is None else second * SECOND for second in seconds]
    named = dict(zip((f"{what}_micros" for what in times), micros, strict=True))
    target = {"target_kind": "leader", "topic": "orders", "partition": 0, "brokers": [1]}
    target["transactional_ids"] = []
    return {"fault": name, **target, "landed": True, "evidence": "{}", **named}


def poll(first: int, last: int, at: int, group: str = "java.g", **fields: Any) -> Row:
    span = {"first_offset": first, "last_offset": last, "polled_micros": at * SECOND}
    return {**HERE, "group": group, "member": f"{group}#1", "seq": at, **span, **fields}


def commit_row(offset: int, epoch: int, at: int, group: str = "java.g") -> Row:
    place = {"offsets_offset": at, "committed_micros": at * SECOND, "is_tombstone": False}
    return {**HERE, "group": group, "offset": offset, "committed_epoch": epoch, **place}


def event(change: str, at: int, **fields: Any) -> Row:
    row = {"group": "java.g", "member": "java.g#1", "change": change, "topic": "", "partition": -1}
    return {**row, "generation": 1, "seq": at, "at_micros": at * SECOND, **fields}


def sample(end: int, at: int, broker: int = 1, start: int = 0) -> Row:
    offsets = {"log_start_offset": start, "log_end_offset": end, "at_micros": at * SECOND}
    return {**HERE, "broker": broker, "leader": broker, "leader_epoch": 0, "isr": [1], **offsets}


def state(at: int, *, fenced: bool) -> Row:
    place = {"metadata_offset": at, "at_micros": at * SECOND}
    return {"broker": 1, "is_fenced": fenced, "in_controlled_shutdown": False, **place}


def election_row(leader: int, epoch: int, at: int) -> Row:
    return {"server": 1, "leader": leader, "metadata_epoch": epoch, "at_micros": at * SECOND}


TABLES: Rows = {
    "phases": [phase("writes", SECOND, 30 * SECOND)],
    "faults": [fault(10, 12, 18, 20)],
    "leaderships": [lead(1, 0, 1, [1, 2]), lead(2, 1, 11, [2], [1])],
    "sends": [make_send(0, 9), make_send(10, 19, answered_micros=13 * SECOND)],
    "polls": [poll(0, 9, 3), poll(10, 19, 14)],
    "committed_offsets": [commit_row(10, 0, 4), commit_row(20, 1, 15)],
    "group_events": [
        event("opened", 2),
        event("assigned", 3, **HERE),
        event("revoked", 16, **HERE),
        event("closed", 17),
    ],
    "samples": [sample(10, 5), sample(20, 14, broker=2)],
}
# All that has a lane: a member resets its position and fails, another group reads three partitions.
WHOLE: Rows = {
    **TABLES,
    "notes": [{"text": "the cache is cold", "at_micros": 12 * SECOND}],
    "faults": [
        fault(10, 12, 18, 20),
        fault(21, None, None, None, name="pause"),
        fault(21, None, 25, 26, name="slow"),
        fault(21, 23, None, None, name="stop"),
        fault(21, 23, None, 26, name="bounce"),
    ],
    "sends": [
        *TABLES["sends"],
        make_send(20, 24, outcome="failed", error="NotLeader", answered_micros=15 * SECOND),
        make_send(25, 25, outcome="unknown", intended_micros=15 * SECOND, answered_micros=None),
        make_send(
            26, 26, acks="1", intended_micros=15 * SECOND, answered_micros=15 * SECOND + 70_000
        ),
    ],
    "metadata_batches": [election_row(1, 1, 1), election_row(3, 2, 12)],
    "broker_states": [
        state(1, fenced=True),
        state(2, fenced=False),
        state(13, fenced=True),
        state(16, fenced=False),
    ],
    "truncations": [{**HERE, "broker": 2, "to_offset": 7, "at_micros": 15 * SECOND}],
    "samples": [sample(10, 5), sample(20, 14, broker=2, start=4)],
    "resets": [
        event("", 16, **HERE, cause="truncation", policy="none", from_offset=20, to_offset=7)
    ],
    "polls": [
        *TABLES["polls"],
        *(poll(0, 4, 15, group="librdkafka.g") | {"partition": number} for number in range(3)),
    ],
    "group_events": [
        *TABLES["group_events"],
        event("failed", 17, **HERE, exception="LogTruncationException", message="at 7"),
    ],
}


def write_run(path: Path, tables: Rows = TABLES, **more: list[Row]) -> RunFolder:
    others: Rows = {name: [] for name in CONTRACT}
    return with_tables(run_folder(path), **others | tables | more)


def verdict(*findings: Finding, resumption: tuple[Resumption, ...] = ()) -> Verdict:
    checks = {found.check: result(found) for found in findings}
    return change_verdict(verdict_of(checks), resumption=list(resumption))


def data(folder: RunFolder, *findings: Finding) -> Any:
    html = timeline(RunFacts(folder), verdict(*findings))
    found = re.search(r'class="fp-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return msgspec.json.decode(found[1])


def lanes(folder: RunFolder, *findings: Finding) -> dict[str, Row]:
    return {lane["title"]: lane for lane in data(folder, *findings)["lanes"]}


def mark(lane: Row, **wanted: Any) -> Row:
    (only,) = [drawn for drawn in lane["marks"] if wanted.items() <= drawn.items()]
    return dict(only)


def outline(content: Any) -> Iterator[str]:
    """The data of a timeline, a line for each mark; of a line of 120 bins only where it changes."""
    yield from (f"{name}: {content[name]}" for name in content if name != "lanes")
    for lane in content["lanes"]:
        yield f"{lane['title']}, of {lane['subject'] or 'the run'}: {lane['rows']} {lane['keys']}"
        for drawn in lane["marks"]:
            yield f"  {drawn['kind']} {drawn['name']}, {drawn['color']}"
            before = None
            for at, (x, y) in enumerate(zip(drawn["x"], drawn["y"], strict=True)):
                rest = [
                    drawn[name][at] for name in ("end", "hover", "label", "link") if name in drawn
                ]
                if rest or y != before:
                    yield f"    {x} {y} {rest or ''}".rstrip()
                before = y


def test_golden_lanes(tmp_path: Path) -> None:
    found = [
        finding(at=13 * SECOND),
        finding("reset", verdict=PERMITTED, at=99 * SECOND, cause="behind the end"),
        finding("skipped_record", group="java.g", at=None, offset_first=9, offset_last=9),
    ]
    text = "\n".join(outline(data(write_run(tmp_path, WHOLE), *found)))
    assert golden.is_golden("timeline.txt", text)


@pytest.mark.parametrize("missing", sorted({*WHOLE} - {"notes"}))
def test_a_missing_table_takes_only_its_marks(tmp_path: Path, missing: str) -> None:
    folder = write_run(tmp_path, WHOLE)

    def shown_marks() -> set[tuple[str, str]]:
        return {
            (name.partition(": ")[2] or name, drawn["name"])
            for name, lane in lanes(folder).items()
            for drawn in lane["marks"]
        }

    whole = shown_marks()
    (folder.tables / f"{missing}.parquet").write_bytes(b"no Parquet")
    gone = {
        "broker_states": {("brokers out of service", "fenced")},
        "committed_offsets": {("position", "commit (offset, epoch)")},
        "metadata_batches": {("active controller", "")},
        "truncations": {("leader and replicas", "truncates"), ("offsets", "truncated to")},
    }
    assert shown_marks() < whole
    assert whole - shown_marks() == gone.get(missing, whole - shown_marks())


def test_a_run_without_tables_has_no_timeline(tmp_path: Path) -> None:
    assert timeline(RunFacts(run_folder(tmp_path)), verdict()) == ""
    folder = with_tables(run_folder(tmp_path), phases=TABLES["phases"])
    assert list(lanes(folder)) == ["phases"]


def test_times_count_from_the_first_fault_and_else_from_the_start(tmp_path: Path) -> None:
    with_fault = data(
        write_run(tmp_path / "a", faults=[fault(14, 15, 16, 17), fault(10, 12, 18, 20)])
    )
    without = data(write_run(tmp_path / "b", faults=[]))
    assert (with_fault["zero_ms"], without["zero_ms"]) == (10_000, 0)
    assert without["axis"] == "seconds since the start of the run"
    assert (with_fault["bands"], without["bands"]) == ([[2, 8]], [])


def test_commits_are_thinned_but_the_ends_of_each_epoch_stay(tmp_path: Path) -> None:
    commits = [commit_row(place, place // 700, place) for place in range(1_000)]
    lane = lanes(write_run(tmp_path, committed_offsets=commits))["java.g on t-0: position"]
    shown = mark(lane, kind="diamond")
    assert len(shown["x"]) <= 100
    assert {0, 699, 700, 999} <= set(shown["y"])
    assert "one of 1000 commits" in shown["hover"][0]


def test_a_lag_is_that_of_what_was_delivered_though_more_was_committed(tmp_path: Path) -> None:
    def each(row: Row, partitions: int) -> list[Row]:
        return [row | {"partition": number} for number in range(partitions)]

    commits = [commit_row(5, 0, 16 + number) | {"partition": number} for number in range(3)]
    folder = write_run(
        tmp_path,
        polls=each(poll(0, 4, 15), 2),
        committed_offsets=commits,
        samples=each(sample(20, 14), 3),
        sends=[],
    )
    lane = lanes(folder)["java.g: lag in records over 3 partitions"]
    assert mark(lane, name="lag")["y"][-1] == 2 * 15


def test_a_revoked_member_owns_nothing_though_its_clock_steps_back(tmp_path: Path) -> None:
    events = [
        event("opened", 2),
        event("assigned", 3, **HERE, at_micros=18 * SECOND),
        event("revoked", 4, **HERE, at_micros=16 * SECOND),
        event("closed", 17),
    ]
    lane = lanes(write_run(tmp_path, group_events=events))["java.g: members"]
    assert [drawn["kind"] for drawn in lane["marks"]] == ["bar"]


@pytest.mark.parametrize(
    ("polls", "at"),
    [
        ([poll(0, 1, 11), poll(4, 9, 13), poll(10, 12, 15)], 13),
        ([poll(0, 9, 11), poll(0, 9, 14), poll(10, 12, 15)], 14),
    ],
    ids=["skipped", "delivered twice"],
)
def test_a_finding_stands_at_a_delivery(tmp_path: Path, polls: list[Row], at: int) -> None:
    folder = write_run(tmp_path, polls=polls)
    lane = lanes(folder, finding("skipped_record", group="java.g", at=None))["findings"]
    assert lane["marks"][0]["x"] == [at - 10]


def test_a_long_line_keeps_what_it_looks_like(tmp_path: Path) -> None:
    ends = [1_000 + round(500 * sin(at / 200)) for at in range(4_000)]
    ends[1_721], ends[2_800] = 9_000, 1
    rows = [{**sample(end, 0), "at_micros": at * 7_000} for at, end in enumerate(ends)]
    lane = lanes(write_run(tmp_path, samples=rows))["t-0: offsets"]
    line = mark(lane, name="high watermark of broker 1")
    assert len(line["x"]) <= 64
    assert (line["x"][0], line["x"][-1]) == (-10, 17.993)
    assert {9_000, 1} <= set(line["y"])
    assert line["x"] == sorted(line["x"])


def test_a_step_line_needs_only_its_changes_and_its_end(tmp_path: Path) -> None:
    rows = [sample(end, at) for at, end in enumerate((1, 1, 1, 5, 5, 5))]
    line = mark(
        lanes(write_run(tmp_path, samples=rows))["t-0: offsets"], name="high watermark of broker 1"
    )
    assert (line["x"], line["y"]) == ([-10, -7, -5], [1, 5, 5])


# What is shown at first, and how much.


def chosen_of(folder: RunFolder, *findings: Finding) -> Any:
    return select(Source(RunFacts(folder), verdict(*findings)))


def test_partitions_and_groups_of_findings_are_shown_and_others_by_a_click(tmp_path: Path) -> None:
    other = [lead(1, 0, 1, [1, 2]) | {"topic": "other"}]
    both = [*TABLES["polls"], poll(0, 9, 3, group="librdkafka.g")]
    folder = write_run(tmp_path, leaderships=[*TABLES["leaderships"], *other], polls=both)
    found = finding(topic="other", partition=0, group="librdkafka.g")
    assert chosen_of(folder, found).choices == {
        "partitions": [("other-0", "partition other-0", True), ("t-0", "partition t-0", False)],
        "groups": [
            ("librdkafka.g", "group librdkafka.g", True),
            ("java.g", "group java.g", False),
        ],
    }


def with_partitions(path: Path, partitions: int, tables: Rows) -> RunFolder:
    topic = TopicPlan(
        topic="t", partitions=partitions, replication=2, min_insync=1, unclean_election=False
    )
    folder = run_folder(path)
    folder.write_plan(msgspec.structs.replace(folder.plan(), topics=[topic]))
    each = {
        name: [row | {"partition": number} for row in rows for number in range(partitions)]
        for name, rows in tables.items()
    }
    return with_tables(folder, **{name: [] for name in CONTRACT} | each)


def test_a_long_run_has_no_more_points_than_can_be_drawn(tmp_path: Path) -> None:
    steps = range(100)
    tables = {
        "leaderships": [lead(1 + step % 2, step, step, [1, 2]) for step in steps],
        "sends": [make_send(step, step, answered_micros=step * SECOND) for step in steps],
        "polls": [poll(step, step, step) for step in steps],
        "committed_offsets": [commit_row(step, step, step) for step in steps],
    }
    folder = with_partitions(tmp_path, 80, tables)
    chosen = chosen_of(folder, finding(partition=79))
    assert chosen.drawn <= POINTS_MAX
    assert len(chosen.choices["partitions"]) == SUBJECTS_MAX
    assert chosen.choices["partitions"][0] == ("t-79", "partition t-79", True)
    assert chosen.notes == ["The timeline has 60 of 80 partitions, those of findings first."]
    assert len(timeline(RunFacts(folder), verdict(finding(partition=79)))) < 1_000_000


BUSY: Rows = {
    "sends": [
        make_send(step + second, step + second, acks=acks, answered_micros=step * SECOND)
        for step in range(0, 140, 2)
        for second, acks in enumerate(("all", "1"))
    ],
    "samples": [
        sample(step + 1, step, broker=broker, start=step)
        for step in range(0, 140, 2)
        for broker in (1, 2)
    ],
    "polls": [poll(step, step, step) for step in range(0, 140, 2)],
}


def test_what_is_not_drawn_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points_max = 15_000
    monkeypatch.setattr("analysis.report.pictures.timeline.POINTS_MAX", points_max)
    more = {
        "truncations": [{**HERE, "broker": 1, "to_offset": 7, "at_micros": SECOND}] * 64,
        "leaderships": [lead(1 + step % 2, step, step, [1, 2]) for step in range(100)],
    }
    folder = with_partitions(tmp_path, SUBJECTS_MAX, BUSY | more)
    found = [finding(partition=number) for number in range(20)]
    chosen = chosen_of(folder, *found, finding(group="java.g"))
    drawn = len(chosen.choices["partitions"])
    assert 4 < drawn < SUBJECTS_MAX
    assert f"The timeline has {drawn} of 60 partitions, those of findings first." in chosen.notes
    assert chosen.choices["groups"] == [("java.g", "group java.g", True)]
    assert chosen.drawn <= points_max


def test_a_run_with_many_findings_draws_the_grave_ones(tmp_path: Path) -> None:
    many = [finding(f"check_{number}", verdict=PERMITTED, at=SECOND) for number in range(1_100)]
    lane = next(iter(lanes(write_run(tmp_path), *many, finding("lost_record", at=SECOND)).values()))
    assert lane["title"] == "findings (101 more are not shown)"
    assert lane["rows"] == ["lost_record", "permitted"]


# The log as a tree. Broker 1 leads epoch 1 and is truncated to 100, where epoch 3 of 2 begins.


def starts(broker: int, **epochs: int) -> list[Row]:
    """E.g. `starts(1, e0=0, e3=100)`."""
    return [
        {**HERE, "broker": broker, "leader_epoch": int(name[1:]), "start_offset": start}
        for name, start in epochs.items()
    ]


def bounds(broker: int, start: int, end: int) -> Row:
    return {**HERE, "broker": broker, "log_start_offset": start, "log_end_offset": end}


def batch(broker: int, first: int, last: int, epoch: int) -> Row:
    span = {"base_offset": first, "last_offset": last, "leader_epoch": epoch}
    return {**HERE, "broker": broker, **span}


def resume_here(group: str = "java.g", **fields: Any) -> Resumption:
    return resumed_of(group, **HERE | fields)


LOGS: Rows = {
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


def tree(folder: RunFolder) -> Tree:
    found = tree_of(Source(RunFacts(folder), verdict()), T0)
    assert found is not None
    return found


def drawn_of(folder: RunFolder, *rows: Resumption) -> Any:
    ((picture,), _) = log_trees(RunFacts(folder), verdict(resumption=rows))
    return msgspec.json.decode(picture.data.encode())


def test_a_tree_has_its_branches_commits_and_leaders(tmp_path: Path) -> None:
    rows = [
        resume_here("a"),
        resume_here("b", commit_epoch="max"),
        resume_here("c", resumed_at=200, never_delivered=100),
        resume_here("d", committed_epoch=3, record_epoch=1, redelivered=2),
        resume_here("e", committed_epoch=-1, exception="LogTruncationException"),
    ]
    drawn = drawn_of(write_run(tmp_path, LOGS), *rows)
    assert drawn["main"] == [[0, 0, 50], [1, 50, 100], [3, 100, 350]]
    (branch,) = drawn["branches"]
    assert (branch["segments"], branch["gone"]) == ([[1, 100, 200]], True)
    assert branch["words"] == (
        "epoch 1: offsets 100 to 199 at least, truncated by broker 1 at +8.000 s"
    )
    assert drawn["notes"] == [
        "Leaders by epoch: 0 broker 2, 1 broker 1, 2 none, 3 broker 2 (unclean election)"
    ]
    beyond = "Epoch 1 ends at 100 in the surviving log: the commit is 100 records beyond it."
    within = (
        "Epoch 3 reaches to 350 in the surviving log: the commit is within it. The last record "
        "that was polled has epoch 1."
    )
    none = "A commit without an epoch cannot be compared with the log."
    said = "group c: commit (200, epoch 1), resumes at 200: 100 records are never delivered"
    assert [(commit["words"], commit["why"]) for commit in drawn["commits"]] == [
        (said, beyond),
        ("2 groups (java: max, record): commit (200, epoch 1), resumes at 100", beyond),
        ("group d: commit (200, epoch 3), resumes at 100, 2 redelivered", within),
        ("group e: commit (200, no epoch), then LogTruncationException", none),
    ]


@pytest.mark.parametrize(("missing", "broker"), [("faults", 2), ("leaderships", 1)])
def test_a_tree_needs_no_table_of_elections(tmp_path: Path, missing: str, broker: int) -> None:
    folder = write_run(tmp_path, LOGS)
    (folder.tables / f"{missing}.parquet").unlink()
    found = tree(folder)
    assert (found.broker, found.log_end) == (broker, 350)
    assert [row["epoch"] for row in found.leaders] == ([] if broker == 1 else [0, 1, 2, 3])


def behind(end: int) -> Rows:
    """Broker 1 has no epoch 3."""
    epochs = [*starts(1, e0=0, e1=50), *starts(2, e0=0, e1=50, e3=100)]
    ends = [bounds(1, 0, end), bounds(2, 0, 350)]
    return {"epoch_checkpoints": epochs, "log_starts": ends, "truncations": [], "cut_batches": []}


@pytest.mark.parametrize(
    ("tables", "reported"),
    [
        ({"cut_batches": []}, ["truncated from offset 100 on by broker 1 at +8.000 s; {}"]),
        (
            {"cut_batches": [batch(1, 100, 199, 1), batch(3, 100, 199, 1)]},
            ["epoch 1: offsets 100 to 199 at least, truncated by brokers 1 and 3 at +8.000 s"],
        ),
        (behind(170), ["epoch 1: offsets 100 to 169, still on broker 1 at the end"]),
        (behind(90), []),
    ],
    ids=["not kept", "of two replicas", "still there", "only behind"],
)
def test_the_surviving_log_lacks_a_branch(
    tmp_path: Path, tables: Rows, reported: list[str]
) -> None:
    found = [
        branch_in_words(branch) for branch in tree(write_run(tmp_path, LOGS, **tables)).branches
    ]
    assert found == [run.format("which records that removed is not known") for run in reported]


def test_a_topic_that_was_created_again_had_no_unclean_election(tmp_path: Path) -> None:
    ids = [lead(1, 0, 1, [1]) | {"topic_id": "a"}, lead(2, 0, 2, [2]) | {"topic_id": "b"}]
    (only,) = tree(write_run(tmp_path, LOGS, leaderships=ids)).leaders
    assert (only["leader"], only["is_unclean"]) == (2, False)


def test_without_a_resumption_the_last_stored_commit_counts(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path, LOGS, committed_offsets=[commit_row(40, 0, 40), commit_row(30, 0, 30)]
    )
    (only,) = commits_of(Source(RunFacts(folder), verdict()), tree(folder))
    assert commit_in_words(only) == "group java.g: commit (40, epoch 0)"


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"committed_epoch": 7}, "The surviving log has no epoch as high as 7."),
        (
            {"committed_offset": 20},
            "The log starts at 60: offsets 20 to 59 are deleted.",
        ),
    ],
)
def test_a_row_says_what_an_epoch_shows(tmp_path: Path, fields: Row, reported: str) -> None:
    above = {"epoch_checkpoints": starts(2, e1=60, e3=100), "log_starts": [bounds(2, 60, 350)]}
    folder = write_run(tmp_path, LOGS, **above)
    source = Source(RunFacts(folder), verdict(resumption=(resume_here(**fields),)))
    (only,) = commits_of(source, tree(folder))
    assert why(only, tree(folder)) == reported


def test_skipped_offsets_come_from_every_finding_not_from_the_examples(tmp_path: Path) -> None:
    folder = write_run(tmp_path, LOGS)
    skip = finding("skipped_record", group="java.g", offset_first=100, offset_last=199)
    row = {**msgspec.to_builtins(skip), "number": 11, "evidence": "{}"}
    pq.write_table(pa.Table.from_pylist([row], schema=FINDINGS), folder.report / "findings.parquet")
    (commit,) = drawn_of(folder, resume_here(resumed_at=200, never_delivered=100))["commits"]
    assert commit["skipped"] == [100, 199]


def test_partitions_are_shown_for_truncations_and_for_findings(tmp_path: Path) -> None:
    def trees(tables: Rows, *findings: Finding) -> int:
        folder = write_run(tmp_path, LOGS, truncations=[], cut_batches=[], **tables)
        return len(log_trees(RunFacts(folder), verdict(*findings))[0])

    assert trees({}) == 0
    assert trees({}, finding()) == 1
    assert trees({}, finding("duplicate_delivery")) == 0
    assert trees({"epoch_checkpoints": starts(2, e0=0)}, finding()) == 0
    assert trees({"epoch_checkpoints": []}, finding()) == 0


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = [resume_here(f"g{number}", committed_offset=100 + number) for number in range(9)]
    drawn = drawn_of(write_run(tmp_path / "a", LOGS), *rows)
    assert drawn["notes"][1:] == [f"{9 - COMMITS_MAX} other kinds of commits are not drawn."]
    folder = with_partitions(tmp_path / "b", 5, LOGS)
    trees, left = log_trees(RunFacts(folder), verdict())
    assert (len(trees), left) == (TREES_MAX, 5 - TREES_MAX)


# Both.


def test_texts_of_a_run_are_escaped(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    folder = write_run(
        tmp_path,
        LOGS,
        polls=[poll(0, 9, 3, group=evil)],
        faults=[fault(10, 12, 18, 20, name=evil)],
        sends=[make_send(0, 9, producer=evil)],
        committed_offsets=[commit_row(10, 0, 4, group=evil)],
    )
    found = verdict(
        finding(group=evil, cause=evil),
        resumption=(resume_here(evil, exception=evil, resumed_at=None),),
    )
    html = timeline(RunFacts(folder), found)
    ((drawn,), _) = log_trees(RunFacts(folder), found)
    assert "<img" not in html + drawn.data
    assert html.count("</script>") == 1
    titles = [lane["title"] for lane in data(folder, finding(group=evil))["lanes"]]
    assert any("&lt;/script&gt;" in title for title in titles)


@pytest.mark.parametrize("value", [None, -(2**60), 2**60])
def test_no_damaged_value_ends_the_analysis(tmp_path: Path, value: int | None) -> None:
    tables = WHOLE | LOGS | {"log_start_changes": [{**HERE, "log_start_offset": 1}]}
    damaged = {name: [*rows, *_damaged_rows(name, rows[0], value)] for name, rows in tables.items()}
    facts = RunFacts(write_run(tmp_path, damaged))
    found = verdict(finding(group="java.g", at=None))
    assert facts.trace.unreadable
    timeline(facts, found)
    log_trees(facts, found)


def _damaged_rows(table: str, row: Row, value: int | None) -> list[Row]:
    """The row once for each column, with that value in it if it can have it."""
    fields = [
        field for field in CONTRACT[table] if value is None or str(field.type) in ("int64", "int32")
    ]
    values = {
        field.name: max(min(value, 2**31 - 1), -(2**31))
        if value is not None and str(field.type) == "int32"
        else value
        for field in fields
    }
    return [row | {name: other} for name, other in values.items()]
