"""Which fault a verb and a target name."""

import pytest
from msgspec.structs import replace

from contract.errors import FaultError, UsageError
from contract.run_folder import TopicPlan
from harness.faults.expire import By, Expire
from harness.faults.language import FORMS, VERBS, parse_fault

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
    assert fault.target == target


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
    assert parse_fault(verb, target).target == target


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
def test_what_makes_no_sense_is_told_with_what_does(verb: str, target: str) -> None:
    with pytest.raises(UsageError, match="names no target") as told:
        parse_fault(verb, target)
    assert "leader:TOPIC-PARTITION" in str(told.value)


def test_an_unknown_verb_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="there is no verb 'shoot'; there are: kill, "):
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
