"""Waits for a broker that is silent: a client gives a request up after its own request timeout."""

from typing import Any

from msgspec.structs import replace

from contract.run_folder import MemberPlan
from tests.exam.history import PERMITTED, UNDECIDED, VIOLATION, History, asks_each
from tests.exam.verbs import cluster, joined, left, moved, plain, watched

TIMEOUTS = (
    "request.timeout.ms, here 10 s; librdkafka's CONFIGURATION.md, socket.timeout.ms: 60 s; "
    "kafka-python's KafkaConsumer, request_timeout_ms: 30 s; decision 8"
)
OF_PRODUCERS = (
    "request.timeout.ms, request_timeout_ms, here 10 s; librdkafka's CONFIGURATION.md: the lesser "
    "of socket.timeout.ms, 60 s, and message.timeout.ms, here 30 s at most; decision 8"
)
OFFSETS = "__consumer_offsets"
_LIBRDKAFKA = {"client": "librdkafka"}
_PYTHON = {"client": "kafka-python"}
_GUEST = {"client": "guest@mine"}


@asks_each(
    "The coordinator is paused, and another broker takes its place after 3 s. A commit",
    source=TIMEOUTS,
    check="commit_unavailable",
    cases={
        "of Java waits 28 s.": (PERMITTED, {"seconds": 28}),
        "of Java waits 40 s.": (VIOLATION, {}),
        "of Java's own 20 s waits 40 s.": (PERMITTED, {"settings": {"request.timeout.ms": 20_000}}),
        "of Java's own 5 s waits 28 s.": (
            PERMITTED,
            {"settings": {"request.timeout.ms": "5000"}, "seconds": 28},
        ),
        "of KIP-848 waits 40 s.": (VIOLATION, {"client": "java-consumer"}),
        "of librdkafka waits 62 s.": (PERMITTED, {**_LIBRDKAFKA, "seconds": 62}),
        "of librdkafka's own 10 s waits 40 s.": (
            VIOLATION,
            {**_LIBRDKAFKA, "settings": {"socket.timeout.ms": 10_000}},
        ),
        "of librdkafka, with a setting of Java, waits 40 s.": (
            PERMITTED,
            {**_LIBRDKAFKA, "settings": {"request.timeout.ms": 10_000}},
        ),
        "of kafka-python waits 62 s.": (PERMITTED, {**_PYTHON, "seconds": 62}),
        "of a version of kafka-python waits 62 s.": (
            PERMITTED,
            {"client": "kafka-python@3.0.5", "seconds": 62},
        ),
        "of kafka-python's own 12 s waits 35 s.": (
            PERMITTED,
            {**_PYTHON, "settings": {"request_timeout_ms": 12_000}, "seconds": 35},
        ),
        "of kafka-python's own 12 s waits 38 s.": (
            VIOLATION,
            {**_PYTHON, "settings": {"request_timeout_ms": 12_000}, "seconds": 38},
        ),
        "of kafka-python, whose timeout has no number, waits 40 s.": (
            UNDECIDED,
            {**_PYTHON, "settings": {"request_timeout_ms": "long"}},
        ),
        "of an unknown client waits 28 s.": (PERMITTED, {**_GUEST, "seconds": 28}),
        "of an unknown client waits 40 s.": (UNDECIDED, _GUEST),
        "of Java waits 40 s, in a group with librdkafka.": (
            PERMITTED,
            {"other": MemberPlan(client="librdkafka")},
        ),
        "of Java waits 40 s, in a group with an unknown client.": (
            UNDECIDED,
            {"other": MemberPlan(client="guest@mine")},
        ),
    },
)
def commit_waits_for_a_silent_coordinator(
    h: History,
    *,
    client: str = "java",
    settings: dict[str, str | int] | None = None,
    other: MemberPlan | None = None,
    seconds: float = 40,
) -> None:
    _coordinator(h, client=client, settings=settings, other=other)
    _waits(h, 21, 21 + seconds)


@asks_each(
    "Nothing holds any broker, and another one became the coordinator. A commit",
    source=TIMEOUTS,
    check="commit_unavailable",
    cases={
        "of librdkafka waits 40 s.": (VIOLATION, _LIBRDKAFKA),
        "of an unknown client waits 40 s.": (VIOLATION, _GUEST),
        "of librdkafka waits 40 s, after a pause of its coordinator.": (
            VIOLATION,
            {**_LIBRDKAFKA, "paused": (8, 12)},
        ),
        "of librdkafka waits 40 s, before a pause of its coordinator.": (
            VIOLATION,
            {**_LIBRDKAFKA, "paused": (63, 65)},
        ),
        "of librdkafka waits 40 s, at the end of which its coordinator is paused.": (
            PERMITTED,
            {**_LIBRDKAFKA, "paused": (59, 65)},
        ),
    },
)
def commit_waits_without_a_silent_broker(
    h: History, *, client: str, paused: tuple[float, float] | None = None
) -> None:
    _coordinator(h, client=client, paused=paused)
    _waits(h, 21, 61)


@asks_each(
    "The coordinator is paused; a commit of one member waits in vain for 24 s, and",
    source="request.timeout.ms is of each request; a member that is opened has sent none before",
    check="commit_unavailable",
    cases={
        "that of the next member, which was opened meanwhile, for 24 s.": (
            f"{PERMITTED}: unavailable: 1 operations waited for 24.0 s",
            {"member": "2"},
        ),
        "its next one for 24 s.": (f"{VIOLATION}: unavailable: 2 operations", {"member": "1"}),
        "its next one for 24 s; one of another member was answered between.": (
            f"{PERMITTED}: unavailable: 1 operations waited for 24.0 s",
            {"member": "1", "answered": 45.5},
        ),
    },
)
def next_commit_waits_for_a_silent_coordinator(
    h: History, *, member: str, answered: float | None = None
) -> None:
    _coordinator(h)
    _waits(h, 21, 45, error="TimeoutException")
    if answered is not None:
        h.commit(49, 0, at=answered, generation=2, member="3")
    if member != "1":
        joined(h, 0, at=45.5, member=member, generation=2)
    _waits(h, 46, 70, member=member)


@asks_each(
    "The leader is paused, and another broker leads after 4 s. A member",
    source=TIMEOUTS,
    check="fetch_unavailable",
    cases={
        "of Java is given nothing for 40 s.": (VIOLATION, {}),
        "of Java's own 20 s is given nothing for 40 s.": (
            PERMITTED,
            {"settings": {"request.timeout.ms": 20_000}},
        ),
        "of librdkafka is given nothing for 62 s.": (PERMITTED, {**_LIBRDKAFKA, "until": 82}),
        "of librdkafka's own 10 s is given nothing for 40 s.": (
            VIOLATION,
            {**_LIBRDKAFKA, "settings": {"socket.timeout.ms": "10000"}},
        ),
        "of kafka-python is given nothing for 62 s.": (PERMITTED, {**_PYTHON, "until": 82}),
        "of librdkafka is given nothing for 40 s; nothing was paused.": (
            VIOLATION,
            {**_LIBRDKAFKA, "fault": ""},
        ),
        "of an unknown client is given nothing for 40 s.": (UNDECIDED, _GUEST),
        "of an unknown client is given nothing for 28 s.": (PERMITTED, {**_GUEST, "until": 48}),
        "of Java is given nothing for 20 s, and then one that takes the partition for 20 s.": (
            f"{PERMITTED}: unavailable: 1 operations waited for 20.0 s",
            {"is_taken": True},
        ),
    },
)
def member_waits_for_a_silent_leader(
    h: History,
    *,
    client: str = "java",
    settings: dict[str, str | int] | None = None,
    fault: str = "pause",
    is_taken: bool = False,
    until: float = 60,
) -> None:
    h.topic(replication=3)
    h.group(client=client, settings=settings, members=2)
    moved(h, at=24.0)
    watched(h, 2, 100, times=(26.1,), epoch=1)
    h.registered(3, at=0.2, is_fenced=False)
    if fault:
        h.fault(fault, h.on_broker(1), injected=20.0, healed=max(until, 62.0))
    joined(h, 0, at=4.0, member="2")
    h.polled(0, 9, at=5.0, member="2")
    h.changed("revoked", at=6.0, position=10, member="2", generation=1)
    joined(h, 10, at=7.0, generation=2)
    h.polled(10, 29, at=20.0)
    if is_taken:
        h.changed("revoked", at=40.0, position=30, generation=2)
        h.changed("assigned", at=40.0, position=30, member="2", generation=3)
        h.polled(30, 39, at=until, member="2")
        h.changed("revoked", at=until + 1, position=40, member="2", generation=3)
        h.changed("assigned", at=until + 1, position=40, generation=4)
        until += 2
    h.polled(40 if is_taken else 30, 99, at=until)
    left(h, 100, at=85.0, generation=4 if is_taken else 2, caught_up=True)


_JAVA_20 = {"settings": {"request.timeout.ms": 20_000, "delivery.timeout.ms": 60_000}}
_NO_NUMBER = {**_PYTHON, "settings": {"request_timeout_ms": "long"}}


def _librdkafka(**settings: int) -> dict[str, Any]:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return {**_LIBRDKAFKA, "settings": named}


@asks_each(
    "The leader is paused, and another broker leads after 4 s. A value",
    source=OF_PRODUCERS,
    check="produce_unavailable",
    cases={
        "of Java waits 28 s.": (PERMITTED, {"seconds": 28}),
        "of Java waits 40 s.": (VIOLATION, {}),
        "of Java's own 20 s waits 40 s.": (PERMITTED, _JAVA_20),
        "of Java's own 20 s waits 62 s.": (VIOLATION, {**_JAVA_20, "seconds": 62}),
        "of Java's own 20 s waits 40 s, after the pause.": (
            VIOLATION,
            {**_JAVA_20, "paused": (8, 12)},
        ),
        "of Java's own 20 s waits 40 s, before the pause.": (
            VIOLATION,
            {**_JAVA_20, "paused": (63, 65)},
        ),
        "of Java's own 20 s waits 40 s; nothing was paused.": (
            VIOLATION,
            {**_JAVA_20, "paused": None},
        ),
        "of kafka-python waits 40 s.": (VIOLATION, _PYTHON),
        "of kafka-python's own 12 s waits 35 s.": (
            PERMITTED,
            {**_PYTHON, "settings": {"request_timeout_ms": "12000"}, "seconds": 35},
        ),
        "of kafka-python, whose timeout has no number, waits 28 s.": (
            PERMITTED,
            {**_NO_NUMBER, "seconds": 28},
        ),
        "of kafka-python, whose timeout has no number, waits 40 s.": (UNDECIDED, _NO_NUMBER),
        "of kafka-python, whose timeout has no number, waits 40 s; nothing was paused.": (
            VIOLATION,
            {**_NO_NUMBER, "paused": None},
        ),
        "of librdkafka waits 62 s.": (PERMITTED, {**_LIBRDKAFKA, "seconds": 62}),
        "of librdkafka, which has 12 s for a value, waits 35 s.": (
            PERMITTED,
            {**_librdkafka(message_timeout_ms=12_000), "seconds": 35},
        ),
        "of librdkafka, which has 12 s for a value, waits 38 s.": (
            VIOLATION,
            {**_librdkafka(delivery_timeout_ms=12_000, request_timeout_ms=60_000), "seconds": 38},
        ),
        "of librdkafka, which has 12 s for a request, waits 38 s.": (
            VIOLATION,
            {**_librdkafka(message_timeout_ms=0, socket_timeout_ms=12_000), "seconds": 38},
        ),
        "of a producer that is not planned waits 40 s.": (VIOLATION, {"client": ""}),
        "of Java waits 40 s; librdkafka writes to the topic, too.": (
            PERMITTED,
            {"other": _LIBRDKAFKA},
        ),
        "of Java waits 40 s; one whose timeout has no number writes to the topic, too.": (
            UNDECIDED,
            {"other": _NO_NUMBER},
        ),
        "of Java waits 40 s; librdkafka writes to another topic.": (
            VIOLATION,
            {"other": {**_LIBRDKAFKA, "topic": "u"}},
        ),
    },
)
def value_waits_for_a_silent_leader(
    h: History,
    *,
    client: str = "java",
    settings: dict[str, str | int] | None = None,
    other: dict[str, Any] | None = None,
    paused: tuple[float, float] | None = (20, 84),
    seconds: float = 40,
) -> None:
    h.topic(replication=3)
    h.topic("u", replication=3)
    if client:
        h.producer(client=client, settings=settings)
    if other is not None:
        h.producer("q", **other)
    cluster(h)
    h.registered(3, at=0.2, is_fenced=False)
    h.led(2, 1, at=24.0, isr=(2, 3))
    if paused is not None:
        h.fault("pause", h.on_broker(1), injected=paused[0], healed=paused[1])
    h.sent(0, at=21 + seconds, intended_at=21)


def _coordinator(
    h: History,
    *,
    client: str = "java",
    settings: dict[str, str | int] | None = None,
    other: MemberPlan | None = None,
    paused: tuple[float, float] | None = (20, 84),
) -> None:
    """Broker 2 is the coordinator, and broker 1 from 23 on; a member has read and committed."""
    h.topic(replication=3)
    h.group(client=client, settings=settings, members=2)
    if other is not None:
        h.groups[-1] = replace(h.groups[-1], others={2: other})
    plain(h, 99)
    h.registered(3, at=0.2, is_fenced=False)
    h.led(2, 0, at=0.6, isr=(1, 2, 3), topic=OFFSETS, partition=h.index)
    h.led(1, 1, at=23.0, isr=(1, 3), topic=OFFSETS, partition=h.index)
    if paused is not None:
        h.fault("pause", h.on_broker(2), injected=paused[0], healed=paused[1])
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.commit(40, 0, at=7.0, generation=1)


def _waits(
    h: History, began: float, ended: float, *, member: str = "1", error: str | None = None
) -> None:
    """A commit waits for its response; with an error it was in vain."""
    h.commit(
        50,
        0,
        at=ended,
        stored=error is None,
        outcome="ok" if error is None else "unknown",
        error=error,
        generation=1 if member == "1" else 2,
        member=member,
    )
    h.rows["commits"][-1]["began_micros"] = h.at(began)
