"""Two processes with one group.instance.id: who owns the partitions, and who knows it."""

from typing import Any

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import joined, left, plain, reads_to

FENCED = (
    "KIP-345: the newer process takes the member's place in the same generation; the older one is"
    " told by the response to its next request (FENCED_INSTANCE_ID)"
)
STATIC = {"group.instance.id": "i-{number}"}
REPLACED = (
    "KIP-345: another process with the same group.instance.id takes the member's place, and the "
    "older process is fenced by the response to its next request"
)


def _two(
    h: History,
    *,
    until: float,
    client: str = "java",
    committed: float | None = None,
    outcome: str = "failed",
    is_fenced: bool = False,
) -> None:
    """The newer process is assigned the partition at 20; the older one delivers up to `until`."""
    h.topic()
    h.group(client=client, settings=STATIC)
    plain(h, 99)
    joined(h, 0, at=5.0, generation=3)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=3)
    joined(h, 50, at=20.0, member="2", generation=3)
    if committed is not None:
        h.commit(
            50,
            0,
            at=committed,
            stored=outcome == "ok",
            outcome=outcome,
            error=None if outcome == "ok" else "FencedInstanceIdException",
            generation=3,
        )
    h.polled(50, 59, at=until)
    if is_fenced:
        h.changed("failed", at=until + 0.1, exception="FencedInstanceIdException", message="fenced")
    h.polled(50, 99, at=21.0, member="2")
    h.commit(100, 0, at=60.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "The older process delivers what it had fetched 0.1 s after the newer one is assigned, and is"
    " fenced.",
    source=FENCED,
    expects={"double_ownership": NONE, "commit_from_old_generation": NONE},
)
def older_process_delivers_its_buffer(h: History) -> None:
    _two(h, until=20.1, is_fenced=True)


@asks(
    "The older process delivers until it is fenced, 2.9 s after the newer one is assigned.",
    source=FENCED + "; heartbeat.interval.ms is 3 s",
    expects={"double_ownership": NONE},
)
def older_process_delivers_until_its_heartbeat(h: History) -> None:
    _two(h, until=22.9)


@asks(
    "The older process delivers 15 s later; none of its requests is on record.",
    source=FENCED + "; a process that is cut from its coordinator is told nothing",
    expects={"double_ownership": UNDECIDED},
)
def older_process_delivers_long_after(h: History) -> None:
    _two(h, until=35.0)


@asks(
    "The older process, whose application is slow, delivers 15 s later and is fenced.",
    source=FENCED,
    expects={"double_ownership": NONE},
)
def slow_process_delivers_before_it_is_fenced(h: History) -> None:
    _two(h, until=35.0, is_fenced=True)


@asks(
    "The older process is fenced by the response to a commit, and delivers 0.5 s after that.",
    source=FENCED,
    expects={"double_ownership": VIOLATION},
)
def older_process_delivers_after_it_was_fenced(h: History) -> None:
    _two(h, until=21.5, committed=21.0)


@asks(
    "The older process commits, is acknowledged, and goes on delivering.",
    source=FENCED + ": the commit had to be refused",
    expects={"double_ownership": VIOLATION},
)
def older_process_goes_on_committing(h: History) -> None:
    _two(h, until=21.5, committed=21.0, outcome="ok")


@asks(
    "With the consumer protocol both processes own the partition; the older one delivers 0.1 s"
    " later.",
    source="KIP-848: UNRELEASED_INSTANCE_ID for the newer process while the older one is in",
    expects={"double_ownership": VIOLATION},
)
def newer_process_is_let_in_by_the_consumer_protocol(h: History) -> None:
    _two(h, until=20.1, client="java-consumer")


@asks(
    "Two members of different group.instance.ids own one partition in one generation.",
    source="KafkaConsumer Javadoc: each partition goes to exactly one member of a group",
    expects={"double_ownership": VIOLATION},
)
def static_members_of_different_ids(h: History) -> None:
    h.topic()
    h.group(settings=STATIC)
    plain(h, 99)
    joined(h, 0, at=5.0, member="1.1", generation=3)
    h.polled(0, 49, at=6.0, member="1.1")
    joined(h, 50, at=20.0, member="1.2", generation=3)
    h.polled(50, 59, at=20.1, member="1.1")
    h.polled(50, 99, at=21.0, member="1.2")


@asks(
    "A static member is started again within its session; another one reads on meanwhile.",
    source="KIP-345: a static member that returns keeps its partitions, without a rebalance",
    expects={
        "double_ownership": NONE,
        "commit_from_old_generation": NONE,
        "start_mismatch": NONE,
        "commit_regressed": NONE,
    },
)
def static_member_returns_in_its_generation(h: History) -> None:
    h.topic(partitions=2)
    h.group(settings={"group.instance.id": "i{number}", "session.timeout.ms": 45_000})
    of_second: dict[str, Any] = {"partition": 1, "producer": "p1"}
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0)
    joined(h, 0, at=5.0, member="2", partitions=(1,))
    h.polled(0, 59, at=6.0)
    h.polled(0, 39, at=6.1, member="2", **of_second)
    h.commit(60, 0, at=10.0, brokers=(1, 2), generation=1)
    left(h, 60, at=20.0)
    h.polled(40, 99, at=22.0, member="2", **of_second)
    reported = {"member": "2", "generation": 1, "partition": 1}
    h.commit(100, 0, at=24.0, brokers=(1, 2), **reported)
    joined(h, 60, at=30.0, member="3")
    h.polled(60, 99, at=31.0, member="3")
    h.commit(100, 0, at=33.0, member="3", brokers=(1, 2), generation=1)
    h.changed("caught_up", at=40.0, position=100, member="3", generation=1)
    h.changed("caught_up", at=40.1, position=100, **reported)


@asks(
    "A suspended process of a static member wakes, delivers what it had fetched, and is fenced.",
    source=REPLACED,
    expects={
        "double_ownership": NOT_VIOLATION,
        "commit_mismatch": NONE,
        "commit_from_old_generation": NONE,
        "duplicate_delivery": PERMITTED,
    },
)
def suspended_process_of_a_static_member_wakes(h: History) -> None:
    _replaced(h)
    h.changed("closed", at=51.0)
    _of_another_worker(h)


@asks(
    "It delivers more after it was fenced.",
    source=REPLACED + "; AbstractCoordinator: FENCED_INSTANCE_ID is fatal to the consumer",
    expects={"double_ownership": VIOLATION, "commit_from_old_generation": NONE},
)
def fenced_process_of_a_static_member_delivers_more(h: History) -> None:
    _replaced(h)
    h.polled(60, 69, at=58.0)
    h.changed("closed", at=62.0)
    _of_another_worker(h)


def _replaced(h: History) -> None:
    """A static member's process is suspended from 10 to 50; another takes its place at 30.

    It then delivers 50 to 59, which it had fetched before, and its commit of 60 is refused.
    """
    h.topic()
    h.group(settings={"group.instance.id": "one"})
    plain(h, 99)
    h.worker()
    h.worker("w1")
    h.fault("pause", h.on_client("w1"), injected=10.0, heal_began=49.9, healed=50.0)
    reads_to(h, 49)
    h.commit(50, 0, at=7.0, brokers=(1, 2), generation=1)
    joined(h, 50, at=30.0, member="2")
    h.polled(50, 99, at=31.0, member="2")
    h.commit(100, 0, at=32.0, brokers=(1, 2), member="2", generation=1)
    h.polled(50, 59, at=50.2)
    error = "FencedInstanceIdException"
    h.commit(60, 0, at=50.5, outcome="failed", error=error, stored=False, generation=1)
    left(h, 100, at=80.0, member="2", caught_up=True)


def _of_another_worker(h: History) -> None:
    """Member 1 ran in a worker of its own."""
    for table in ("polls", "commits", "group_events"):
        for row in h.rows[table]:
            if row["member"] == h.member("1"):
                row["worker"] = h.own("w1")
