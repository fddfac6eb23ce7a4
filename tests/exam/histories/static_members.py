"""Two processes with one group.instance.id: who owns the partitions, and who knows it."""

from tests.exam.history import NONE, UNDECIDED, VIOLATION, History, asks
from tests.exam.verbs import joined, left, plain

FENCED = (
    "KIP-345: the newer process takes the member's place in the same generation; the older one is"
    " told by the response to its next request (FENCED_INSTANCE_ID)"
)
STATIC = {"group.instance.id": "i-{number}"}


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
