"""When a fault's four times are stamped; an effect that ends before the heal is taken back."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from cluster.nodes.traffic import Direction, Packets, Traffic
from contract.errors import FaultError, NodeError, NotLandedError, WaitTimeoutError
from contract.terms import FaultTarget, TargetKind
from harness.clients.history import HistoryWriter
from harness.clients.observer import Observer
from harness.decode.histories import read_histories
from harness.faults import Broker, Cut, Links, Pause
from harness.faults.fault import Evidence, Fault, Field, HeldFault
from harness.faults.rules import lapse_of
from harness.story.run import Injections


class Recorded(Fault):
    """A fault that writes down which of its steps were taken, among the events of the history."""

    verb = "kill"
    target = FaultTarget(target_kind=TargetKind.LEADER)

    def __init__(self, events: Callable[[], list[str]], *, fails_in: str = "") -> None:
        self.steps: list[tuple[str, list[str]]] = []
        self._events, self._fails_in = events, fails_in

    def prepare(self, field: Field) -> None:  # noqa: ARG002
        self.target = FaultTarget(target_kind=TargetKind.LEADER, brokers=(1,))
        self._step("prepare")

    def inject(self, field: Field) -> None:  # noqa: ARG002
        self._step("inject")

    def prove(self, field: Field) -> Evidence:  # noqa: ARG002
        self._step("prove")
        return Evidence(landed=True, facts={})

    def heal(self, field: Field) -> None:  # noqa: ARG002
        self._step("heal")

    def _step(self, name: str) -> None:
        self.steps.append((name, self._events()))
        if name == self._fails_in:
            raise FaultError(name)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "driver.jsonl"


def lines(history: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.read_text().splitlines()]


def field(history: Path, kafka: object = None) -> Field:
    unused = cast("Any", SimpleNamespace())
    return Field(
        kafka=cast("Any", kafka or unused),
        observer=unused,
        history=HistoryWriter(history),
        clients={},
        kept=history.parent,
    )


def make_recorded(history: Path, *, fails_in: str = "") -> Recorded:
    return Recorded(lambda: [line["change"] for line in lines(history)], fails_in=fails_in)


def test_a_fault_is_injected_after_its_preparation_and_proved_after_its_injection(
    history: Path,
) -> None:
    on, fault = field(history), make_recorded(history)
    held = HeldFault.inject(fault, on)
    held.prove()
    held.heal()
    held.heal()
    assert fault.steps == [
        ("prepare", []),
        ("inject", ["injected"]),
        ("prove", ["injected"]),
        ("heal", ["injected", "proved", "heal_began"]),
    ]
    assert [line["change"] for line in lines(history)] == [
        "injected",
        "proved",
        "heal_began",
        "healed",
    ]
    assert [line["target"]["brokers"] for line in lines(history)] == [[1]] * 4
    assert HeldFault.inject(make_recorded(history), on).number == held.number + 1


def test_what_cannot_be_prepared_is_no_fault_of_the_run(history: Path) -> None:
    fault = make_recorded(history, fails_in="prepare")
    with pytest.raises(FaultError):
        HeldFault.inject(fault, field(history))
    assert [step for step, _ in fault.steps] == ["prepare"]
    assert lines(history) == []


@pytest.mark.parametrize("step", ["inject", "prove"])
def test_what_fails_once_it_is_injected_is_healed_and_said_to_be(history: Path, step: str) -> None:
    fault = make_recorded(history, fails_in=step)
    with pytest.raises(FaultError):
        HeldFault.inject(fault, field(history)).prove()
    assert fault.steps[-1][0] == "heal"
    assert [line["change"] for line in lines(history)] == ["injected", "heal_began", "healed"]


def test_an_effect_that_does_not_show_in_time_is_recorded_as_not_landed(history: Path) -> None:
    fault = make_recorded(history)
    held = HeldFault.inject(fault, field(history))
    fails = patch.object(fault, "prove", side_effect=WaitTimeoutError("no broker was fenced"))
    with fails, pytest.raises(NotLandedError):
        held.prove()
    assert [line["change"] for line in lines(history)] == [
        "injected",
        "proved",
        "heal_began",
        "healed",
    ]
    proved = lines(history)[1]
    assert proved.get("landed", False) is False
    assert proved["evidence"] == {"not_seen": "no broker was fenced"}


# An effect that ends before the heal is taken back; cuts that share a rule each hold it.


RULE = Traffic(peer="10.0.0.2", direction=Direction.OUT)
OTHER = Traffic(peer="10.0.0.3", direction=Direction.OUT)


class FakeNode:
    """A node that remembers its rules."""

    def __init__(self, name: str = "node-1", address: str = "10.0.0.1") -> None:
        self.name, self.address = name, address
        self.rules: dict[Traffic, Packets] = {}
        self.is_awake = False

    def block(self, traffic: Traffic) -> None:
        self.rules.setdefault(traffic, Packets(dropped=1, passed=0))

    def unblock(self, traffic: Traffic) -> None:
        self.rules.pop(traffic, None)

    def packets(self, traffic: Traffic) -> Packets | None:
        return self.rules.get(traffic)

    def is_suspended(self) -> bool:
        return not self.is_awake


class Lapsing(Fault):
    """Landed when it is proved; `lapse` says what has become of it."""

    verb, target = "kill", FaultTarget(target_kind=TargetKind.ALL)

    def __init__(self, lapse: Callable[[], str]) -> None:
        self._lapse = lapse

    def inject(self, field: Field) -> None: ...

    def prove(self, field: Field) -> Evidence:  # noqa: ARG002
        return Evidence(landed=True, facts={"seen": 1}, forced_ms={"x.timeout.ms": 5})

    def lapse(self, field: Field) -> str:  # noqa: ARG002
        return self._lapse()

    def heal(self, field: Field) -> None: ...


def unreachable() -> str:
    raise NodeError("the node is gone")


@pytest.mark.parametrize(
    ("lapse", "reported"),
    [
        (str, None),
        (lambda: "a rule is missing", "a rule is missing"),
        (unreachable, "its effect can't be seen: the node is gone"),
    ],
)
def test_a_fault_that_ended_before_its_heal_did_not_land(
    history: Path, lapse: Callable[[], str], reported: str | None
) -> None:
    held = HeldFault.inject(Lapsing(lapse), field(history))
    held.prove()
    held.heal()
    times = {line["change"]: line["wall_micros"] for line in reversed(lines(history))}
    (row,) = read_histories(history.parent).of("faults")
    assert row["landed"] == held.evidence.landed == (reported is None)
    assert json.loads(row["evidence"]).get("ended_before_heal") == reported
    assert row["proved_micros"] == times["proved"]
    assert row["forced_ms"] == 5
    assert row["healed_micros"] == times["healed"]


def test_rules_lapse_when_one_is_missing_or_lets_packets_pass() -> None:
    node = cast("Any", FakeNode())
    node.block(RULE)
    node.block(OTHER)
    assert lapse_of({node: [RULE, OTHER]}) == ""
    node.rules[OTHER] = Packets(dropped=1, passed=2)
    assert lapse_of({node: [RULE, OTHER]}) == "2 packets passed the rules of node-1"
    node.unblock(OTHER)
    assert lapse_of({node: [RULE, OTHER]}) == "a rule of node-1 is missing"


@pytest.fixture
def on_nodes(history: Path) -> Field:
    nodes = {i: FakeNode(f"node-{i}", f"10.0.0.{i}") for i in (1, 2, 3)}
    topology = SimpleNamespace(server_ids=[1, 2, 3])
    return field(history, SimpleNamespace(host=nodes.get, topology=topology))


def test_healing_one_of_two_cuts_leaves_the_other(on_nodes: Field) -> None:
    cuts = [Cut(Broker(1), links) for links in (Links.BOTH, Links.OUT)]
    for cut in cuts:
        cut.brokers = [1]
        cut.inject(on_nodes)
    node: Any = on_nodes.kafka.host(1)
    assert len(node.rules) == 4
    cuts[0].heal_broker(on_nodes, 1)
    assert {rule.direction for rule in node.rules} == {Direction.OUT}
    assert cuts[1].lapse(on_nodes) == ""
    assert cuts[0].lapse(on_nodes) == "a rule of node-1 is missing"
    cuts[1].heal_broker(on_nodes, 1)
    assert node.rules == {}


def test_a_pause_lapses_when_its_node_goes_on(on_nodes: Field) -> None:
    pause = Pause(Broker(2))
    pause.brokers = [2]
    assert pause.lapse(on_nodes) == ""
    node: Any = on_nodes.kafka.host(2)
    node.is_awake = True
    assert pause.lapse(on_nodes) == "brokers that are not suspended any more: [2]"


def test_a_fault_that_can_not_be_healed_stops_no_other(on_nodes: Field) -> None:
    class Stubborn(Lapsing):
        def heal(self, field: Field) -> None:  # noqa: ARG002
            raise NodeError("it stays")

    phases = cast("Any", SimpleNamespace(enter=lambda *_: None))
    injections = Injections(on_nodes, phases, before_first=lambda: None)
    (first,) = injections.inject(Lapsing(str))
    injections.inject(Stubborn(str))
    with pytest.raises(NodeError, match="it stays"):
        injections.heal()
    written = lines(on_nodes.kept / "driver.jsonl")
    assert [line["number"] for line in written if line["change"] == "healed"] == [first.number]
    injections.heal()


def test_before_the_first_fault_every_broker_runs(tmp_path: Path) -> None:
    def require_running(broker: int) -> None:
        if broker == 2:
            raise NodeError("server 2 ended with status 1")

    kafka: Any = SimpleNamespace(
        topology=SimpleNamespace(broker_ids=(1, 2)),
        require_running=require_running,
        host=lambda _: SimpleNamespace(address="10.0.0.1"),
    )
    worker: Any = SimpleNamespace(call=lambda _: [1, 2])
    observer = Observer(worker, kafka, HistoryWriter(tmp_path / "driver.jsonl"))
    with pytest.raises(NodeError, match="server 2 ended"):
        observer.restore_leaders({"orders": [[1, 2]]})
