"""Which fault a verb and a target name."""

import ast
from pathlib import Path

import pytest
from msgspec.structs import replace

from analysis.statements.files import expand
from contract.errors import FaultError, UsageError
from contract.run_folder import TopicPlan
from harness.faults import By, CutTails, DeleteBefore, Expire, ExpireTransaction, Refuse, TakeOver
from harness.faults.language import FORMS, TARGETS, drawn_forms, parse_fault
from tests.programs import ran_python

DOZE = """
from harness.faults.fault import ByHand
from harness.faults.pause import Pause


class Doze(Pause):
    verb = "doze"
    by_hand = (ByHand(verb=verb),)
"""
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
    with pytest.raises(UsageError, match="there is no verb shoot; there are: bounce, "):
        parse_fault("shoot", "all")


def test_records_expire_by_the_time_that_their_topic_is_planned_with() -> None:
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    assert Expire(replace(orders, retention_ms=3000), By.TIME).verb == "expire by time"
    assert Expire(orders, By.SIZE).verb == "expire by size"
    with pytest.raises(FaultError, match="no retention_ms"):
        Expire(orders, By.TIME)


def test_a_verb_names_one_fault_on_each_kind_of_target() -> None:
    for verb, forms in FORMS.items():
        kinds = [form.fault.on for form in forms]
        assert len({*kinds}) == len(kinds), verb
    assert "client:WORKER" in TARGETS


def test_each_fault_of_random_plans_has_a_place() -> None:
    places = [form.by_hand.place for form in drawn_forms()]
    assert places == list(range(len(places)))


def test_a_fault_is_found_in_its_file(tmp_path: Path) -> None:
    """A module beside the others declares all that there is to know of it."""
    (tmp_path / "doze.py").write_text(DOZE)
    listed = "from harness.faults.language import VERBS; print('doze' in VERBS)"
    found = f"import harness.faults as f; f.__path__.append({str(tmp_path)!r}); {listed}"
    assert ran_python("-c", found).stdout == "True\n"


def test_statements_know_which_faults_take_an_instant() -> None:
    topic = TopicPlan(topic="t", partitions=1, replication=1, min_insync=1, unclean_election=False)
    named = [
        parse_fault(verb, target)
        for verb in FORMS
        for target in ("all", "partition:t-0", "topic:t", "group:t", "transactional.id:t")
        if is_target(verb, target)
    ]
    assert {fault.target.target_kind for fault in named} >= {"all", "partition", "group"}
    others = [
        CutTails("t", 0, records=1),
        DeleteBefore("t", 0, offset=1),
        ExpireTransaction(["t"], timeout_ms=1),
        Expire(replace(topic, retention_ms=1), By.TIME),
        Expire(topic, By.SIZE),
        Expire(topic, By.ORDER),
        TakeOver(["t"], by=str),
        Refuse("OFFSET_COMMIT", "g", error="NOT_COORDINATOR"),
    ]
    of_statements = ast.literal_eval(f"({expand('{{ instant_faults }}', Path())})")
    instant = {fault.verb for fault in [*named, *others] if fault.is_instant}
    assert instant | {"reassign", "upgrade"} == set(of_statements)


def is_target(verb: str, target: str) -> bool:
    kind = None if target == "all" else target.partition(":")[0]
    return any(form.fault.on == kind for form in FORMS[verb])
