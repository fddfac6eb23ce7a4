"""A coordinator that has taken over: what it may return, what deposed ones may, and to whom."""

from typing import Any

from tests.exam.commit_verbs import COMMIT, FETCH, stored
from tests.exam.coordinator_verbs import (
    OFFSETS,
    TIMED_OUT,
    TRACKING,
    acknowledged,
    coordinated,
    found,
    kept,
    requested,
    returned,
    taken_over,
)
from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)

CHECK = "stale_fetched_commit"
DECIDED = "decision 45: the verdict follows from what the broker that responds had in its log"
REPORTED = "decision 45, what counts as acknowledged: a response, by the same clock or beyond the "
BOUND = REPORTED + "clock bound"
OF_CLIENTS = (
    "decision 45: a client's read does not say which broker answered; Javadoc of "
    "KafkaConsumer.committed"
)
UNCLEAN = "`unclean.leader.election.enable`: a replica that was not in sync may lead, without "
LOADING = 14
_PLACES = (("g", 0), ("g", 1), ("f", 0), ("f", 1))


@asks_each(
    "A broker has taken over a group whose last acknowledged commit is 60; 1 s later it returns",
    source=TRACKING,
    check=CHECK,
    cases={
        "the commit before it.": (found(f"{VIOLATION}: unstable"), {"offset": 50}),
        "none, to a stable request.": (
            found(f"{VIOLATION}: stable"),
            {"offset": -1, "stable": True},
        ),
        "an error, since it loads.": (found(NONE), {"offset": -1, "error": LOADING}),
        "60.": (found(NONE), {"offset": 60}),
        "a commit of 70 that it has stored, and not yet acknowledged.": (
            found(NONE),
            {"offset": 70},
        ),
    },
)
def successor_returns(h: History, **response: Any) -> None:
    taken_over(h, 50, 60)
    kept(h, 70, at=40.9, epoch=1)
    returned(h, **response)
    _requested_early(h, 70, began=40.89, at=41.5)


@asks_each(
    "A group goes from 60 back to 50, both acknowledged; a successor returns",
    source=TRACKING + "; the last one, not the largest",
    check=CHECK,
    cases={
        "60.": (found(VIOLATION), {"offset": 60}),
        "50.": (found(NONE), {"offset": 50}),
    },
)
def group_had_gone_back(h: History, *, offset: int) -> None:
    taken_over(h, 60, 50)
    returned(h, offset)


@asks_each(
    "Broker 1 coordinates, and broker 2 from second 40 on; broker 1 returns 50.",
    source=DECIDED,
    check=CHECK,
    cases={
        "Its successor's commit of 70 is missing, half a minute later.": (
            found(f"{PERMITTED}: deposed, unstable"),
            {"own": (50,), "at": 75.0},
        ),
        "Its own commit of 60 is missing, too.": (
            found(f"{VIOLATION}: unstable"),
            {"own": (50, 60), "at": 45.0},
        ),
        "The successor's commit is acknowledged only while it is asked.": (
            found(NONE),
            {"own": (50,), "at": 42.01},
        ),
        "Its own commit of 60 is missing, and the offsets were lost in an unclean election.": (
            found(PERMITTED),
            {"own": (50, 60), "at": 45.0, "isr": (2,)},
        ),
    },
)
def deposed_broker_returns_the_first(
    h: History, *, own: tuple[int, ...], at: float, isr: tuple[int, ...] = (1, 2)
) -> None:
    taken_over(h, *own, isr=isr)
    if isr == (2,):
        h.led(1, 2, at=43.0, isr=(1,), topic=OFFSETS, partition=h.index)
        h.led(2, 3, at=44.0, isr=(2,), topic=OFFSETS, partition=h.index)
    acknowledged(h, 70, at=42.006, epoch=1, broker=2)
    returned(h, 50, at=at, broker=1)


@asks(
    "Broker 1 leads again, and returns its commit of the first time, not its predecessor's.",
    source=DECIDED,
    expects=found(f"{VIOLATION}: unstable"),
)
def broker_leads_again_without_what_came_between(h: History) -> None:
    coordinated(h, (2, 40.0), (1, 60.0))
    acknowledged(h, 50, at=38.0)
    acknowledged(h, 60, at=50.0, epoch=1, broker=2)
    returned(h, 50, at=61.0, broker=1)


@asks_each(
    "Broker 1 leads under epochs 0 and 2, and is deposed again. It returns",
    source=DECIDED,
    check=CHECK,
    cases={
        "50 of epoch 0; its own 60 of epoch 2 and its successor's 70 are missing.": (
            found(f"{VIOLATION}: unstable"),
            {"offset": 50},
        ),
        "60; its successor's 70 is missing.": (
            found(f"{PERMITTED}: deposed, unstable"),
            {"offset": 60},
        ),
    },
)
def broker_is_deposed_a_second_time(h: History, *, offset: int) -> None:
    coordinated(h, (2, 20.0), (1, 30.0), (2, 40.0))
    acknowledged(h, 50, at=10.0)
    acknowledged(h, 60, at=35.0, epoch=2)
    acknowledged(h, 70, at=42.0, epoch=3, broker=2)
    returned(h, offset, at=50.0, broker=1)


@asks(
    "It then stores 70, acknowledges it, and returns 60.",
    source=DECIDED + "; what it has stored itself is left to wrong_fetched_commit",
    expects={CHECK: NONE, "wrong_fetched_commit": VIOLATION},
)
def broker_leads_again_and_forgets_its_own(h: History) -> None:
    coordinated(h, (2, 40.0), (1, 60.0))
    acknowledged(h, 60, at=50.0, epoch=1, broker=2)
    acknowledged(h, 70, at=62.0, epoch=2)
    returned(h, 60, at=64.0, broker=1)


@asks(
    "A broker that never coordinated the group returns an older commit of it.",
    source=TRACKING + "; another broker responds with NOT_COORDINATOR (FindCoordinator)",
    expects=found(VIOLATION),
)
def stranger_returns_an_older_commit(h: History) -> None:
    h.registered(3, at=0.2, is_fenced=False)
    taken_over(h, 50, 60)
    returned(h, 50, at=45.0, broker=3)


@asks_each(
    "The coordinator of a group lacks its last commit. An unclean election",
    source=UNCLEAN + "what it lacks; " + TRACKING,
    check=CHECK,
    cases={
        "made it the leader.": (found(PERMITTED), {"unclean": 40.0}),
        "had come before the commit, and a clean one since.": (
            found(VIOLATION),
            {"unclean": 10.0},
        ),
        "comes when it has responded.": (found(VIOLATION), {"unclean": 70.0}),
        "was that of another partition of the offsets.": (
            found(VIOLATION),
            {"unclean": 40.0, "apart": 1},
        ),
    },
)
def coordinator_after_an_unclean_election(h: History, *, unclean: float, apart: int = 0) -> None:
    coordinated(h)
    acknowledged_epoch = 1 if unclean < 30 else 0
    _elections(h, unclean=unclean, apart=apart)
    broker = 2 if acknowledged_epoch else 1
    acknowledged(h, 50, at=28.0, epoch=acknowledged_epoch, broker=broker)
    acknowledged(h, 60, at=38.0, epoch=acknowledged_epoch, broker=broker)
    returned(h, 50, broker=1 if acknowledged_epoch else 2)


@asks_each(
    "Before a successor takes over, commits of 50 and 60 are acknowledged, and then",
    source="OffsetDelete (KIP-496) and expiry (KIP-211) store a tombstone; " + TRACKING,
    check=CHECK,
    cases={
        "deleted; it returns none.": (found(NONE), {"offset": -1}),
        "deleted; it returns 60, as if they were not.": (found(NONE), {"offset": 60}),
        "deleted; it returns 50.": (found(VIOLATION), {"offset": 50}),
        "deleted, and followed by 70; it returns none.": (
            found(VIOLATION),
            {"offset": -1, "again": True},
        ),
        "deleted, and followed by 70; it returns that.": (
            found(NONE),
            {"offset": 70, "again": True},
        ),
    },
)
def successor_of_one_that_deleted(h: History, *, offset: int, again: bool = False) -> None:
    coordinated(h, (2, 40.0))
    acknowledged(h, 50, at=28.0)
    acknowledged(h, 60, at=32.0)
    _deleted(h, at=34.0)
    if again:
        acknowledged(h, 70, at=38.0)
    returned(h, offset)


@asks_each(
    "A client reports that 60 is committed; a request begins later, which gets 50 of a successor:",
    source=BOUND,
    check=CHECK,
    cases={
        "20 ms by the same clock.": (found(VIOLATION), {"earlier": 0.020, "worker": "w"}),
        "20 ms by another clock.": (found(NONE), {"earlier": 0.020, "worker": "v"}),
        "200 ms by another clock.": (found(VIOLATION), {"earlier": 0.200, "worker": "v"}),
        "-20 ms by the same clock, so that it began before.": (
            found(NONE),
            {"earlier": -0.020, "worker": "w"},
        ),
        "20 s, and it had reported a timeout.": (
            found(NONE),
            {"earlier": 20.0, "worker": "w", "outcome": "unknown"},
        ),
    },
)
def report_of_a_client_and_a_request(
    h: History, *, earlier: float, worker: str, outcome: str = "ok"
) -> None:
    h.worker()
    h.worker("v")
    taken_over(h, 50)
    at = 60.0 - 0.005 - earlier
    kept(h, 60, at=39.0)
    error = None if outcome == "ok" else "TimeoutException"
    h.commit(60, 0, at=at, stored=False, outcome=outcome, error=error)
    h.rows["commits"][-1].update(worker=h.own(worker), began_micros=h.at(38.9))
    returned(h, 50, at=60.0)


@asks_each(
    "A client is told 50, though 60 is the last acknowledged commit.",
    source=OF_CLIENTS,
    check=CHECK,
    cases={
        "Broker 1 had stored it, and nobody led before that.": (VIOLATION, {"at": 45.0}),
        "Broker 2 had, 3 s after broker 1 was deposed, which may have answered.": (
            UNDECIDED,
            {"at": 45.0, "successor": True},
        ),
        "Broker 2 had, and broker 1 was deposed 20 s ago.": (
            VIOLATION,
            {"at": 60.0, "successor": True},
        ),
        "Broker 2 had, and broker 1 was suspended until now.": (
            UNDECIDED,
            {"at": 60.0, "successor": True, "is_paused": True},
        ),
        "It is no answer, but an error.": (NONE, {"at": 45.0, "error": "TimeoutException"}),
        "The answer is the administrator's.": (VIOLATION, {"at": 45.0, "by": "admin"}),
    },
)
def client_is_told_an_older_commit(
    h: History, *, at: float, successor: bool = False, is_paused: bool = False, **read: Any
) -> None:
    taken_over(h, 50)
    if successor:
        acknowledged(h, 60, at=42.0, epoch=1, broker=2)
    else:
        acknowledged(h, 60, at=39.0)
    if is_paused:
        target = h.on_broker(1)
        h.fault("pause", target, injected=39.5, proved=40.5, heal_began=59.8, healed=59.9)
    _read(h, 50, at=at, **read)


@asks_each(
    "A successor returns 40, of which there is no record, and 60 was acknowledged.",
    source=DECIDED + "; `cleanup.policy=compact`: older records of a key are removed",
    check=CHECK,
    cases={
        # Expected at first: undecided. One that nobody asked for is neither older nor uncommitted.
        "Nobody is known to have asked for it.": (NONE, {}),
        "It had been asked for, and timed out.": (
            f"{VIOLATION}: uncommitted",
            {"refused": 30.0},
        ),
        # Expected at first: undecided. With the report it is no commit that was never made.
        "It had timed out once, and was acknowledged to a client before.": (
            NONE,
            {"refused": 30.0, "reported": True},
        ),
        "It had timed out before the oldest commit that is left, and may have been compacted.": (
            UNDECIDED,
            {"refused": 15.0},
        ),
    },
)
def successor_returns_what_is_nowhere(
    h: History, *, refused: float | None = None, reported: bool = False
) -> None:
    coordinated(h, (2, 40.0))
    if reported:
        h.commit(40, 0, at=12.0, stored=False)
    if refused == 15.0:
        requested(h, 40, at=refused, error=TIMED_OUT)
    acknowledged(h, 50, at=20.0)
    if refused == 30.0:
        requested(h, 40, at=refused, error=TIMED_OUT)
    acknowledged(h, 60, at=38.0)
    returned(h, 40)


@asks_each(
    "A commit of 70 times out, and a coordinator returns it. Its record is on",
    source=DECIDED + "; KIP-101: what the leader alone has is committed only while it is the ISR",
    check=CHECK,
    cases={
        "the deposed broker, which has left the ISR.": (
            f"{VIOLATION}: uncommitted",
            {"broker": 1, "epoch": 0},
        ),
        "its leader, which is the ISR.": (NONE, {"broker": 2, "epoch": 1}),
    },
)
def commit_that_timed_out_is_returned(h: History, *, broker: int, epoch: int) -> None:
    coordinated(h, (2, 40.0), isr=(2,))
    acknowledged(h, 50, at=38.0)
    kept(h, 70, at=43.0, epoch=epoch, brokers=(broker,))
    _requested_early(h, 70, began=42.99, at=48.0, broker=broker, error=TIMED_OUT)
    returned(h, 70, at=49.0, broker=broker)


@asks_each(
    "Two groups commit two partitions each; a successor returns the last commit of each,",
    source=TRACKING + "; a commit is that of a group and a partition",
    check=CHECK,
    cases={
        "as it is.": (found(NONE), {"last": 61}),
        "except that one group's second partition is older.": (found(VIOLATION), {"last": 51}),
    },
)
def successor_of_several_groups(h: History, *, last: int) -> None:
    coordinated(h, (2, 40.0))
    for at, offset in ((20.0, 50), (30.0, 60)):
        for number, (group, partition) in enumerate(_PLACES):
            if (group, partition, offset) != ("f", 0, 60):
                _committed(h, group, partition, offset + number, at=at + number)
    for number, (group, partition) in enumerate(_PLACES):
        is_old = (group, partition) == ("f", 0)
        offset = (50 if is_old else 60) + number
        _fetched(h, group, partition, last if number == 1 else offset, at=42.0 + number)


@asks_each(
    "A transaction stores 60 after 50 was acknowledged; a successor returns",
    source=DECIDED + "; offsets of transactions are newer commits, never expected ones",
    check=CHECK,
    cases={
        "60, which is committed.": (NONE, {"offset": 60}),
        "50, to an unstable request.": (NONE, {"offset": 50}),
        "none.": (VIOLATION, {"offset": -1}),
    },
)
def successor_of_a_transaction(h: History, *, offset: int) -> None:
    coordinated(h, (2, 40.0))
    acknowledged(h, 50, at=28.0)
    kept(h, 60, at=35.0)
    of_producer = {"producer_id": h.place.producer_id(7), "producer_epoch": 0}
    marker = {"marker": "commit", "marker_micros": h.at(36.0)}
    h.rows["committed_offsets"][-1].update(of_producer | marker)
    returned(h, offset)


@asks_each(
    "The leader epoch under which the missing commit was stored is not known. It was acknowledged",
    source="docs/results.md, committed_offsets.log_epoch: null where not known; " + BOUND,
    check=CHECK,
    cases={
        # Expected at first: not violation. Times decide, if they are apart.
        "2 s before the successor was elected.": (VIOLATION, {"at": 38.0}),
        "20 ms after that.": (NOT_VIOLATION, {"at": 40.02}),
    },
)
def epoch_of_the_missing_commit_is_not_known(h: History, *, at: float) -> None:
    taken_over(h, 50)
    acknowledged(h, 60, at=at)
    for row in h.rows["committed_offsets"]:
        row["log_epoch"] = None
    returned(h, 50, at=42.0)


@asks(
    "Of two acknowledged commits in one millisecond, a successor returns the one that came last.",
    source=TRACKING + "; offsets of the log, not times, are their order",
    expects=found(NONE),
)
def successor_returns_the_last_of_one_millisecond(h: History) -> None:
    coordinated(h, (2, 40.0))
    acknowledged(h, 60, at=38.0)
    acknowledged(h, 50, at=38.0)
    returned(h, 50)


def _requested_early(h: History, offset: int, *, began: float, at: float, **request: Any) -> None:
    """A commit that was asked for before it was stored, and the response to it."""
    requested(h, offset, at=at, **({"broker": 2} | request))
    h.rows["wire_calls"][-1]["began_micros"] = h.at(began)


def _elections(h: History, *, unclean: float, apart: int) -> None:
    """Elections of the group's partition of the offsets; `apart`: the unclean one is of another."""
    own = {"topic": OFFSETS, "partition": h.index}
    where = own | {"partition": h.index + apart}
    if apart:
        h.led(1, 0, at=0.6, isr=(1, 2), **where)
    if unclean > 50:
        h.led(2, 1, at=40.0, isr=(1, 2), **own)
        h.led(2, 1, at=unclean - 5, isr=(2,), **own)
        h.led(1, 2, at=unclean, isr=(1,), **own)
        return
    h.led(1, 0, at=unclean - 5, isr=(1,), **where)
    h.led(2, 1, at=unclean, isr=(2,), **where)
    if apart:
        h.led(2, 1, at=40.1, isr=(1, 2), **own)
    if unclean < 30:
        h.led(2, 1, at=20.0, isr=(1, 2), **own)
        h.led(1, 2, at=40.0, isr=(1, 2), **own)


def _deleted(h: History, *, at: float) -> None:
    """The group's offset is deleted; its log has a tombstone."""
    tombstone: dict[str, Any] = {"metadata": None, "value_version": None, "is_tombstone": True}
    brokers = [h.broker(1), h.broker(2)]
    stored(h, at=at, log_epoch=0, brokers=brokers, **tombstone)
    h.rows["committed_offsets"][-1].update(offset=None, committed_epoch=None)


def _read(
    h: History, offset: int, *, at: float, error: str | None = None, by: str = "consumer"
) -> None:
    """What a client returns when it is asked for the committed offset."""
    # The vocabulary numbers by the worker; rows of one worker share one count.
    seq = h._next_seq()  # noqa: SLF001
    h.add(
        "offset_reads",
        worker=h.own("w"),
        group=h.own("g"),
        member=h.member("1") if by == "consumer" else "",
        topic=h.own("t"),
        partition=0,
        offset=None if error else offset,
        epoch=-1 if error else 0,
        error=error,
        is_stable=False,
        by=by,
        seq=seq,
        began_micros=h.at(at - 0.005),
        at_micros=h.at(at),
    )


def _committed(h: History, group: str, partition: int, offset: int, *, at: float) -> None:
    """A request commits for a group; the commit is stored and acknowledged."""
    metadata = f"made {offset}"
    asked = {"asked_offset": offset, "asked_epoch": 0, "member": "", "generation": -1}
    place = {"group": h.own(group), "partition": partition, "metadata": metadata}
    h.called(1, COMMIT, 8, at=at, throttle_ms=0, **asked, **place)
    brokers = [h.broker(1), h.broker(2)]
    stored(h, at=at, offset=offset, log_epoch=0, brokers=brokers, **place)


def _fetched(h: History, group: str, partition: int, offset: int, *, at: float) -> None:
    """What the successor returns of a group's partition."""
    place = {"group": h.own(group), "partition": partition}
    commit = {"offset": offset, "epoch": 0, "metadata": f"made {offset}"}
    h.called(2, FETCH, 8, at=at, is_stable=False, throttle_ms=0, **place, **commit)
