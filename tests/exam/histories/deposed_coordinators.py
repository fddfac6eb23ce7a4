"""Commits that deposed coordinators return, that were never committed, or that clients return."""

from collections.abc import Sequence

from tests.exam.coordinator_verbs import (
    DEPOSED,
    NOTHING,
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
from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each


def read(
    h: History,
    offset: int | None,
    *,
    at: float = 41.0,
    stable: bool | None = True,
    error: str | None = None,
    worker: str = "clients",
) -> None:
    """What a client returns that is asked for the commit of its group."""
    h.add(
        "offset_reads",
        worker=h.own(worker),
        group=h.own("g"),
        member="" if stable is False else h.member("1"),
        topic=h.own("t"),
        partition=0,
        offset=offset,
        epoch=-1,
        error=error,
        is_stable=stable,
        by="admin" if stable is False else "consumer",
        seq=len(h.rows["offset_reads"]),
        began_micros=h.at(at - 0.005),
        at_micros=h.at(at),
    )


def _deposed(h: History, offset: int, *, stable: bool = False) -> None:
    """Broker 2 coordinates since second 40 and acknowledges 120; broker 1 is asked at 43."""
    taken_over(h, 50, 100)
    acknowledged(h, 120, at=42.0, epoch=1, broker=2)
    returned(h, offset, at=43.0, broker=1, stable=stable)


@asks_each(
    "A coordinator was deposed three seconds ago; its successor has acknowledged 120.",
    source=DEPOSED,
    check="stale_fetched_commit",
    cases={
        "It returns 100, which it had.": (
            found(f"{PERMITTED}: deposed, unstable: returned offset 100"),
            {"offset": 100},
        ),
        "It returns 100 as stable.": (
            found(f"{PERMITTED}: deposed, stable"),
            {"offset": 100, "stable": True},
        ),
        "It returns 120.": (NOTHING, {"offset": 120}),
    },
)
def deposed_coordinator_returns(h: History, *, offset: int, stable: bool = False) -> None:
    _deposed(h, offset, stable=stable)


@asks(
    "A coordinator that was deposed returns an older commit than it had acknowledged itself.",
    source=TRACKING,
    expects=found(f"{VIOLATION}: unstable: offset 100 had been acknowledged before"),
)
def deposed_coordinator_forgets_its_own_commit(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, 50, at=43.0, broker=1)


@asks(
    "A broker that never coordinated the group returns no commit.",
    source="Errors.NOT_COORDINATOR: this is not the correct coordinator",
    expects=found(f"{VIOLATION}: unstable: though it had never led"),
)
def broker_that_is_no_coordinator(h: History) -> None:
    taken_over(h, 50, 100)
    returned(h, -1, broker=3)


def _alone(h: History, offset: int, *, unclean: bool = False) -> None:
    """Broker 1, cut from the others, returns an offset that it was asked to commit."""
    coordinated(h)
    acknowledged(h, 50, at=28.0)
    if unclean:
        h.led(1, 0, at=35.0, isr=(1,), topic=OFFSETS, partition=h.index)
    requested(h, 130, at=39.5, error=TIMED_OUT)
    returned(h, offset, at=39.8, broker=1)
    h.led(2, 1, at=40.0, isr=(2,), topic=OFFSETS, partition=h.index)


@asks_each(
    "A commit of 130 is not acknowledged.",
    source=TRACKING + "; what only a deposed coordinator has was never committed",
    check="stale_fetched_commit",
    cases={
        "Only the old coordinator has it, which returns it.": (
            found(f"{VIOLATION}: uncommitted: returned offset 130 in 1 responses"),
            {"holders": (1,)},
        ),
        "No log has it, and the old coordinator returned it.": (
            found(f"{VIOLATION}: uncommitted"),
            {"holders": ()},
        ),
        "Only the old coordinator has it, and the election was unclean.": (
            found(f"{PERMITTED}: uncommitted"),
            {"holders": (1,), "unclean": True},
        ),
        "All have it, and the old coordinator returned it.": (NOTHING, {"holders": (1, 2)}),
    },
)
def commit_was_never_acknowledged(
    h: History, *, holders: Sequence[int], unclean: bool = False
) -> None:
    _alone(h, 130, unclean=unclean)
    if holders:
        kept(h, 130, at=39.5, brokers=holders)


@asks(
    "A commit of 130 is acknowledged, returned, and lost by an unclean election.",
    source=TRACKING + "; unclean.leader.election.enable",
    expects={"stale_fetched_commit": NONE},
)
def commit_is_returned_before_it_is_lost(h: History) -> None:
    _alone(h, 130, unclean=True)
    kept(h, 130, at=39.5, brokers=(1,))
    next(row for row in h.rows["wire_calls"] if row["asked_offset"] == 130)["error_code"] = 0


@asks(
    "A commit that no client reports is on the deposed coordinator only, which had returned it.",
    source=TRACKING + "; what only a deposed coordinator has was never committed",
    expects=found(f"{VIOLATION}: uncommitted"),
)
def commit_without_a_report_was_never_committed(h: History) -> None:
    coordinated(h, (2, 40.0), isr=(2,))
    acknowledged(h, 50, at=28.0)
    kept(h, 130, at=39.5, brokers=(1,))
    returned(h, 130, at=39.8, broker=1)


@asks(
    "An acknowledged 130 is lost by an unclean election; the new coordinator returns 50.",
    source="unclean.leader.election.enable on __consumer_offsets",
    expects=NOTHING,
)
def commit_is_lost_and_not_returned(h: History) -> None:
    _alone(h, 130, unclean=True)
    kept(h, 130, at=39.5, brokers=(1,))
    next(row for row in h.rows["wire_calls"] if row["asked_offset"] == 130)["error_code"] = 0
    returned(h, 50, at=42.0)


@asks(
    "A commit of 130 timed out and was returned; the log has only a later one.",
    source="Cleaner.shouldRetainRecord: compaction keeps a key's last record; contract/outcomes.py:"
    " unknown",
    expects={"stale_fetched_commit": f"{UNDECIDED}: uncommitted"},
)
def commit_of_unknown_outcome_was_compacted(h: History) -> None:
    coordinated(h)
    requested(h, 130, at=20.0, error=TIMED_OUT)
    returned(h, 130, at=25.0, broker=1)
    acknowledged(h, 140, at=30.0)


@asks(
    "A commit that only a deposed coordinator has is not returned by the new one.",
    source=TRACKING,
    expects=NOTHING,
)
def commit_of_a_deposed_coordinator_is_not_returned(h: History) -> None:
    taken_over(h, 100, isr=(2,))
    kept(h, 130, at=40.5, brokers=(1,))
    returned(h, 100)


def _reads(h: History) -> None:
    h.group()
    taken_over(h, 50, 100)


@asks_each(
    "A client is asked for the commit of its group, a second after the coordinator changed.",
    source=TRACKING + "; KafkaConsumer.committed: the last committed offsets",
    check="stale_fetched_commit",
    cases={
        "A consumer returns 50.": (
            f"{VIOLATION}: stable: the coordinator returned offset 50",
            {"offset": 50},
        ),
        "An administrator's client returns none.": (
            f"{VIOLATION}: unstable: the coordinator returned no commit",
            {"offset": None, "stable": False},
        ),
        "A client that may not ask for stable offsets returns 50.": (
            f"{VIOLATION}: unstable",
            {"offset": 50, "stable": None},
        ),
        "It returns 100.": (NONE, {"offset": 100}),
        "It fails.": (NONE, {"offset": None, "error": "TimeoutException"}),
    },
)
def client_returns(
    h: History, *, offset: int | None, stable: bool | None = True, error: str | None = None
) -> None:
    _reads(h)
    read(h, offset, stable=stable, error=error)


@asks_each(
    "Another client's commit of 120 is acknowledged, and a client returns 100",
    source="docs/findings.md, clock bound: times of different nodes are compared within 50 ms",
    check="stale_fetched_commit",
    cases={
        "30 ms later.": (NONE, {"later": 0.03}),
        "10 s later.": (f"{VIOLATION}: stable", {"later": 10.0}),
        "30 ms later; it is the one that had committed.": (
            f"{VIOLATION}: stable",
            {"later": 0.03, "committer": "w"},
        ),
    },
)
def client_reads_after_another(h: History, *, later: float, committer: str = "other") -> None:
    _reads(h)
    h.commit(120, 0, at=38.5, brokers=(1, 2), generation=1)
    h.rows["commits"][-1]["worker"] = h.own(committer)
    read(h, 100, at=38.5 + later + 0.005, worker="w")


@asks_each(
    "A client returns 100, three seconds after the new coordinator acknowledged 120.",
    source=TRACKING + "; " + DEPOSED,
    check="stale_fetched_commit",
    cases={
        "The old one is suspended, and may answer.": (
            f"{UNDECIDED}: stable",
            {"held": 1, "at": 75.0},
        ),
        "The old one was suspended until 20 s before.": (
            f"{VIOLATION}: stable",
            {"held": 1, "at": 91.0},
        ),
        "Another broker is suspended.": (f"{VIOLATION}: stable", {"held": 3, "at": 75.0}),
        "The old one was deposed a few seconds before.": (
            f"{UNDECIDED}: stable",
            {"held": 0, "at": 45.0},
        ),
        "The old one was deposed half a minute before.": (
            f"{VIOLATION}: stable",
            {"held": 0, "at": 75.0},
        ),
    },
)
def client_may_have_asked_the_old_coordinator(h: History, *, held: int, at: float) -> None:
    _reads(h)
    if held:
        h.fault(
            "pause", h.on_broker(held), injected=36.0, proved=40.0, heal_began=70.0, healed=71.0
        )
    acknowledged(h, 120, at=42.0, epoch=1, broker=2)
    read(h, 100, at=at)
