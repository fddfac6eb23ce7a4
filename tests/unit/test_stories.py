"""A story agrees with what was judged: its order, where members begin, and what decides."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from conftest import TraceMaker
from histories import EPOCHLESS, JUMPED, LEFT_BEHIND, WENT_BACK, WENT_ON
from micro import (
    Row,
    changed,
    committed,
    led,
    log_started,
    polled,
    reported_commit,
    reset_reported,
    sent,
    survived,
    truncated,
)
from pages_of import finding

from analysis.report.run_facts import RunFacts
from analysis.report.story import Kind, Story, story
from contract.events import make_value
from contract.run_folder import RunFolder
from contract.tables import TABLES

Tell = Callable[..., Story]
OFFSETS = {"topic": "__consumer_offsets", "partition": 0}


@pytest.fixture
def tell(make_trace: TraceMaker, tmp_path: Path) -> Tell:
    """The story of a finding in a history, of which some tables are missing."""

    def report_story(
        rows: dict[str, list[Row]], check: str, *, missing: Collection[str] = (), **fields: Any
    ) -> Story:
        left = {table: some for table, some in rows.items() if table not in missing}
        trace = make_trace(left, missing=tuple(missing))
        asked = finding(check, **{"group": "g", "at": None, "evidence": {}} | fields)
        return story(RunFacts(RunFolder(tmp_path), trace), asked)

    return report_story


def whats(reported: Story, who: str) -> list[str]:
    return [moment.what for moment in reported.moments if moment.who == who]


ASSIGNED = [
    changed("assigned", at=190, position=4),
    changed("caught_up", at=210, position=4),
]


@pytest.mark.parametrize(
    ("events", "begins"),
    [
        (ASSIGNED, ["assigned, begins at offset 0", "caught up at offset 4"]),
        # It is assigned the partition again, and keeps its position.
        (
            [*ASSIGNED, changed("assigned", at=220, position=4)],
            ["assigned, begins at offset 0", "caught up at offset 4", "assigned at offset 4"],
        ),
        # It loses the partition before a delivery.
        (
            [
                changed("assigned", at=150, position=4),
                changed("revoked", at=160),
                changed("assigned", at=170, position=7),
            ],
            ["assigned at offset 4", "revoked", "assigned, begins at offset 0"],
        ),
        # Its application sets the position.
        (
            [changed("assigned", at=150, position=4), changed("sought", at=160, position=0)],
            ["assigned at offset 4", "sought at offset 0"],
        ),
        # Nothing is delivered.
        ([changed("assigned", at=300, position=4)], ["assigned at offset 4"]),
    ],
    ids=["once", "kept", "lost in between", "sought", "nothing delivered"],
)
def test_a_member_begins_at_a_delivery(tell: Tell, events: list[Row], begins: list[str]) -> None:
    rows = {"polls": [*polled(0, 1), *polled(2, 3, at=205)], "group_events": events}
    found = [what for what in whats(tell(rows, "reset"), "g#1") if "receives" not in what]
    assert found == begins


@pytest.mark.parametrize(
    ("between", "receives"),
    [
        ({}, 1),
        ({"group_events": [{**changed("opened", at=203), "topic": "", "partition": -1}]}, 2),
        ({"sends": sent(2, at=203), "replica_records": survived(0, 3)}, 2),
    ],
    ids=["nothing", "an opening", "a write"],
)
def test_polls_are_one_event_unless_another_lies_between(
    tell: Tell, between: dict[str, list[Row]], receives: int
) -> None:
    rows = {"polls": [*polled(0, 1), *polled(2, 3, at=205)], **between}
    reported = tell(rows, "start_mismatch", offset_first=0, offset_last=3)
    assert sum("receives" in what for what in whats(reported, "g#1")) == receives


def test_one_member_does_not_begin_where_another_is_delivered(tell: Tell) -> None:
    rows = {"polls": polled(2, 3, life=2, at=300), "group_events": ASSIGNED[:1]}
    assert whats(tell(rows, "reset"), "g#1") == ["assigned at offset 4"]


def test_a_history_stays_in_its_order_where_its_clock_steps_back(tell: Tell) -> None:
    rows = {
        "group_events": [
            {**changed("assigned", at=1, position=0), "at_micros": 1_000},
            {**changed("caught_up", at=3, position=4), "at_micros": 300},
            {**changed("closed", at=4), "at_micros": 310},
        ],
        "polls": [{**row, "seq": 2, "polled_micros": 200} for row in polled(2, 3)],
        "leaderships": [led(0, at=250), led(1, at=1_100)],
    }
    reported = tell(rows, "reset")
    assert [moment.at_micros for moment in reported.moments] == [250, 1_000, 200, 300, 310, 1_100]


def responses(reported: Story, who: str) -> list[str]:
    return [what for what in whats(reported, who) if "response" in what]


def test_the_broker_that_acknowledged_is_named_by_the_records_epoch(tell: Tell) -> None:
    reported = tell(LEFT_BEHIND, "lost_record", group=None)
    (p,), (q,) = responses(reported, "p"), responses(reported, "q")
    assert "from broker 1, leader of epoch 0: ok" in p
    assert "from broker 2, leader of epoch 1: ok" in q


def test_values_that_two_leaders_acknowledged_are_told_apart(tell: Tell) -> None:
    rows = {
        "sends": [*sent(1, 2), *sent(3, at=300), *sent(4, at=400)],
        "replica_records": [*survived(1, 2), *survived(3, 4, epoch=1)],
        "leaderships": [led(0, at=10), led(1, at=250, leader=2)],
    }
    of_one, *of_two = responses(tell(rows, "lost_record", offset_last=4), "p")
    assert "the last response to 1 value" in of_one
    assert of_one.endswith("from broker 1, leader of epoch 0: ok, offset 2")
    first, last = of_two
    assert "the first response to 2 values" in first
    assert "the last response to 2 values" in last
    for response in of_two:
        assert response.endswith("from broker 2, leader of epoch 1: ok, offsets 3 to 4")


@pytest.mark.parametrize(
    "again",
    [
        [led(0, at=300, leader=2)],
        [led(1, at=200), led(0, at=300, leader=2)],
    ],
    ids=["which had one epoch", "which had two"],
)
def test_values_of_two_topics_of_one_name_are_told_apart(tell: Tell, again: list[Row]) -> None:
    rows = {
        "sends": [*sent(2, at=100), *sent(3, at=400)],
        "polls": polled(2, at=150),
        "replica_records": survived(3),
        "leaderships": [led(0, at=10), *again],
    }
    words = "receives the last response to 1 value with acks=all from broker"
    assert responses(tell(rows, "duplicate_delivery"), "p") == [
        f"{words} 1, leader of epoch 0: ok, offset 2",
        f"{words} 2, leader of epoch 0: ok, offset 3",
    ]


@pytest.mark.parametrize(
    "records",
    [
        [],
        survived(2, 3, producer="q"),
        survived(2, 3, epoch=5),
        [{**row, "value": make_value("p", row["offset"] + 7)} for row in survived(2, 3)],
    ],
    ids=[
        "none",
        "of another producer",
        "an unknown leader",
        "other values",
    ],
)
def test_no_broker_is_named_where_an_epoch_is_not_known(tell: Tell, records: list[Row]) -> None:
    rows = {
        "sends": sent(2, 3),
        "replica_records": records,
        "leaderships": [led(0, at=10), led(1, at=250, leader=2)],
    }
    (response,) = responses(tell(rows, "lost_record"), "p")
    assert response == "receives the last response to 2 values with acks=all: ok, offsets 2 to 3"


def test_a_broker_is_named_for_those_records_whose_epoch_is_known(tell: Tell) -> None:
    rows = {"sends": sent(2, 3), "replica_records": survived(2), "leaderships": [led(0, at=10)]}
    assert [
        response.partition("acks=all")[2] for response in responses(tell(rows, "lost_record"), "p")
    ] == [
        " from broker 1, leader of epoch 0: ok, offset 2",
        ": ok, offset 3",
    ]


OF_CLIENTS = {"sends", "polls", "commits", "resets", "group_events", "transactions"}


@pytest.mark.parametrize(
    ("missing", "kinds"),
    [
        (
            TABLES.keys() - OF_CLIENTS,
            {Kind.EPOCH, Kind.COMMIT},
        ),
        ({"leaderships"}, {Kind.EPOCH}),
        ({"replica_records"}, set()),
        ({"log_starts"}, set()),
        ({"cut_records", "samples"}, set()),
        ({"committed_offsets"}, {Kind.COMMIT}),
        ({"sends"}, {Kind.SEND, Kind.ACKNOWLEDGEMENT}),
        ({"polls"}, {Kind.DELIVERY}),
        ({"resets"}, {Kind.RESET}),
        ({"group_events"}, {Kind.MEMBER, Kind.POSITION}),
    ],
    ids=lambda tables: (
        "of the servers" if len(tables) > 2 else " and ".join(sorted(tables)) or "none"
    ),
)
def test_a_missing_table(tell: Tell, missing: Collection[str], kinds: set[Kind]) -> None:
    whole = tell(WENT_BACK, "reset").moments
    reported = tell(WENT_BACK, "reset", missing=missing).moments
    assert {moment.kind for moment in whole} - {run.kind for run in reported} == kinds
    assert len(reported) == sum(moment.kind not in kinds for moment in whole)


# The decisive event, by what the finding is about: its time and its words.
DECISIVE = [
    # Acknowledged at 100, lost when epoch 1 began.
    (LEFT_BEHIND, "lost_record", {"group": None, "at": 100, "evidence": {"later_epoch": 1}}, 250),
    # The first of them is acknowledged before, the last after epoch 1 began.
    (
        {**LEFT_BEHIND, "sends": [*sent(2, at=240), *sent(3, at=260)]},
        "lost_record",
        {"group": None, "at": 240, "evidence": {"later_epoch": 1}},
        250,
    ),
    # Acknowledged by a leader that was deposed already.
    (
        {**LEFT_BEHIND, "sends": sent(2, 3, at=270)},
        "lost_record",
        {"group": None, "at": 270, "evidence": {"later_epoch": 1}},
        270,
    ),
    # No later epoch is known.
    (
        {**LEFT_BEHIND, "leaderships": [], "truncations": [truncated(2, at=280)]},
        "lost_record",
        {"group": None, "at": 100, "evidence": {"truncated_micros": 280}},
        280,
    ),
    # It expired before a group had read it.
    (
        {**LEFT_BEHIND, "log_start_changes": [log_started(1, at=290), log_started(4, at=295)]},
        "lost_record",
        {"group": None, "at": 100, "evidence": {"deletion": {"at_micros": 295}}},
        295,
    ),
    # It was beyond the records before their epoch began, and is again.
    (EPOCHLESS, "skipped_record", {"evidence": {"leader_epoch": 1}}, 590),
    (JUMPED, "skipped_record", {"offset_last": 5, "evidence": {"leader_epoch": 1}}, 500),
    (WENT_ON, "silent_revalidation", {"evidence": {"epoch": 1}}, 650),
    (WENT_ON, "truncation_undetected", {"at": 200, "evidence": {"reached_epoch": 1}}, 650),
    (WENT_BACK, "duplicate_delivery", {}, 600),
    # The same member is delivered a record again.
    (
        {"polls": [*polled(2, 3), *polled(3, 4, at=220)]},
        "duplicate_delivery",
        {"offset_first": 3, "offset_last": None},
        220,
    ),
    (WENT_BACK, "reset", {"at": 500}, 500),
    (WENT_BACK, "loss_estimate", {"group": None, "at": 250, "evidence": {"epoch": 0}}, 250),
    (WENT_BACK, "orphan_commit", {"at": 300, "evidence": {"later_epoch": 1}}, 300),
    (WENT_BACK, "start_mismatch", {"at": 601}, 600),
]


@pytest.mark.parametrize(("rows", "check", "fields", "at"), DECISIVE)
def test_the_decisive_event_is_the_last_cause(
    tell: Tell, rows: dict[str, list[Row]], check: str, fields: dict[str, Any], at: int
) -> None:
    reported = tell(rows, check, **fields)
    assert reported.decisive is not None
    assert reported.decisive.at_micros == at
    shown = [moment for part in reported.fold() if not part.summary for moment in part.moments]
    assert reported.decisive in shown


@pytest.mark.parametrize(
    ("check", "key"),
    [("leader_completeness", "next_epoch"), ("unclean_election_unconfigured", "leader_epoch")],
)
def test_of_two_epochs_at_one_time_the_findings_decides(tell: Tell, check: str, key: str) -> None:
    begun = [{**led(epoch, at=250), "metadata_offset": epoch} for epoch in (1, 2, 3)]
    rows = {"leaderships": [{**led(0, at=10), "metadata_offset": 0}, *begun]}
    reported = tell(rows, check, group=None, at=250, evidence={key: 2})
    assert reported.decisive is not None
    assert reported.decisive.what.startswith("epoch 2: ")


def test_without_a_time_and_a_rule_no_event_is_decisive(tell: Tell) -> None:
    assert tell(WENT_ON, "commit_regressed").decisive is None
    assert tell({}, "skipped_record").decisive is None


def test_what_repeats_and_what_is_far_is_folded(tell: Tell) -> None:
    rows = {
        "leaderships": [led(epoch, at=10 * epoch) for epoch in range(60)],
        "resets": [reset_reported("truncation", 4, 0, 2, at=305)] * 20,
    }
    reported = tell(rows, "unclean_election_unconfigured", group=None, at=300)
    passages = reported.fold()
    assert [moment for part in passages for moment in part.moments] == reported.moments
    assert len(passages) < 15
    assert sum(len(part.moments) for part in passages if not part.summary) < 15
    words = [part.summary for part in passages if part.summary]
    assert words[0].endswith("events before")
    assert words[-1].endswith("events after")
    assert all(len(part.moments) > 1 for part in passages if part.summary)


def test_many_events_of_one_kind_leave_room_for_the_others(tell: Tell) -> None:
    rows = {
        **WENT_BACK,
        "log_start_changes": [log_started(start, at=480 + start) for start in range(40)],
    }
    reported = tell(rows, "reset", at=500)
    kinds = {moment.kind for part in reported.fold() if not part.summary for moment in part.moments}
    assert {"deletion", "reset", "epoch", "commit", "delivery"} <= kinds


LOG_OF_COMMITS = {
    **WENT_BACK,
    "leaderships": [
        *WENT_BACK["leaderships"],
        {**led(0, at=20, leader=3), **OFFSETS, "replicas": [1, 3]},
        {**led(1, at=320), **OFFSETS, "replicas": [1, 3]},
    ],
    "truncations": [{**truncated(7, at=330, broker=3), **OFFSETS}],
    "commits": [
        reported_commit(3, at=290),
        reported_commit(4, at=299),
        {**reported_commit(4, at=305, outcome="failed"), "error": "CommitFailedException"},
    ],
    "committed_offsets": [
        {**committed(3, 0, at=289), "offsets_offset": 6, "brokers": [1, 3]},
        {**committed(4, 0, at=298), "offsets_offset": 7, "brokers": [3]},
        {**committed(9, -1, at=100), "group": "h", "offsets_offset": 2, "brokers": [1]},
    ],
}


@pytest.mark.parametrize("check", ["lost_commit", "orphan_commit", "offsets_without_output"])
def test_a_finding_about_commits_shows_where_they_are_stored(tell: Tell, check: str) -> None:
    reported = tell(LOG_OF_COMMITS, check, at=298)
    assert whats(reported, "__consumer_offsets-0") == [
        "stores offset 3 with epoch 0 of g, at offset 6, on brokers 1, 3",
        "stores offset 4 with epoch 0 of g, at offset 7, on broker 3",
    ]
    assert [what for what in whats(reported, "g#1") if "commits" in what] == [
        "commits offset 3 with epoch 0: ok, the first of 2 commits",
        "commits offset 4 with epoch 0: ok, the last of 2 commits",
        "commits offset 4 with epoch 0: failed (CommitFailedException)",
    ]
    assert "truncates __consumer_offsets-0 to 7" in whats(reported, "broker 3")
    assert "__consumer_offsets-0, epoch 1: broker 1 leads, ISR [1]" in whats(reported, "controller")
    one, three = (line.split(": ")[1] for line in reported.ends[-2:])
    assert one == "1 commit of g, the last at offset 6; the last of any group at offset 6"
    assert three == "2 commits of g, the last at offset 7; the last of any group at offset 7"


@pytest.mark.parametrize(
    ("check", "group"), [("skipped_record", "g"), ("lost_commit", None), ("of_tomorrow", "g")]
)
def test_other_findings_have_no_log_of_commits(tell: Tell, check: str, group: str | None) -> None:
    reported = tell(LOG_OF_COMMITS, check, group=group)
    assert not any(
        "__consumer_offsets" in f"{moment.who} {moment.what}" for moment in reported.moments
    )
    assert "commits offset 4 with epoch 0, the last of 2 commits" in whats(reported, "g")


def test_a_wait_for_the_coordinator_shows_the_commits_on_every_partition(tell: Tell) -> None:
    reported = tell(LOG_OF_COMMITS, "commit_unavailable", **OFFSETS, offset_first=None, at=305)
    assert reported.decisive is not None
    assert (
        reported.decisive.what
        == "commits offset 4 with epoch 0 on t-0: failed (CommitFailedException)"
    )
    assert whats(reported, "controller").count("epoch 1: broker 1 leads, ISR [1]") == 1
    assert not any("__consumer_offsets" in what for what in whats(reported, "controller"))


def test_offsets_of_a_transaction_are_shown_with_its_steps_and_partitions(tell: Tell) -> None:
    step = {"worker": "w", "producer": "p", "transaction": 1, "step": "send_offsets", "seq": 3}
    done = {"change": "offsets_sent", "outcome": "ok", "at_micros": 297}
    rows = {
        **LOG_OF_COMMITS,
        "transactions": [
            {**step, **done},
            {**step, **done, "seq": 4, "step": "commit", "change": "failed", "error": "Timeout"},
            {**step, **done, "seq": 5, "transaction": 2},
        ],
    }
    evidence = {"producer": "p", "transaction": 1}
    reported = tell(rows, "offsets_without_output", topic="out", evidence=evidence, at=None)
    assert whats(reported, "p") == [
        "send offsets of transaction 1: offsets sent, ok",
        "commit of transaction 1: failed, ok (Timeout)",
    ]
    stored = whats(reported, "__consumer_offsets-0")
    assert stored[0] == "stores offset 3 with epoch 0 on t-0 of g, at offset 6, on brokers 1, 3"


def test_a_run_without_stored_commits_has_none_to_show(tell: Tell) -> None:
    assert tell(WENT_BACK, "lost_commit").ends == tell(WENT_BACK, "reset").ends


def test_a_finding_about_a_request_shows_its_response(tell: Tell) -> None:
    call = {
        "worker": "observer",
        "seq": 7,
        "broker": 2,
        "api": "OFFSET_COMMIT",
        "version": 9,
        "topic": "t",
        "partition": 0,
        "group": "g",
        "asked_offset": 4,
        "asked_epoch": 0,
        "error_code": 25,
        "at_micros": 310,
    }
    rows = {**LOG_OF_COMMITS, "wire_calls": [call, {**call, "at_micros": 400}]}
    reported = tell(rows, "wrong_commit_error", at=310)
    assert whats(reported, "broker 2") == [
        "responds to OFFSET_COMMIT version 9 (offset 4, epoch 0, group g): error code 25"
    ]
    assert reported.decisive is not None
    assert reported.decisive.who == "broker 2"
