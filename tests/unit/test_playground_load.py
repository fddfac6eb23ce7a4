"""A playground by hand: its shape, its load, faults beside each other, and what is shown of it."""

import io
from types import SimpleNamespace
from typing import Any, Literal, cast

import msgspec
import pytest

from cluster.nodes.node import NodeState
from cluster.nodes.traffic import Direction, Traffic
from contract.errors import TargetError, UsageError
from contract.events import (
    Committed,
    ConsumerFailed,
    Event,
    FaultChanged,
    GroupChanged,
    Sampled,
    Sent,
)
from contract.program import Terminal
from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan
from contract.terms import CommitEpoch, FaultTarget, GroupChange, Manner, Outcome, TargetKind
from contract.waiting import wait_until
from harness.clients.admin import ListedOffset, MemberView
from harness.clients.broker_view import BrokerView, GroupState
from harness.clients.member_role import Progress
from harness.clients.views import PartitionState
from harness.commands.status import shown_status
from harness.faults.broker_fault import await_fenced, witnesses
from harness.faults.fault import Fault, Field, HeldFault
from harness.faults.language import parse_fault
from harness.faults.overlap import names_of, require_compatible
from harness.faults.rules import Rules
from harness.playground.chronicle import chronicle, events_of, happenings
from harness.playground.load import LoadOrders, produced_by
from harness.playground.shape import SHAPE, shape_asked, shape_of
from harness.playground.state import Playground
from harness.playground.status import FaultState, ServerState, Status, partitions_of
from harness.story.run import Run
from harness.story.workload import reader, writer
from tests.made import make_struct


def plan(
    topic: str, *, partitions: int = 3, replication: int = 3, min_insync: int = 2
) -> TopicPlan:
    shape = {"partitions": partitions, "replication": replication, "min_insync": min_insync}
    return make_struct(TopicPlan, topic=topic, **shape)


def test_a_shape_is_three_brokers_and_orders_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shape_asked() == shape_of()
    assert shape_of().topics == [plan("orders")]
    assert not shape_of().is_spread
    wide = shape_of(brokers=5, controllers=3, topics=["a:6:2", "b:1", "c"])
    assert wide.topology.node_count == 8
    assert wide.topics == [
        plan("a", partitions=6, replication=2, min_insync=1),
        plan("b", partitions=1),
        plan("c"),
    ]
    assert wide.words() == [
        *("--brokers=5", "--controllers=3"),
        *("--topic=a:6:2", "--topic=b:1:3", "--topic=c:3:3"),
    ]
    assert shape_of().words() == ["--brokers=3", "--controllers=0"]
    assert shape_of(brokers=1).topics == [plan("orders", replication=1, min_insync=1)]
    monkeypatch.setenv(SHAPE, msgspec.json.encode(wide).decode())
    assert shape_asked() == wide


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ({"brokers": 0}, "brokers=0"),
        ({"topics": ["a:0:1"]}, "partitions=0"),
        ({"topics": ["a:1:4"]}, "replication=4 has to be a number, 1 to 3"),
        ({"topics": ["a b"]}, "'a b' is no topic"),
        ({"topics": ["a:1:1:1"]}, "is no topic"),
        ({"topics": ["a", "a:2"]}, "topic a is named twice"),
    ],
)
def test_a_shape_that_can_not_be_is_refused(asked: dict[str, Any], reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        shape_of(**asked)


# A second fault knows of the first.


def on(verb: str, target: str, *brokers: int) -> Fault:
    """A fault whose target is resolved."""
    fault = parse_fault(verb, target)
    fault.target = msgspec.structs.replace(fault.target, brokers=brokers)
    return fault


def held_fault(fault: Fault, number: int) -> HeldFault:
    return HeldFault(fault, number, cast("Field", None), injected_micros=0)


@pytest.mark.parametrize(
    ("first", "second", "is_possible"),
    [
        (on("kill", "leader:orders-0", 1), on("pause", "broker:1", 1), False),
        (on("pause", "all", 1, 2, 3), on("cut", "broker:2", 2), False),
        (on("cut", "broker:1", 1), on("cut", "leader:orders-0", 1), False),
        (on("cut", "broker:1", 1), on("kill", "broker:1", 1), True),
        (on("cut-in", "broker:1", 1), on("cut-out", "broker:1", 1), True),
        (on("kill", "broker:1", 1), on("kill", "broker:2", 2), True),
        (on("pause", "client:clients"), on("cut", "client:clients"), False),
        (on("pause", "client:clients"), on("pause", "client:librdkafka"), True),
        (on("pause", "broker:1", 1), on("elect", "partition:orders-0"), True),
    ],
)
def test_a_fault_that_can_have_no_effect_beside_another_is_refused(
    first: Fault, second: Fault, *, is_possible: bool
) -> None:
    if is_possible:
        require_compatible(second, [held_fault(first, 4)])
        return
    with pytest.raises(TargetError, match="heal that first: fencepost play heal 4"):
        require_compatible(second, [held_fault(first, 4)])


def test_a_held_fault_has_several_names() -> None:
    names = names_of(held_fault(on("cut-controllers", "leader:orders-0", 1), 2))
    by_words = {"cut-controllers", "leader:orders-0", "cut-controllers leader:orders-0"}
    assert names == {"2", *by_words}


def field(rules: Rules, *, down: tuple[int, ...] = ()) -> Field:
    nodes = {
        i: SimpleNamespace(name=f"node-{i}", state=NodeState.RUNNING, block=str) for i in (1, 2, 3)
    }
    kafka = SimpleNamespace(
        topology=SimpleNamespace(controller_ids=[1, 2, 3], broker_ids=[1, 2, 3]),
        is_running=lambda i: i not in down,
        host=nodes.__getitem__,
        answering_brokers=lambda: [i for i in nodes if i not in down],
    )
    return cast("Field", SimpleNamespace(kafka=kafka, rules=rules))


@pytest.mark.parametrize(
    ("port", "among", "reporting"),
    [(9093, [1], [2, 3]), (9093, [2], []), (None, [2], []), (9094, [2], [1, 3])],
)
def test_a_broker_that_another_fault_cuts_off_reports_nothing(
    port: int | None, among: list[int], reporting: list[int]
) -> None:
    rules = Rules()
    on_field = field(rules)
    rule = Traffic(peer="10.0.0.2", direction=Direction.IN, port=port)
    rules.block(on_field.kafka.host(1), rule, by="fault")
    assert witnesses(on_field, among) == reporting
    assert witnesses(field(Rules(), down=(3,)), [2]) == []


def test_a_slow_broker_reports_a_suspended_one_does_not() -> None:
    """Of the states that faults set, only one means that nothing is awaited of a node."""
    on_field = field(Rules())
    on_field.kafka.host(1).state = NodeState.SLOW
    assert witnesses(on_field, [3]) == [1, 2]
    on_field.kafka.host(1).state = NodeState.SUSPENDED
    assert witnesses(on_field, [3]) == []
    on_field.kafka.host(1).state = NodeState.RUNNING
    assert witnesses(on_field, [3]) == [1, 2]


def test_a_broker_that_ends_meanwhile_is_no_longer_asked() -> None:
    ended: list[int] = []

    def seen_by(broker: int) -> list[int]:
        """Broker 1 was killed, too: it runs when it is first asked, and does not respond."""
        ended.extend([1] if broker == 1 else [])
        return [] if broker == 1 else [3]

    made_field = field(Rules())
    topology = SimpleNamespace(controller_ids=[3], broker_ids=[1, 2, 3])
    own = {"topology": topology, "is_running": lambda i: i not in ended}
    kafka = SimpleNamespace(**vars(made_field.kafka) | own)
    observer = SimpleNamespace(await_that=wait_until, brokers_seen_by=seen_by)
    on_field = SimpleNamespace(kafka=kafka, rules=made_field.rules, observer=observer)
    assert await_fenced(cast("Field", on_field), 2, among=[2]) == [3]


# Load in the background.


class Story:
    """Keeps what it is told, as a run's verbs and its workload."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.kafka = SimpleNamespace(version="4.4.0")
        self.plan = SimpleNamespace(topics=[plan("orders")])
        self.workload = self

    def start_producer(self, plan: ProducerPlan, *, records_per_second: int) -> None:
        self.did.append(f"start {plan.producer} on {plan.topic}, {records_per_second}/s")

    def stop_producer(self, name: str) -> dict[int, dict[Outcome, int]]:
        self.did.append(f"stop {name}")
        return {0: {Outcome.OK: 2, Outcome.UNKNOWN: 1}, 1: {Outcome.OK: 3, Outcome.FAILED: 4}}

    def add(self, **load: list[GroupPlan | ProducerPlan]) -> None:
        ((kind, (planned,)),) = load.items()
        self.did.append(
            f"add {kind} {planned.group if isinstance(planned, GroupPlan) else planned.producer}"
        )

    def open(self, groups: list[GroupPlan], *, incarnation: int) -> list[str]:
        return [f"{group.group}#{incarnation}" for group in groups]

    def start_reading(self, members: list[str], **_: Any) -> None:
        self.did.append(f"read {members[0]}")

    def stop_reading(self, members: list[str]) -> None:
        self.did.append(f"stop {members[0]}")

    def close(self, members: list[str]) -> None:
        self.did.append(f"close {members[0]}")


def consume(orders: LoadOrders, **other: Any) -> list[str]:
    return orders.consume(msgspec.structs.replace(reader("readers", "orders"), **other))


def produce(orders: LoadOrders, name: str = "", *, topic: str = "orders", **other: Any) -> str:
    return orders.produce(writer(name, topic, records_per_second=5, **other))


def test_a_producer_gets_a_name_and_its_outcomes_are_counted() -> None:
    story = Story()
    orders = LoadOrders(cast("Run", story))
    for acks, expected in (("1", "acks-1"), ("all", "acks-all"), ("1", "acks-1-2")):
        assert produce(orders, acks=acks) == expected
    assert story.did[:2] == ["add producers acks-1", "start acks-1 on orders, 5/s"]
    (stopped,) = orders.stop_producing("acks-1")
    assert (stopped.ok, stopped.failed, stopped.unknown) == (5, 4, 1)
    assert [producer.producer for producer in orders.stop_producing()] == ["acks-all", "acks-1-2"]
    with pytest.raises(UsageError, match="no producer acks-1 now; there are: none"):
        orders.stop_producing("acks-1")
    with pytest.raises(UsageError, match="each has a name of its own"):
        produce(orders, "acks-1")
    for other, reported in (
        ({"topic": "nosuch"}, "no topic nosuch; there are: orders"),
        ({"acks": "2"}, "no acks 2; there are: 0, 1, all"),
        ({"client": "java-consumer"}, "no client java-consumer; there are: java, "),
    ):
        with pytest.raises(UsageError, match=reported):
            produce(orders, **other)


def test_a_group_that_reads_again_is_its_next_incarnation() -> None:
    story = Story()
    orders = LoadOrders(cast("Run", story))
    assert consume(orders) == ["readers#1"]
    with pytest.raises(UsageError, match="readers reads already"):
        consume(orders)
    assert orders.stop_consuming("readers") == ["readers"]
    assert consume(orders) == ["readers#2"]
    assert orders.stop_consuming() == ["readers"]
    ends = [f"{what} readers#{number}" for number in (1, 2) for what in ("read", "stop", "close")]
    assert story.did == ["add groups readers", *ends]
    with pytest.raises(UsageError, match="no group others now"):
        orders.stop_consuming("others")


@pytest.mark.parametrize(
    ("other", "reported"),
    [
        ({"topic": "nosuch"}, "there is no topic nosuch"),
        ({"client": "sarama"}, "there is no client sarama; there are: java, "),
        ({"commit_epoch": CommitEpoch.FORCED}, "style forced is for scenarios"),
        ({"client": "kafka-python", "manner": Manner.REVOKED}, "needs java or java-consumer"),
    ],
)
def test_a_group_that_can_not_be_is_refused(other: dict[str, Any], reported: str) -> None:
    story = Story()
    with pytest.raises(UsageError, match=reported):
        consume(LoadOrders(cast("Run", story)), **other)
    assert story.did == []


# What is shown.


def state(leader: int, epoch: int, end: int = -1) -> PartitionState:
    where = {"topic": "orders", "leader": leader, "isr": [leader]}
    return make_struct(PartitionState, **where, leader_epoch=epoch, log_end_offset=end)


def test_a_partition_is_its_newest_leaders_and_a_deposed_one_is_named() -> None:
    views = [
        BrokerView(broker=1, partitions=[state(1, 0, end=90)], groups=[]),
        BrokerView(broker=2, partitions=[state(2, 1, end=70)], groups=[]),
        BrokerView(broker=3, partitions=[state(2, 1)], groups=[]),
    ]
    (seen,) = partitions_of(views)
    assert (seen.leader, seen.leader_epoch, seen.log_end_offset) == (2, 1, 70)
    assert [(view.broker, view.leader, view.leader_epoch) for view in seen.other_views] == [
        (1, 1, 0)
    ]


def test_a_status_shows_what_a_person_looks_for() -> None:
    counts = {0: {Outcome.OK: 7}, 1: {Outcome.UNKNOWN: 2}}
    load = writer("acks-1", "orders", acks="1", records_per_second=50)
    seen = Status(
        controller=-1,
        servers=[
            ServerState(id=1, roles="broker", state="running"),
            ServerState(id=2, roles="broker", state="paused"),
        ],
        faults=[
            FaultState(
                number=3, fault="cut in", target="broker:1 (broker 1)", landed=True, seconds=8.4
            )
        ],
        partitions=partitions_of(
            [
                BrokerView(broker=1, partitions=[state(1, 0, end=90)], groups=[]),
                BrokerView(broker=2, partitions=[state(-1, 1)], groups=[]),
            ]
        ),
        groups=[
            GroupState(
                group="readers",
                coordinator=1,
                type="classic",
                state="Stable",
                members=[MemberView(member="m", client="readers#1", partitions=["orders-1"])],
                commits=[ListedOffset(topic="orders", partition=0, offset=60, epoch=-1)],
            )
        ],
        producers=[produced_by(load, counts)],
        readers=[Progress(member="readers#1", records=9, commits=4, failures=1)],
        silent=["librdkafka"],
    )
    terminal = Terminal(width=120, record=True, file=io.StringIO())
    terminal.print(shown_status(make_struct(Playground, kafka="4.4.0", cluster="embedded"), seen))
    shown = " ".join(terminal.export_text().split())
    for part in (
        "Kafka 4.4.0 on embedded, no controller",
        "server 2 is paused",
        "fault 3 holds for 8 s: cut in broker:1 (broker 1), landed",
        "workers that do not respond: librdkafka",
        "orders-0 none 1 -1 0 ?",
        "seen by broker 1 1 (itself) 0 1 90",
        "readers Stable 1 orders-0 60 none orders-1 readers#1",
        "acks-1 java, 50 records/s to orders, acks=1 7 ok, 0 failed, 2 unknown",
        "readers#1 reads 9 records, 4 commits, 1 exceptions",
    ):
        assert part in shown, shown


# What happened so far.


def lines(*events: Event) -> bytes:
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def sample_event(
    micros: int, broker: int, leader: int, epoch: int, *isr: int, end: int = -1
) -> Event:
    return make_struct(
        Sampled,
        wall_micros=micros,
        broker=broker,
        topic="orders",
        leader=leader,
        leader_epoch=epoch,
        isr=list(isr),
        log_end_offset=end,
    )


def change_event(micros: int, change: Literal["injected", "proved", "healed"]) -> Event:
    target = FaultTarget(target_kind=TargetKind.BROKER, brokers=(1,))
    fault = "cut controllers"
    return make_struct(
        FaultChanged, wall_micros=micros, fault=fault, target=target, change=change, landed=True
    )


def test_a_chronicle_has_leaders_faults_and_what_failed() -> None:
    sent = make_struct(Sent, topic="orders", producer="p", outcome=Outcome.UNKNOWN, error="Timeout")
    history = lines(
        sample_event(1, 1, 1, 0, 1, 2, end=0),
        sample_event(2, 2, 1, 0, 1, 2),
        change_event(3, "injected"),
        sample_event(4, 2, 2, 1, 2, end=7),
        sample_event(5, 1, 1, 0, 1, 2, end=9),
        sample_event(6, 1, 1, 0, 1, 2, end=10),
        msgspec.structs.replace(sent, wall_micros=7, sequences=[1, 2], offsets=[-1, -1]),
        msgspec.structs.replace(sent, wall_micros=8, sequences=[3], offsets=[-1]),
        msgspec.structs.replace(sent, wall_micros=8, outcome=Outcome.OK, error=None),
        make_struct(Sampled, wall_micros=9, topic="others", leader_epoch=8),
        change_event(10, "healed"),
        sample_event(11, 1, 2, 1, 2),
        sample_event(12, 2, 2, 1, 1, 2, end=12),
    )
    found = happenings(events_of(history + b'{"event":"Sam'), "orders-0", is_group=False)
    assert [happening.what for happening in found] == [
        "broker 1 leads under epoch 0, ISR 1, 2, log end 0",
        "fault 0 (cut controllers broker:1 (broker 1)) injected",
        "broker 2 leads under epoch 1, ISR 2, log end 7",
        "broker 1 still sees itself lead under epoch 0",
        "3 values of p ended unknown: Timeout",
        "fault 0 (cut controllers broker:1 (broker 1)) healed",
        "broker 1 sees epoch 1",
        "broker 2 leads under epoch 1, ISR 1, 2, log end 12",
    ]


def test_a_groups_chronicle_has_its_members_new_epochs_and_failures() -> None:
    member: dict[str, Any] = {"group": "g", "member": "g#1", "topic": "orders"}
    commit = make_struct(Committed, **member, offset=5, outcome=Outcome.OK)
    refused = msgspec.structs.replace(commit, outcome=Outcome.FAILED, error="Fenced", epoch=1)
    history = lines(
        make_struct(GroupChanged, wall_micros=1, **member, change=GroupChange.OPENED),
        make_struct(
            GroupChanged,
            wall_micros=2,
            **member,
            partition=0,
            change=GroupChange.ASSIGNED,
            position=3,
        ),
        msgspec.structs.replace(commit, wall_micros=3),
        msgspec.structs.replace(commit, wall_micros=4, offset=6),
        msgspec.structs.replace(refused, wall_micros=5),
        msgspec.structs.replace(commit, wall_micros=5, outcome=Outcome.NOTHING),
        msgspec.structs.replace(commit, wall_micros=5, outcome=Outcome.NOTHING),
        msgspec.structs.replace(commit, wall_micros=6, offset=7, epoch=1),
        make_struct(ConsumerFailed, wall_micros=7, **member, exception="Truncated", message="at 7"),
        make_struct(GroupChanged, wall_micros=8, group="others", change=GroupChange.OPENED),
    )
    assert [happening.what for happening in happenings(events_of(history), "g", is_group=True)] == [
        "g#1 opened",
        "g#1 assigned orders-0, position 3 after the poll",
        "g#1 committed 5, epoch 0, on orders-0",
        "1 commit of g#1 on orders-0 ended failed: Fenced",
        "2 commits of g#1 on orders-0 had no valid position to commit",
        "g#1 committed 7, epoch 1, on orders-0",
        "g#1 raised Truncated: at 7",
    ]


def test_a_chronicle_is_of_what_there_is() -> None:
    run = SimpleNamespace(plan=SimpleNamespace(topics=[plan("orders")], groups=[]))
    with pytest.raises(UsageError, match="no partition or group orders-3; there are: partitions"):
        chronicle(cast("Run", run), "orders-3")
