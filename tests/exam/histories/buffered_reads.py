"""Records below a moved log start that a member may hold, or a follower may serve, by then."""

from tests.exam.history import PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies, started, written

KEPT = (
    "ConsumerCoordinator, cooperative protocol; KIP-848: a partition that is kept stays fetched,"
    " though the assignment names it again"
)
FOLLOWER = (
    "KIP-392: a follower in sync serves what it has; it hears of the leader's log start with its"
    " next fetch, and is out of sync after replica.lag.time.max.ms (30 s)"
)


def _expired(
    h: History,
    *,
    assigned: float,
    delivered: float,
    named_again: float | None = None,
    lost: str = "",
    rack: bool = False,
) -> None:
    """DeleteRecords moves the log start to 60 at second 20; a member gets 50 to 99."""
    written(h, 100, deletes=True)
    h.group(settings={"client.rack": "r"} if rack else None)
    h.sampled(1, at=19, end=100, isr=[1, 2])
    h.log_started(1, 60, at=20, reason="client delete records request")
    h.log_started(2, 60, at=20.5, reason="leader offset increment")
    for at in (20.05, 32, 70):
        h.sampled(1, at=at, end=100, start=60, isr=[1, 2])
    started(h, 0, at=4, fresh=True)
    h.polled(0, 49, at=5)
    h.commit(50, 0, at=6)
    h.changed("closed", at=7)
    started(h, 50, at=assigned, member="2", generation=3)
    if lost:
        h.changed(lost, at=22, position=50, member="2", generation=3)
    if named_again is not None:
        h.changed("assigned", at=named_again, position=50, member="2", generation=4)
    h.polled(50, 99, at=delivered, member="2")
    h.changed("caught_up", at=delivered + 1, position=100, member="2")
    h.commit(100, 0, at=delivered + 2, member="2")
    h.changed("closed", at=delivered + 3, member="2")
    copies(h, (1, 2), (0, 99, 0), start=60, high_watermark=100)


@asks(
    "A member keeps its partition in a rebalance that names it again, and delivers what it holds.",
    source=KEPT,
    expects={"expired_read": PERMITTED},
)
def kept_partition_is_named_again(h: History) -> None:
    _expired(h, assigned=8, named_again=24, delivered=25)


@asks(
    "A member gives its partition back, is assigned it anew, and delivers what had expired.",
    source="FetchCollector.fetchRecords: what was fetched of a partition that is no longer "
    "assigned is dropped",
    expects={"expired_read": VIOLATION},
)
def partition_comes_back(h: History) -> None:
    _expired(h, assigned=8, lost="revoked", named_again=24, delivered=25)


@asks(
    "A member loses its partition, is assigned it anew, and delivers what had expired.",
    source="FetchCollector.fetchRecords: what was fetched of a partition that is no longer "
    "assigned is dropped",
    expects={"expired_read": VIOLATION},
)
def lost_partition_comes_back(h: History) -> None:
    _expired(h, assigned=8, lost="lost", named_again=24, delivered=25)


@asks(
    "A member with a client.rack opens 0.1 s after the log start moved, and is given what expired.",
    source=FOLLOWER,
    expects={"expired_read": PERMITTED},
)
def follower_has_not_heard_of_the_log_start(h: History) -> None:
    _expired(h, assigned=20.1, delivered=20.45, rack=True)


@asks(
    "A member without a client.rack opens 0.2 s after the log start moved, and is given what"
    " expired.",
    source="ReplicaManager.fetch: an offset below the log start is answered OFFSET_OUT_OF_RANGE",
    expects={"expired_read": VIOLATION},
)
def leader_serves_what_expired(h: History) -> None:
    _expired(h, assigned=20.1, delivered=20.45)


@asks(
    "A member with a client.rack opens 40 s after the log start moved, and is given what expired.",
    source=FOLLOWER,
    expects={"expired_read": VIOLATION},
)
def follower_serves_what_expired_long_ago(h: History) -> None:
    _expired(h, assigned=60, delivered=61, rack=True)
