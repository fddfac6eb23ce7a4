"""An effect that ends before the heal is taken back; cuts that share a rule each hold it."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster.nodes.traffic import Direction, Packets, Traffic
from contract.errors import NodeError
from contract.terms import FaultTarget, TargetKind
from harness.clients.history import HistoryWriter
from harness.decode.histories import read_histories
from harness.faults import Broker, Cut, Fault, HeldFault, Links, Pause
from harness.faults.fault import Evidence, Field
from harness.faults.rules import Rules, lapse_of
from harness.story.run import Injections

RULE = Traffic(peer="10.0.0.2", direction=Direction.OUT)
OTHER = Traffic(peer="10.0.0.3", direction=Direction.OUT)


class FakeNode:
    """A node that remembers its rules."""

    def __init__(self, name: str = "node-1") -> None:
        self.name, self.address = name, "10.0.0.1"
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
    tmp_path: Path, lapse: Callable[[], str], reported: str | None
) -> None:
    unused = cast("Any", SimpleNamespace())
    history = HistoryWriter(tmp_path / "driver.jsonl")
    on = Field(kafka=unused, observer=unused, history=history, clients={}, kept=tmp_path)
    held = HeldFault.inject(Lapsing(lapse), on)
    held.prove()
    held.heal()
    lines = [json.loads(line) for line in (tmp_path / "driver.jsonl").read_text().splitlines()]
    times = {line["change"]: line["wall_micros"] for line in reversed(lines)}
    (row,) = read_histories(tmp_path).of("faults")
    assert row["landed"] == held.evidence.landed == (reported is None)
    assert json.loads(row["evidence"]).get("ended_before_heal") == reported
    assert row["proved_micros"] == times["proved"]
    assert row["forced_ms"] == 5
    assert row["healed_micros"] == times["healed"]


def test_a_rule_that_two_faults_hold_goes_with_the_last_of_them() -> None:
    rules, node = Rules(), cast("Any", FakeNode())
    first, second = object(), object()
    rules.block(node, RULE, by=first)
    rules.block(node, RULE, by=first)
    rules.block(node, RULE, by=second)
    rules.block(node, OTHER, by=second)
    rules.unblock(node, RULE, by=first)
    rules.unblock(node, RULE, by=first)
    rules.unblock(node, OTHER, by=first)
    assert set(node.rules) == {RULE, OTHER}
    rules.unblock(node, RULE, by=second)
    assert set(node.rules) == {OTHER}
    rules.unblock(node, OTHER, by=second)
    assert node.rules == {}


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
def field(tmp_path: Path) -> Field:
    nodes = {i: FakeNode(f"node-{i}") for i in (1, 2, 3)}
    for i, node in nodes.items():
        node.address = f"10.0.0.{i}"
    kafka = SimpleNamespace(host=nodes.get, topology=SimpleNamespace(server_ids=[1, 2, 3]))
    return Field(
        kafka=cast("Any", kafka),
        observer=cast("Any", None),
        history=HistoryWriter(tmp_path / "driver.jsonl"),
        clients={},
        kept=tmp_path,
    )


def test_healing_one_of_two_cuts_leaves_the_other(field: Field) -> None:
    cuts = [Cut(Broker(1), links) for links in (Links.BOTH, Links.OUT)]
    for cut in cuts:
        cut.brokers = [1]
        cut.inject(field)
    node: Any = field.kafka.host(1)
    assert len(node.rules) == 4
    cuts[0].heal_broker(field, 1)
    assert {rule.direction for rule in node.rules} == {Direction.OUT}
    assert cuts[1].lapse(field) == ""
    assert cuts[0].lapse(field) == "a rule of node-1 is missing"
    cuts[1].heal_broker(field, 1)
    assert node.rules == {}


def test_a_pause_lapses_when_its_node_goes_on(field: Field) -> None:
    pause = Pause(Broker(2))
    pause.brokers = [2]
    assert pause.lapse(field) == ""
    node: Any = field.kafka.host(2)
    node.is_awake = True
    assert pause.lapse(field) == "brokers that are not suspended any more: [2]"


def test_a_fault_that_can_not_be_healed_stops_no_other(field: Field) -> None:
    class Stubborn(Lapsing):
        def heal(self, field: Field) -> None:  # noqa: ARG002
            raise NodeError("it stays")

    phases = cast("Any", SimpleNamespace(enter=lambda *_: None))
    injections = Injections(field, phases)
    (first,) = injections.inject(Lapsing(str))
    injections.inject(Stubborn(str))
    with pytest.raises(NodeError, match="it stays"):
        injections.heal()
    lines = [json.loads(line) for line in (field.kept / "driver.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines if line["change"] == "healed"] == [first.number]
    injections.heal()
