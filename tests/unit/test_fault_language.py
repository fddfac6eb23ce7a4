"""Which fault a verb and a target name."""

import ast
import inspect
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec.structs import replace

from analysis.statements.files import expanded
from contract.errors import FaultError, UsageError
from contract.run_folder import TopicPlan
from harness.faults.broker_fault import BrokerFault
from harness.faults.cut_tail import CutTails
from harness.faults.delete import DeleteBefore
from harness.faults.expire import By, Expire
from harness.faults.fault import Fault
from harness.faults.fence import ExpireTransaction, TakeOver
from harness.faults.hold import Refuse
from harness.faults.language import (
    FORMS,
    ON_NAMES,
    ON_PARTITIONS,
    ON_SERVERS,
    VERBS,
    is_instant,
    parse_fault,
)

SERVERS = (
    "leader:orders-0",
    "follower:orders-with-dashes-3",
    "followers:orders-0",
    "broker:2",
    "coordinator:readers",
    "transaction-coordinator:payments",
    "controller",
    "minority:brokers",
    "minority:controllers",
    "all",
)


@pytest.mark.parametrize("target", SERVERS)
@pytest.mark.parametrize("verb", ["kill", "cut-controllers", "cut-bridge"])
def test_a_fault_on_servers_reads_as_it_was_named(verb: str, target: str) -> None:
    fault = parse_fault(verb, target)
    assert fault.verb.replace(" ", "-") == verb
    assert fault.target.name == target


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("pause", "client:clients"),
        ("cut", "client:librdkafka"),
        ("recreate", "topic:orders"),
        ("rebalance", "group:readers"),
        ("fence", "transactional.id:payments"),
        ("elect", "partition:orders-0"),
        ("elect-unclean", "partition:or-ders-12"),
    ],
)
def test_other_faults_have_targets_of_their_own(verb: str, target: str) -> None:
    assert str(parse_fault(verb, target).target) == target


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("kill", "client:clients"),
        ("kill", "orders-0"),
        ("kill", "minority:clients"),
        ("kill", "leader:orders"),
        ("recreate", "leader:orders-0"),
        ("recreate", "topic:"),
        ("elect", "partition:orders"),
        ("rebalance", "all"),
    ],
)
def test_what_makes_no_sense_is_reported_with_what_does(verb: str, target: str) -> None:
    with pytest.raises(UsageError, match="names no target") as reported:
        parse_fault(verb, target)
    assert "leader:TOPIC-PARTITION" in str(reported.value)


def test_an_unknown_verb_is_reported_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="there is no verb shoot; there are: kill, "):
        parse_fault("shoot", "all")


def test_records_expire_by_the_time_that_their_topic_is_planned_with() -> None:
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    assert Expire(replace(orders, retention_ms=3000), By.TIME).verb == "expire by time"
    assert Expire(orders, By.SIZE).verb == "expire by size"
    with pytest.raises(FaultError, match="no retention_ms"):
        Expire(orders, By.TIME)


def test_each_verb_is_named_once() -> None:
    assert len(set(VERBS)) == len(VERBS)
    assert "client:WORKER" in FORMS


def _instant() -> set[str]:
    """The verbs of `instant_faults`."""
    return set(ast.literal_eval(f"({expanded('{{ instant_faults }}', Path())})"))


def _undoes_nothing(fault: Fault) -> bool:
    heal = fault.heal_broker if isinstance(fault, BrokerFault) else fault.heal
    (function,) = ast.parse(dedent(inspect.getsource(heal))).body
    assert isinstance(function, ast.FunctionDef)
    return len(function.body) == 1


def test_a_fault_takes_an_instant_if_its_heal_undoes_nothing() -> None:
    """The heal of a reassignment is another one; a killed client is a target of its own."""
    topic = TopicPlan(topic="t", partitions=1, replication=1, min_insync=1, unclean_election=False)
    named = [parse_fault(verb, "all") for verb in ON_SERVERS]
    named += [make("t", 0) for make in ON_PARTITIONS.values()]
    named += [make("t") for _, make in ON_NAMES.values()]
    others = [
        CutTails("t", 0, records=1),
        DeleteBefore("t", 0, offset=1),
        ExpireTransaction(["t"], timeout_ms=1),
        Expire(replace(topic, retention_ms=1), By.TIME),
        Expire(topic, By.SIZE),
        TakeOver(["t"], by=str),
        Refuse("OFFSET_COMMIT", "g", error="NOT_COORDINATOR"),
    ]
    assert [verb for verb in ON_SERVERS if is_instant(verb)] == [
        verb for verb in ON_SERVERS if _undoes_nothing(parse_fault(verb, "all"))
    ]
    assert all(map(is_instant, (*ON_PARTITIONS, *ON_NAMES)))
    nothing = {fault.verb for fault in [*named, *others] if _undoes_nothing(fault)}
    assert nothing | {"expire by order", "reassign", "upgrade"} == _instant()
