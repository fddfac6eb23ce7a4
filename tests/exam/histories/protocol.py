"""Requests of single versions to single brokers: which epochs they validate and report."""

from typing import Any

from contract.protocol import NO_BROKER, OFFSETS_FOR_TIMES
from tests.exam.history import NONE, NOT_VIOLATION, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, moved, watched

HANDLING = "KIP-320, Leader Fetch Handling"
CACHE = "KIP-320, OffsetsForLeaderEpoch; LeaderEpochFileCache.endOffsetFor"
FENCED, UNKNOWN, NOT_LEADER, OUT_OF_RANGE = 74, 75, 6, 1
TIMES = "KIP-320, API Changes: OffsetAndTimestamp has the leader epoch of the record"
LIST, END, FETCH = "LIST_OFFSETS", "OFFSET_FOR_LEADER_EPOCH", "FETCH"
END_OFFSET = "KIP-279 and LeaderEpochFileCache.endOffsetFor"
DIVERGENCE = "KIP-595, Fetch; Partition.readRecords"


@asks(
    "Epoch 1 leads since 20 s; at 40 s its leader is asked with 0, 1, 2 and -1, and at version 3.",
    source=HANDLING,
    expects={"wrong_epoch_error": NONE, "malformed_response": NONE},
)
def leader_validates_each_epoch(h: History) -> None:
    _moved(h)
    for epoch, error in ((0, FENCED), (1, 0), (2, UNKNOWN), (-1, 0)):
        _listed(h, current_leader_epoch=epoch, error=error)
    h.called(2, LIST, 3, at=40.0, asked_timestamp=-1, offset=100, throttle_ms=0)


@asks(
    "The leader of epoch 1 accepts a request with epoch 0, twenty seconds after it was elected.",
    source=HANDLING + ": older is FENCED_LEADER_EPOCH",
    expects={"wrong_epoch_error": VIOLATION},
)
def leader_accepts_an_older_epoch(h: History) -> None:
    _moved(h)
    _listed(h, current_leader_epoch=0, error=0)


@asks(
    "The leader of epoch 1 refuses epoch 2, which no metadata has, as too old.",
    source=HANDLING + ": newer is UNKNOWN_LEADER_EPOCH",
    expects={"wrong_epoch_error": VIOLATION},
)
def leader_fences_a_newer_epoch(h: History) -> None:
    _moved(h)
    _listed(h, current_leader_epoch=2, error=FENCED)


@asks(
    "A request without an epoch is refused with FENCED_LEADER_EPOCH.",
    source=HANDLING + ": a sentinel value bypasses the validation",
    expects={"wrong_epoch_error": VIOLATION},
)
def sentinel_is_fenced(h: History) -> None:
    _moved(h)
    _listed(h, current_leader_epoch=-1, error=FENCED)


@asks(
    "Version 3 of ListOffsets, which has no epoch, is refused with UNKNOWN_LEADER_EPOCH.",
    source="KIP-320, Protocol Changes: for older versions the validation is skipped",
    expects={"wrong_epoch_error": VIOLATION},
)
def old_version_is_validated(h: History) -> None:
    _moved(h)
    h.called(2, LIST, 3, at=40.0, error=UNKNOWN, asked_timestamp=-1, throttle_ms=0)


@asks(
    "A follower that was not asked before refuses epoch 1 as unknown, 20 s after the election.",
    source="decision 22: a response that only some of the possible states allow is undecided",
    expects={"wrong_epoch_error": UNDECIDED},
)
def follower_may_not_know_the_epoch(h: History) -> None:
    _moved(h)
    _listed(h, broker=1, current_leader_epoch=1, error=UNKNOWN)


@asks(
    "A follower that accepted epoch 1 refuses 0 with NOT_LEADER_OR_FOLLOWER.",
    source="KIP-320, Protocol Changes, Fetch: a follower returns the error of the epoch",
    expects={"wrong_epoch_error": VIOLATION},
)
def follower_does_not_compare_the_epoch(h: History) -> None:
    _moved(h)
    _listed(h, broker=1, at=40.0, current_leader_epoch=1, error=NOT_LEADER)
    _listed(h, broker=1, at=41.0, current_leader_epoch=0, error=NOT_LEADER)


@asks(
    "A follower refuses epoch 2, which no metadata has, as unknown, and accepts 1 as not its own.",
    source="KIP-320, Protocol Changes, Fetch; Partition.getLocalLog",
    expects={"wrong_epoch_error": NONE},
)
def follower_compares_the_epoch(h: History) -> None:
    _moved(h)
    _listed(h, broker=1, at=40.0, current_leader_epoch=1, error=NOT_LEADER)
    _listed(h, broker=1, at=41.0, current_leader_epoch=2, error=UNKNOWN)


@asks(
    "An election was 20 ms before a request with the epoch before it, which is accepted.",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    expects={"wrong_epoch_error": NOT_VIOLATION},
)
def epoch_changes_meanwhile(h: History) -> None:
    _moved(h)
    h.called(1, LIST, 9, at=20.02, current_leader_epoch=0, asked_timestamp=-1, offset=50, epoch=0)


@asks(
    "Epoch 0 ends at 50, epoch 1 at the log end 100; nothing is known of epoch 2.",
    source=CACHE,
    expects={"wrong_epoch_end": NONE, "malformed_response": NONE},
)
def ends_of_all_epochs(h: History) -> None:
    _moved(h)
    for asked, epoch, offset in ((0, 0, 50), (1, 1, 100), (2, -1, -1)):
        _end(h, asked, epoch=epoch, offset=offset)


@asks(
    "The leader returns 40 as the end of epoch 0, which ends at 50.",
    source=CACHE,
    expects={"wrong_epoch_end": VIOLATION},
)
def end_is_too_low(h: History) -> None:
    _moved(h)
    _end(h, 0, epoch=0, offset=40)


@asks(
    "The leader returns the log end for an epoch that is newer than its own.",
    source=CACHE + ": undefined",
    expects={"wrong_epoch_end": VIOLATION},
)
def end_of_an_epoch_to_come(h: History) -> None:
    _moved(h)
    _end(h, 2, epoch=1, offset=100)


@asks(
    "The leader returns epoch 0 with end 50; no server logged where epoch 1 starts, nor holds it.",
    source="decision 22: a response that only some of the possible states allow is undecided",
    expects={"wrong_epoch_end": UNDECIDED},
)
def start_of_the_next_epoch_is_not_known(h: History) -> None:
    h.topic(retention_ms=20_000)
    begun(h)
    h.led(2, 1, at=20.0, isr=(1, 2))
    watched(h, 2, 100, times=(25.0, 35.0, 60.0), epoch=1)
    h.log(1, start=100, end=100, high_watermark=100, checkpoints={})
    h.log(2, start=100, end=100, high_watermark=100, checkpoints={})
    _end(h, 0, epoch=0, offset=50)


@asks(
    "A consumer that has read epoch 0 to 60 fetches; epoch 0 ends at 50, which the leader reports.",
    source="KIP-595, Fetch: DivergingEpoch",
    expects={"wrong_diverging_epoch": NONE},
)
def divergence_is_reported(h: History) -> None:
    _moved(h)
    _fetched(h, 0, 60, diverging_epoch=0, diverging_offset=50, record_bytes=0)
    _fetched(h, 0, 50, diverging_epoch=-1, diverging_offset=-1, record_bytes=500)
    _fetched(h, 2, 100, error=OUT_OF_RANGE, diverging_epoch=-1, diverging_offset=-1)


@asks(
    "A consumer that has read epoch 0 to 60 fetches, and is served records of epoch 1.",
    source="KIP-595, Fetch: DivergingEpoch",
    expects={"wrong_diverging_epoch": VIOLATION},
)
def divergence_is_not_noticed(h: History) -> None:
    _moved(h)
    _fetched(h, 0, 60, diverging_epoch=-1, diverging_offset=-1, record_bytes=500)


@asks(
    "A consumer that has read epoch 0 to its end 50 is sent back to 40.",
    source="KIP-595, Fetch: only where the epoch ends below the fetch offset",
    expects={"wrong_diverging_epoch": VIOLATION},
)
def divergence_is_made_up(h: History) -> None:
    _moved(h)
    _fetched(h, 0, 50, diverging_epoch=0, diverging_offset=40, record_bytes=0)


@asks(
    "A Fetch at an offset of epoch 1, the start of which no server logged, has no divergence.",
    source="decision 22: a response that only some of the possible states allow is undecided",
    expects={"wrong_diverging_epoch": UNDECIDED},
)
def divergence_can_not_be_known(h: History) -> None:
    start_of_the_next_epoch_is_not_known(h)
    h.rows["wire_calls"].clear()
    _fetched(h, 0, 60, diverging_epoch=-1, diverging_offset=-1, record_bytes=0)


@asks(
    "Both brokers report leader 2 with epoch 1; the first offset is of epoch 0, the last of 1.",
    source="KIP-320, Metadata; KIP-320, ListOffsets",
    expects={"wrong_reported_epoch": NONE},
)
def epochs_are_reported(h: History) -> None:
    _moved(h)
    for broker in (1, 2):
        h.called(broker, "METADATA", 12, at=40.0, leader=2, epoch=1)
    _listed(h, asked_timestamp=-2, offset=0, epoch=0)
    _listed(h, offset=100, epoch=1)
    _listed(h, asked_timestamp=5, offset=50, epoch=1)


@asks(
    "A Metadata response has leader 2 and no epoch.",
    source="KIP-320, Metadata: the response includes the leader epoch",
    expects={"wrong_reported_epoch": VIOLATION},
)
def metadata_lacks_the_epoch(h: History) -> None:
    _moved(h)
    h.called(1, "METADATA", 12, at=40.0, leader=2, epoch=-1)


@asks(
    "The earliest offset 0 is reported with epoch 1, which starts at 50.",
    source="KIP-320, ListOffsets: the epoch that corresponds with the offset",
    expects={"wrong_reported_epoch": VIOLATION},
)
def offset_with_the_epoch_of_another(h: History) -> None:
    _moved(h)
    _listed(h, asked_timestamp=-2, offset=0, epoch=1)


@asks(
    "The epoch of an offset between two elections is reported; no server logged where they were.",
    source="decision 22: a response that only some of the possible states allow is undecided",
    expects={"wrong_reported_epoch": UNDECIDED},
)
def epoch_of_an_offset_can_not_be_known(h: History) -> None:
    start_of_the_next_epoch_is_not_known(h)
    h.rows["wire_calls"].clear()
    _listed(h, asked_timestamp=5, offset=60, epoch=0)


@asks(
    "A client looks up times: it finds offset 10 with epoch 0, offset 60 with epoch 1, and nothing"
    " after the last record.",
    source=TIMES,
    expects={"wrong_reported_epoch": NONE, "malformed_response": NONE},
)
def client_looks_up_times(h: History) -> None:
    _moved(h)
    for found in ({"offset": 10, "epoch": 0}, {"offset": 60, "epoch": 1}, {}):
        _looked_up(h, **found)


@asks(
    "A client finds offset 10 by its time, which is of epoch 0, and returns epoch 1, the leader's.",
    source=TIMES,
    expects={"wrong_reported_epoch": VIOLATION},
)
def client_returns_the_leaders_epoch_with_an_offset(h: History) -> None:
    _moved(h)
    _looked_up(h, offset=10, epoch=1)


@asks(
    "A client finds offset 10 by its time, and returns no epoch.",
    source=TIMES,
    expects={"wrong_reported_epoch": VIOLATION},
)
def client_returns_an_offset_without_an_epoch(h: History) -> None:
    _moved(h)
    _looked_up(h, offset=10)


@asks(
    "A client finds offset 500 by a time; no replica has a record there at the end.",
    source="decision 22: a response that only some of the possible states allow is undecided: "
    "the record may have been removed",
    expects={"wrong_reported_epoch": UNDECIDED},
)
def record_of_a_lookup_is_gone(h: History) -> None:
    _moved(h)
    _looked_up(h, offset=500, epoch=1)


@asks(
    "A response ends before its throttle time; a request without a connection has none.",
    source="KIP-320, Protocol Changes; the message schemas",
    expects={"malformed_response": VIOLATION},
)
def response_is_too_short(h: History) -> None:
    _moved(h)
    failure = "MalformedResponseError: OFFSET_FOR_LEADER_EPOCH 4 can't be decoded"
    h.called(2, END, 4, at=40.0, error=None, failure=failure, asked_epoch=0)


@asks(
    "A broker closes the connection instead of a response.",
    source="the broker may have ended; ApiMessage.read had nothing to decode",
    expects={"malformed_response": NONE},
)
def connection_is_closed(h: History) -> None:
    _moved(h)
    failure = "ConnectionResetError: the broker closed the connection within a response"
    h.called(2, END, 4, at=40.0, error=None, failure=failure, asked_epoch=0)


def _moved(h: History) -> None:
    h.topic()
    moved(h)


def _listed(h: History, *, broker: int = 2, at: float = 40.0, **columns: Any) -> None:
    columns = {"current_leader_epoch": -1, "asked_timestamp": -1, "epoch": -1} | columns
    if not columns.get("error"):
        columns = {"offset": 100} | columns
    if columns["epoch"] == -1 and not columns.get("error"):
        columns["epoch"] = 1
    h.called(broker, LIST, 9, at=at, throttle_ms=0, **columns)


def _looked_up(h: History, **found: int) -> None:
    """A call of a client's offsetsForTimes."""
    h.called(NO_BROKER, OFFSETS_FOR_TIMES, 0, at=40.0, asked_timestamp=5, client="java", **found)


def _end(h: History, asked: int, **columns: Any) -> None:
    h.called(
        2,
        END,
        4,
        at=40.0,
        current_leader_epoch=1,
        asked_epoch=asked,
        throttle_ms=0,
        **columns,
    )


def _fetched(h: History, last_fetched: int, offset: int, **columns: Any) -> None:
    h.called(
        2,
        FETCH,
        12,
        at=40.0,
        current_leader_epoch=1,
        asked_epoch=last_fetched,
        asked_offset=offset,
        throttle_ms=0,
        **columns,
    )


@asks(
    "Within 30 ms of an election one broker still takes the old epoch, one not yet the new.",
    source="KIP-320, Leader Fetch Handling: each broker learns of it at its own time;"
    " KIP-392: since version 11 a follower serves consumers",
    expects={"wrong_epoch_error": NOT_VIOLATION, "malformed_response": NONE},
)
def brokers_hear_of_an_election_in_turn(h: History) -> None:
    h.topic()
    moved(h, at=20.0)
    reported: dict[str, Any] = {"asked_offset": 0, "asked_epoch": -1}
    _fetch(h, 1, at=20.03, current_leader_epoch=0, record_bytes=5000, **reported)
    _fetch(h, 2, at=20.02, current_leader_epoch=1, error=UNKNOWN, is_retriable=True, **reported)
    _fetch(h, 2, at=26.0, current_leader_epoch=1, record_bytes=5000, **reported)
    _fetch(h, 1, at=27.0, current_leader_epoch=0, error=FENCED, is_retriable=True, **reported)
    _fetch(h, 1, at=28.0, current_leader_epoch=1, record_bytes=5000, **reported)


@asks(
    "A broker led epoch 2 and wrote nothing; the leader of epoch 3 is asked about each epoch.",
    source=END_OFFSET + "; " + DIVERGENCE + ": only records bring an epoch to other replicas",
    expects={
        "wrong_epoch_end": NONE,
        "wrong_diverging_epoch": NONE,
        "wrong_epoch_error": NONE,
        "epoch_cache_mismatch": NOT_VIOLATION,
    },
)
def epoch_without_records_is_in_no_other_cache(h: History) -> None:
    _four_epochs(h)
    for number, answer in enumerate(((0, 50), (1, 80), (1, 80), (3, 100), (-1, -1))):
        _epoch_end(h, number, *answer, at=30.0 + number)
    _diverges(h, offset=50, last_epoch=0, at=40.0)
    _diverges(h, offset=80, last_epoch=1, at=41.0)
    _diverges(h, offset=81, last_epoch=1, at=42.0, found=(1, 80))
    _diverges(h, offset=80, last_epoch=2, at=43.0, found=(1, 80))
    _diverges(h, offset=100, last_epoch=3, at=44.0, record_bytes=0)


@asks(
    "Asked about epoch 2, which it never had, the leader returns that epoch with the end of 1.",
    source=END_OFFSET + ": the largest epoch of the cache that is not above the requested one",
    expects={"wrong_epoch_end": VIOLATION, "wrong_epoch_error": NONE},
)
def leader_repeats_an_epoch_it_never_had(h: History) -> None:
    _four_epochs(h)
    _epoch_end(h, 2, 2, 80, at=32.0)


@asks(
    "A Fetch is one offset beyond the end of its last fetched epoch, and gets records.",
    source=DIVERGENCE,
    expects={"wrong_diverging_epoch": VIOLATION, "wrong_epoch_error": NONE},
)
def divergence_of_one_offset_is_missed(h: History) -> None:
    _four_epochs(h)
    _diverges(h, offset=80, last_epoch=1, at=41.0)
    _diverges(h, offset=81, last_epoch=1, at=42.0)


def _four_epochs(h: History) -> None:
    """Epochs 0, 1 and 3 start at 0, 50 and 80; broker 1 led epoch 2 for two seconds, idle."""
    h.topic()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(2, 1, at=6.0, isr=(1, 2), starts=50)
    h.sent(50, 79, at=8.0)
    watched(h, 2, 80, times=(10.0,), epoch=1)
    h.led(1, 2, at=12.0, isr=(1, 2), starts=80)
    h.led(2, 3, at=14.0, isr=(1, 2), starts=80)
    h.sent(80, 99, at=16.0)
    watched(h, 2, 100, times=(20.0, 45.0, 65.0, 85.0), epoch=3)
    copies(h, (1, 2), (0, 49, 0), (50, 79, 1), (80, 99, 3), high_watermark=100)


def _fetch(h: History, broker: int, *, at: float, **columns: Any) -> None:
    usual = {"diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 0}
    reported = {"asked_replica": -1, "throttle_ms": 0} | usual | columns
    h.called(broker, FETCH, 12, at=at, **reported)


def _diverges(
    h: History,
    *,
    offset: int,
    last_epoch: int,
    at: float,
    found: tuple[int, int] = (-1, -1),
    record_bytes: int = 2000,
) -> None:
    """A Fetch of the leader of epoch 3, and the divergence that it found; -1: none."""
    _fetch(
        h,
        2,
        at=at,
        current_leader_epoch=3,
        asked_offset=offset,
        asked_epoch=last_epoch,
        diverging_epoch=found[0],
        diverging_offset=found[1],
        record_bytes=record_bytes if found[0] < 0 else 0,
    )


def _epoch_end(h: History, about: int, epoch: int, offset: int, *, at: float) -> None:
    reported = {"asked_replica": -1, "throttle_ms": 0, "current_leader_epoch": 3}
    h.called(2, END, 4, at=at, asked_epoch=about, epoch=epoch, offset=offset, **reported)
