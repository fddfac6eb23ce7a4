"""A target that the cluster does not have is told from one that has no server now."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from contract.errors import FaultError, NotLandedError, TargetError, WorkerError
from contract.waiting import wait_until
from harness.clients.command import Call
from harness.clients.views import PartitionState
from harness.commands import playground
from harness.faults import targets
from harness.faults.fault import Field
from harness.faults.language import parse_fault
from harness.playground.serve import Injected
from harness.playground.status import Status
from tests.made import make_struct

LEADERLESS = 1


def state(partition: int) -> PartitionState:
    leader = -1 if partition == LEADERLESS else 1
    isr = [1] if partition == LEADERLESS else [1, 2]
    return make_struct(
        PartitionState,
        topic="orders",
        partition=partition,
        leader=leader,
        leader_epoch=3,
        isr=isr,
        log_end_offset=9,
    )


class FakeObserver:
    """Knows one topic, and no group or transactional.id."""

    def __init__(self, running: list[int]) -> None:
        topology = SimpleNamespace(broker_ids=[1, 2, 3], voter_ids=[1, 2, 3])
        self.kafka = SimpleNamespace(topology=topology, answering_brokers=lambda: running)
        self.worker = SimpleNamespace(call=lambda _: None)

    def topics(self) -> list[str]:
        return ["orders"]

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        return {partition: state(partition) for partition in range(3)} if topic == "orders" else {}

    def await_that(self, probe: Callable[[], Any], *, what: str, timeout_seconds: float) -> Any:
        return wait_until(probe, what=what, timeout_seconds=timeout_seconds)

    def transactions(self, ids: list[str]) -> None:
        raise WorkerError(f"refused to describe {ids}: TransactionalIdNotFoundException: no")


def prepare(verb: str, target: str, running: list[int]) -> None:
    observer = FakeObserver(running)
    on = SimpleNamespace(observer=observer, kafka=observer.kafka, clients={"clients": None})
    parse_fault(verb, target).prepare(cast("Field", on))


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "_KNOWN_SECONDS", 0.1)


@pytest.mark.parametrize(
    ("verb", "target", "reported"),
    [
        ("kill", "leader:nosuch-0", "there is no topic nosuch; there are: orders"),
        ("kill", "leader:orders-99", "no partition orders-99: orders has the partitions 0, 1, 2"),
        ("kill", "follower:nosuch-0", "there is no topic nosuch"),
        ("kill", "followers:orders-99", "there is no partition orders-99"),
        ("kill", "broker:9", r"the brokers are \[1, 2, 3\]"),
        ("elect", "partition:nosuch-0", "there is no topic nosuch"),
        ("elect-unclean", "partition:orders-99", "there is no partition orders-99"),
        ("recreate", "topic:none", "there is no topic none"),
        ("rebalance", "group:none", "there is no group none"),
        ("fence", "transactional.id:none", "no producer has used it"),
        ("pause", "client:none", "there are clients"),
    ],
)
def test_what_the_cluster_does_not_have_is_a_wrong_target(
    verb: str, target: str, reported: str
) -> None:
    with pytest.raises(TargetError, match=reported) as refused:
        prepare(verb, target, [1, 2, 3])
    assert refused.value.exit_code == 64


@pytest.mark.parametrize(
    ("target", "running", "reported"),
    [
        (
            f"leader:orders-{LEADERLESS}",
            [2],
            r"no leader now \(leader epoch 3, ISR \[1\]\); brokers that respond: \[2\]",
        ),
        ("leader:nosuch-0", [], "no broker runs"),
    ],
)
def test_what_is_not_there_now_is_another_error(
    target: str, running: list[int], reported: str
) -> None:
    with pytest.raises(FaultError, match=reported) as refused:
        prepare("kill", target, running)
    assert refused.value.exit_code == 70


def test_a_fault_that_did_not_land_exits_2(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Injected(
        fault="pause", target="broker:1", landed=False, evidence={}, number=0, beside=[]
    )
    ordered: list[str] = []

    def tell(_: object, order: Call[Any]) -> object:
        ordered.append(order.what)
        if order.what == "heal":
            return ["fault 0"]
        return answer if order.what == "fault" else make_struct(Status, faults=[], partitions=[])

    monkeypatch.setattr(playground, "find", lambda _: None)
    monkeypatch.setattr(playground, "tell", tell)
    monkeypatch.setattr(playground, "look", tell)
    for hold, orders in ((None, ["fault"]), ("1ms", ["fault", "heal", "status"])):
        ordered.clear()
        with pytest.raises(NotLandedError, match="did not land") as reported:
            playground.fault("pause", "broker:1", hold)
        assert reported.value.exit_code == 2
        assert ordered == orders
    answer = msgspec.structs.replace(answer, landed=True)
    playground.fault("pause", "broker:1", None)


@pytest.mark.parametrize(
    ("verb", "preferred", "is_needed", "is_refused"),
    [
        ("elect", 1, False, True),
        ("elect", 2, False, False),  # A repeated request: the first one had its effect.
        ("elect", 2, True, False),
        ("elect-unclean", 2, False, True),
        ("elect", 1, None, False),  # It was not sent.
    ],
)
def test_an_election_that_has_nothing_to_do_is_refused_at_once(
    verb: str, *, preferred: int, is_needed: bool | None, is_refused: bool
) -> None:
    observer = FakeObserver([1, 2, 3])
    observer.worker.call = lambda _: is_needed
    observer.replicas = lambda *_: [preferred, 3]
    observer.kafka.bootstrap_through = lambda _: "1:9092"
    on = cast("Field", SimpleNamespace(observer=observer, kafka=observer.kafka))
    fault = parse_fault(verb, "partition:orders-0")
    fault.prepare(on)
    if not is_refused:
        fault.inject(on)
        return
    with pytest.raises(FaultError, match=r"of orders-0 has nothing to do: it has .* broker 1"):
        fault.inject(on)
