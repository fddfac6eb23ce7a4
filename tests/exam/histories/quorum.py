"""The controllers' quorum: what is committed, truncated and returned when it is divided."""

from collections.abc import Sequence
from typing import Any

from tests.exam.histories.replicas import served
from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)

RAFT = "KIP-595: only an entry that a majority holds is committed, and it is never lost"
FETCH = "KIP-595, Fetch; RaftLog.validateOffsetAndEpoch"
VOTERS = (1, 2, 3)
FENCED, UNKNOWN, NOT_LEADER, INVALID_REQUEST = 74, 75, 6, 42
METADATA = "__cluster_metadata"
DIVIDED = 5.0
"""When the second leader is elected; the first one is connected again at second 10."""


def of_its_own(h: History, epoch: int) -> int:
    """An epoch of a history's quorum: no other history's, as leaders are compared by epoch."""
    return h.index * 10 + epoch


def batch(h: History, table: str, server: int, offset: int, epoch: int, **columns: Any) -> None:
    """One entry of a server's metadata log."""
    h.add(
        table,
        server=h.broker(server),
        base_offset=offset,
        last_offset=offset,
        metadata_epoch=of_its_own(h, epoch),
        size_bytes=100,
        checksum=offset * 100 + epoch,
        **columns,
    )


def logs(h: History, *, of: Sequence[int] = VOTERS, to: int = 10) -> None:
    """Epoch 1 of broker 1 from offset 0 to 5, epoch 2 of broker 2 from offset 6."""
    for server in of:
        for offset in range(to):
            leader = {0: 1, 6: 2}.get(offset)
            batch(
                h,
                "metadata_batches",
                server,
                offset,
                1 if offset < 6 else 2,
                leader=None if leader is None else h.broker(leader),
                at_micros=h.at(1.0 if offset < 6 else DIVIDED),
            )


def held(h: History, server: int, *offsets: int, epoch: int = 1) -> None:
    """What a server's log held before its heal at second 10, and lacks at the end."""
    for offset in offsets:
        batch(
            h, "cut_metadata_batches", server, offset, epoch, leader=None, taken_micros=h.at(10.0)
        )


def truncated(h: History, server: int, to: int, *, at: float = 11.0) -> None:
    """A server logged that it truncates its metadata log."""
    h.add(
        "truncations",
        broker=h.broker(server),
        topic=METADATA,
        partition=0,
        to_offset=to,
        at_micros=h.at(at),
        log_line=f"Truncating to offset {to}",
    )


def reported(
    h: History, leader: int, epoch: int, high_watermark: int, ends: Sequence[int], *, at: float
) -> None:
    """A leader's response to a DescribeQuorum."""
    h.add(
        "quorum_samples",
        server=h.broker(leader),
        leader=h.broker(leader),
        leader_epoch=of_its_own(h, epoch),
        high_watermark=high_watermark,
        voters=[h.broker(one) for one in VOTERS],
        log_ends=list(ends),
        observers=[],
        at_micros=h.at(at),
        asked_micros=h.at(at),
    )


def called(h: History, server: int, api: str, asked: int, error: int, **columns: Any) -> None:
    """A request to a controller about the metadata log at second 30, and its response."""
    epochs = {
        name: of_its_own(h, columns[name])
        for name in ("epoch", "asked_epoch", "diverging_epoch")
        if columns.get(name, -1) >= 0
    }
    values: dict[str, Any] = {
        "worker": h.own("observer"),
        "seq": len(h.rows["wire_calls"]) + 1,
        "broker": h.broker(server),
        "api": api,
        "api_key": 1,
        "version": 17,
        "topic": METADATA,
        "partition": 0,
        "current_leader_epoch": of_its_own(h, asked),
        "error_code": error,
        "leader": h.broker(2),
        "epoch": of_its_own(h, 2),
        "throttle_ms": 0,
        "request": "{}",
        "response": "{}",
        "began_micros": h.at(30.0),
        "at_micros": h.at(30.001),
    }
    h.add("wire_calls", **(values | columns | epochs))


def divided(h: History) -> None:
    """Broker 1 led until it was divided from the others; broker 2 leads."""
    served(h)
    logs(h)
    reported(h, 1, 1, 6, (6, 6, 6), at=3.0)
    reported(h, 2, 2, -1, (-1, 7, 6), at=DIVIDED + 0.1)
    reported(h, 2, 2, 7, (-1, 7, 7), at=DIVIDED + 0.2)
    reported(h, 2, 2, 10, (10, 10, 10), at=20.0)


@asks(
    "A divided leader wrote offsets 6 to 8 alone, and truncated to 6, where its successor began.",
    source=RAFT,
    expects={
        "metadata_lost": NONE,
        "metadata_truncation": PERMITTED,
        "early_high_watermark": NONE,
        "metadata_divergence": NONE,
    },
)
def quorum_is_divided(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7, 8)
    truncated(h, 1, 6)


@asks(
    "A leader reported high watermark 8 of its epoch 1, of which all logs have only up to 5.",
    source=RAFT,
    expects={"metadata_lost": VIOLATION},
)
def committed_metadata_is_overwritten(h: History) -> None:
    divided(h)
    reported(h, 1, 1, 8, (8, 8, 6), at=4.0)


@asks(
    "The last high watermark is 14, and every voter's log ends at 10.",
    source=RAFT,
    expects={"metadata_lost": VIOLATION},
)
def committed_metadata_is_in_no_log(h: History) -> None:
    divided(h)
    reported(h, 2, 2, 14, (14, 14, 14), at=21.0)


@asks(
    "The last high watermark is 12; at the end one voter's log reaches it, the others end at 10.",
    source=RAFT + "; a log may not have been collected to its end",
    expects={"metadata_lost": UNDECIDED},
)
def committed_metadata_is_in_one_log(h: History) -> None:
    divided(h)
    reported(h, 2, 2, 12, (12, 12, 12), at=21.0)
    for offset in (10, 11):
        batch(h, "metadata_batches", 2, offset, 2, leader=None, at_micros=h.at(20.5))


@asks(
    "A divided leader held offset 6 below its high watermark 7; no log has it at the end.",
    source=RAFT,
    expects={"metadata_lost": VIOLATION},
)
def committed_entry_is_truncated(h: History) -> None:
    divided(h)
    reported(h, 1, 1, 7, (7, 7, 6), at=4.0)
    held(h, 1, 6)
    truncated(h, 1, 6)


@asks(
    "A leader's high watermark went from 7 to 9 while one other voter has 7 and one 8.",
    source="KIP-595; LeaderState.maybeUpdateHighWatermark: a majority must have it",
    expects={"early_high_watermark": VIOLATION},
)
def high_watermark_on_a_minority(h: History) -> None:
    divided(h)
    reported(h, 2, 2, 9, (7, 10, 8), at=6.0)


@asks(
    "The leader of epoch 2, which began at offset 6, first reports high watermark 6.",
    source="KIP-595: an entry of the leader's own epoch has to be on a majority first",
    expects={"early_high_watermark": VIOLATION},
)
def high_watermark_before_its_epoch(h: History) -> None:
    served(h)
    logs(h)
    reported(h, 2, 2, 6, (6, 7, 6), at=DIVIDED + 0.1)


@asks(
    "A voter's disk was wiped: its log end falls from 9 to 0 while the high watermark rises to 9.",
    source="KIP-595: what the other voters had in between is not sampled",
    expects={"early_high_watermark": UNDECIDED},
)
def high_watermark_while_a_voter_is_wiped(h: History) -> None:
    divided(h)
    reported(h, 2, 2, 8, (8, 10, 9), at=6.0)
    reported(h, 2, 2, 9, (8, 10, 0), at=6.2)


@asks(
    "A follower that departs at offset 6 truncates to 4, and fetches 4 and 5 again.",
    source="KIP-595, Fetch: it truncates to the end of the largest common epoch",
    expects={"metadata_truncation": VIOLATION, "metadata_lost": NONE},
)
def metadata_is_truncated_too_far(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7)
    truncated(h, 1, 4)


@asks(
    "A follower with epochs 3 and 5 that no other log has truncates to 8, then to 6, where it"
    " departs.",
    source="KIP-595, Fetch: it may take several rounds",
    expects={"metadata_truncation": PERMITTED},
)
def metadata_is_truncated_in_two_rounds(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7, epoch=3)
    held(h, 1, 8, 9, epoch=5)
    truncated(h, 1, 8, at=11.0)
    truncated(h, 1, 6, at=11.2)


@asks(
    "A follower held entries that it lacks at the end; its log has no truncation.",
    source="decision 26: what a copy has and the log at the end lacks was truncated; decision "
    "15: undecided without evidence of the event",
    expects={"metadata_truncation": UNDECIDED},
)
def truncation_of_metadata_is_not_logged(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7)


@asks(
    "Controllers 1 and 2 each report that they lead epoch 2.",
    source="KIP-595: an epoch has one leader",
    expects={"metadata_divergence": VIOLATION},
)
def two_controllers_report_that_they_lead(h: History) -> None:
    divided(h)
    reported(h, 1, 2, -1, (7, 6, 6), at=5.5)


@asks(
    "The leader of epoch 2 and a follower are asked with epochs 1, 2 and 3, and with epoch 1 that"
    " ends at 6; old votes and epochs are refused.",
    source=FETCH,
    expects={"wrong_quorum_response": NONE, "malformed_response": NONE, "wrong_epoch_error": NONE},
)
def controllers_validate_epochs(h: History) -> None:
    divided(h)
    fitting = {"asked_epoch": 2, "asked_offset": 10}
    accepted = {**fitting, "diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 0}
    called(h, 2, "FETCH", 2, 0, **accepted)
    for server, own in ((2, 0), (3, NOT_LEADER)):
        called(h, server, "FETCH", 1, FENCED, asked_epoch=1, asked_offset=10)
        called(h, server, "FETCH", 3, UNKNOWN, **fitting)
        if own:
            called(h, server, "FETCH", 2, own, **fitting)
        called(h, server, "VOTE", 1, FENCED, asked_epoch=0, asked_offset=0)
        called(h, server, "BEGIN_QUORUM_EPOCH", 1, FENCED)
        called(h, server, "END_QUORUM_EPOCH", 1, FENCED)
    ended = {"asked_epoch": 1, "asked_offset": 8, "diverging_epoch": 1, "diverging_offset": 6}
    called(h, 2, "FETCH", 2, 0, **ended)


@asks(
    "The leader of epoch 2 answers a Fetch after epoch 1 at offset 8 without a divergence.",
    source=FETCH,
    expects={"wrong_quorum_response": VIOLATION},
)
def leader_hides_a_divergence_of_metadata(h: History) -> None:
    divided(h)
    hidden = {"diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 100}
    called(h, 2, "FETCH", 2, 0, asked_epoch=1, asked_offset=8, **hidden)


@asks(
    "The leader of epoch 2 answers a Vote of epoch 1, whose last entry is of epoch 0, without an"
    " error.",
    source="KIP-595, Vote",
    expects={"wrong_quorum_response": VIOLATION},
)
def leader_accepts_an_old_vote(h: History) -> None:
    divided(h)
    called(h, 2, "VOTE", 1, 0, asked_epoch=0, asked_offset=0)


@asks(
    "The leader of epoch 2 refuses a Vote of epoch 1 as INVALID_REQUEST: its last entry is of"
    " epoch 1, too, as if a leader had voted for itself again.",
    source="KafkaRaftClient.handleVoteRequest: no candidate has such an entry",
    expects={"wrong_quorum_response": NONE},
)
def vote_of_no_possible_candidate(h: History) -> None:
    divided(h)
    called(h, 2, "VOTE", 1, INVALID_REQUEST, asked_epoch=1, asked_offset=0)


@asks(
    "A voter that never showed its epoch refuses epoch 2 as unknown.",
    source="decision 22: a response that only some of the possible states allow is undecided",
    expects={"wrong_quorum_response": NOT_VIOLATION},
)
def voter_may_not_know_the_epoch(h: History) -> None:
    served(h)
    logs(h)
    reported(h, 2, 2, 7, (-1, 7, 7), at=20.0)
    called(h, 1, "FETCH", 2, UNKNOWN, asked_epoch=2, asked_offset=7, epoch=1, leader=h.broker(1))


@asks(
    "A follower that departs at offset 6 truncates to 8 only.",
    source="KIP-595, Fetch: it truncates to the end of the largest common epoch",
    expects={"metadata_truncation": VIOLATION},
)
def metadata_is_truncated_too_little(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7, 8)
    truncated(h, 1, 8)


@asks(
    "A follower that departs at offset 6 truncates to 4, and after that to 6.",
    source="KIP-595, Fetch; decision 15: the second round may be about entries fetched since",
    expects={"metadata_truncation": UNDECIDED},
)
def metadata_is_truncated_too_far_first(h: History) -> None:
    divided(h)
    held(h, 1, 6, 7)
    truncated(h, 1, 4, at=11.0)
    truncated(h, 1, 6, at=11.2)


@asks(
    "Two servers held entries that they lack at the end, one of them twice; they truncate before, "
    "between and after, too little and too much, and a topic is truncated too.",
    source="KIP-595, Fetch: a log is truncated to the end of the largest common epoch, in rounds",
    expects={
        "metadata_truncation": f'{VIOLATION}: too little: "batches":3,"rounds":1,"lowest":8',
    },
)
def servers_truncate_metadata_among_others(h: History) -> None:
    divided(h)
    for server in (1, 2):
        held(h, server, 6, 7, 8, epoch=3)
    held(h, 3, 10, 11, epoch=3)
    batch(h, "metadata_batches", 1, 20, 2, leader=None, at_micros=h.at(20.5))
    for table, epochs in (
        ("cut_metadata_batches", {6: 7, 7: 8, 8: 8}),
        ("metadata_batches", {5: 3, 6: 4, 7: 5, 8: 5, 9: 6}),
    ):
        for row in h.rows[table]:
            if row["server"] == h.broker(2):
                row["metadata_epoch"] = of_its_own(h, epochs.get(row["base_offset"], 1))
    for server, to, at in (
        (1, 2, 8.0),
        (1, 6, 11.0),
        (1, 4, 30.0),
        (1, 20, 31.0),
        (2, 8, 11.0),
        (3, 9, 11.0),
    ):
        truncated(h, server, to, at=at)
    h.truncated(1, 3, at=12.0)
    held(h, 1, 20, 21, epoch=4)
    for row in h.rows["cut_metadata_batches"][-2:]:
        row["taken_micros"] = h.at(30.0)


@asks(
    "High watermarks of several leaders: of a log that ends just there, of voters that had not "
    "read so far or have no log, of one without its first entry; and a server lacks batches that "
    "differ from those of the logs in one thing each.",
    source=RAFT + "; contract/tables_of_servers.py: what a batch is",
    expects={
        "metadata_lost": f"{VIOLATION}: truncated: truncated, 5 batches that no log has",
    },
)
def metadata_is_lost_among_others(h: History) -> None:
    divided(h)
    for server, to in ((4, 12), (5, 12), (6, 11), (7, 11), (8, 11), (9, 1)):
        logs(h, of=(server,), to=min(to, 10))
        for offset in range(10, to):
            batch(h, "metadata_batches", server, offset, 2, leader=None, at_micros=h.at(20.5))

    def sample(epoch: int, high_watermark: int, *voters: int, at: float, server: int = 4) -> None:
        reported(h, server, epoch, high_watermark, (), at=at)
        h.rows["quorum_samples"][-1]["voters"] = [h.broker(one) for one in voters]

    # Half of the voters reach it; later the leader reported less, of others.
    sample(2, 12, 4, 5, 6, 7, at=21.0)
    sample(2, 11, 6, at=22.0)
    # Nobody reaches it, by one; a single voter does, of three; and there are no logs at all.
    sample(3, 0, 9, 11, 12, at=21.0)
    sample(4, 1, 9, 11, 12, at=21.0)
    sample(5, 5, 13, 14, 15, at=21.0)
    # The first entry of epoch 6 is in no log; voter 9 had not read so far.
    sample(6, 11, 6, 7, 8, at=25.0, server=6)
    batch(h, "metadata_batches", 4, 12, 6, leader=None, at_micros=h.at(26.0))
    batch(h, "cut_metadata_batches", 6, 15, 6, leader=None, taken_micros=h.at(10.0))
    sample(7, 11, 6, 7, 8, 9, at=25.0, server=7)
    # Below the high watermark: each differs from an entry in one thing; and a newer epoch.
    for at, high_watermark in ((9.0, 7), (10.0, 8), (11.0, 40)):
        reported(h, 8, 1, high_watermark, (), at=at)
    for change in (
        {"base_offset": 1},
        {"last_offset": 3},
        {"metadata_epoch": of_its_own(h, 0)},
        {"size_bytes": 101},
        {"checksum": 7},
        {"metadata_epoch": of_its_own(h, 9), "base_offset": 7, "last_offset": 7},
        {"base_offset": 30, "last_offset": 30},
    ):
        offset = {"last_offset": 1, "metadata_epoch": 4, "size_bytes": 5, "checksum": 0}
        at = next((offset[name] for name in change if name in offset), 2)
        batch(h, "cut_metadata_batches", 8, at, 1, leader=None, taken_micros=h.at(10.0))
        h.rows["cut_metadata_batches"][-1].update(change)
