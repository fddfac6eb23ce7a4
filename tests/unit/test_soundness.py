"""Mistakes of a scenario are refused before its cluster starts, with file and line."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from cluster.kafka.topology import Topology
from contract.builds import Jar, released
from contract.errors import UsageError
from contract.run_folder import Expectation, GroupPlan, Plan
from harness.session.catalog import scenarios
from harness.story.soundness import require_declared, require_sound
from harness.story.topics import durable_topic

STORY = '''"""A question?"""
from harness.faults.pause import Pause
from harness.faults.rebalance import Rebalance
from harness.faults.targets import CoordinatorOf, LeaderOf
from harness.story.topics import durable_topic
from harness.story.workload import reader

ORDERS = durable_topic("orders", partitions=1)
GROUPS = (reader("readers", "orders"),)


def story(run):
    run.inject(Pause(LeaderOf("orders", 0)))
    run.inject(Rebalance("readers"))
    run.leader_epoch("orders", 0)
    run.await_leader(topic="orders", partition=0, broker=1)
    LeaderOf("__consumer_offsets", 0)
'''
READERS = GroupPlan(
    group="readers", client="java", topic="orders", commit_epoch="record", reset="earliest"
)
PLAN = Plan(
    scenario="own",
    question="A question?",
    parameters={},
    topics=[durable_topic("orders", partitions=1)],
    groups=[READERS],
    must_judge=["lost_record"],
    expects=[Expectation(check="lost_record", groups=["readers"], verdict="permitted")],
)


def written(folder: Path, text: str) -> ModuleType:
    path = folder / "own_test.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("own_test", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checked(plan: Plan, module: ModuleType, **settings: str) -> None:
    topology = Topology(brokers=3, settings=settings)
    require_sound(plan, module, topology=topology, build=released("4.4.0"))


def other(**changed: Any) -> GroupPlan:
    return msgspec.structs.replace(READERS, **changed)


def test_a_sound_scenario_is_taken(tmp_path: Path) -> None:
    checked(PLAN, written(tmp_path, STORY))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('LeaderOf("orders", 0)', 'LeaderOf("order", 0)', "13: there is no topic order; there are"),
        ('Rebalance("readers")', 'Rebalance("reader")', "14: there is no group reader; there are"),
        ('epoch("orders"', 'epoch("orderz"', "15: there is no topic orderz; there are: orders"),
        ('topic="orders"', 'topic="orderz"', "16: there is no topic orderz; there are: orders"),
    ],
)
def test_a_name_that_the_story_misspells_is_refused(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:{told}"):
        checked(PLAN, written(tmp_path, STORY.replace(old, new)))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"groups": [other(topic="orderz")]}, "1: group readers: there is no topic orderz"),
        ({"groups": [READERS, READERS]}, "14: 2 groups are named readers"),
        ({"topics": [*PLAN.topics, *PLAN.topics]}, "16: 2 topics are named orders"),
        ({"must_judge": ["lost_recrod"]}, "1: there is no check lost_recrod; there are: lost_r"),
        (
            {"answer": "{sends.recrods}"},
            "1: answer: sends: there is no measure recrods; there are: rows, records",
        ),
        ({"answer": "{sends.rows ack=all}"}, "1: answer: sends: there is no column ack; there are"),
        ({"answer": "{lost_recrod.rows}"}, "1: answer: lost_recrod.rows: lost_recrod is neither"),
        ({"answer": "{polls.rows end=above}"}, "1: answer: polls: there is no column end"),
        (
            {"groups": [other(settings={"enable.auto.commit": "true"})]},
            'group readers: enable.auto.commit is not for settings: use manner="auto" for true',
        ),
        (
            {"groups": [other(client="librdkafka", settings={"enable.auto.commit": True})]},
            'enable.auto.commit is not for settings: use manner="auto"',
        ),
        (
            {"groups": [other(client="kafka-python", settings={"enable_auto_commit": 1})]},
            'enable_auto_commit is not for settings: use manner="auto"',
        ),
        ({"groups": [other(settings={"isolation.level": "x"})]}, "settings: use isolation="),
        (
            {"groups": [other(manner="auto", commit_epoch="none")]},
            "with manner auto the client commits style record, not none",
        ),
        (
            {"groups": [other(settings={"max.pol.records": "1"})]},
            "there is no setting max.pol.records; the nearest is max.poll.records",
        ),
        (
            {"groups": [other(client="java-consumer", settings={"sesion.timeout": "1"})]},
            "there is no setting sesion.timeout; the nearest is session.timeout.ms",
        ),
        (
            {"groups": [other(settings={"max.poll.records": "lots"})]},
            r"max.poll.records=lots has to be a whole number \[1,\.\.\.\]",
        ),
        (
            {"groups": [other(settings={"max.poll.records": "0"})]},
            "max.poll.records=0 has to be a whole number",
        ),
        (
            {"groups": [other(settings={"session.timeout.ms": "2147483648"})]},
            "session.timeout.ms=2147483648 has to be a whole number",
        ),
        (
            {"groups": [other(settings={"check.crcs": "yes"})]},
            "check.crcs=yes has to be true or false",
        ),
        (
            {"groups": [other(settings={"session.timeout.ms": "2000"})]},
            "session.timeout.ms=2000 has to be above heartbeat.interval.ms=3000",
        ),
        (
            {"groups": [other(settings={"heartbeat.interval.ms": "45000"})]},
            "session.timeout.ms=45000 has to be above heartbeat.interval.ms=45000",
        ),
        (
            {"groups": [other(settings={"client.rack": "r\nacks=0"})]},
            "has a line break, which no setting may have",
        ),
        (
            {"groups": [other(client="kafka-python", settings={"client_rack": "r\n"})]},
            "has a line break",
        ),
        ({"topics": [durable_topic("orders", partitions=0)]}, "partitions=0 has to be a number"),
        (
            {"groups": [other(client="librdkafka", settings={"sesion.timeout.ms": 1})]},
            'librdkafka refuses sesion.timeout.ms=1: No such configuration property: "sesion',
        ),
        (
            {"groups": [other(client="librdkafka", settings={"session.timeout.ms": "soon"})]},
            "librdkafka refuses session.timeout.ms=soon: Invalid value",
        ),
        (
            {"groups": [other(client="kafka-python", settings={"max.poll.records": 1})]},
            "there is no setting max.poll.records; the nearest is max_poll_records",
        ),
        ({"expects": [Expectation(check="lost")]}, "1: there is no check lost; there are: lost_r"),
        (
            {"expects": [Expectation(check="lost_record", verdict="ok")]},
            "1: there is no verdict ok; there are: violation",
        ),
        (
            {"expects": [Expectation(check="lost_record", groups=["r"])]},
            "1: there is no group r; there are: readers",
        ),
        ({"groups": [other(commit_epoch="recrd")]}, "1: group readers: there is no commit style"),
        ({"groups": [other(reset="first")]}, "1: group readers: there is no reset policy first"),
        (
            {"groups": [other(client="librdkafka", manner="revoked")]},
            "1: group readers: manner revoked needs a Java client",
        ),
        (
            {"groups": [other(client="kafka-python", commit_epoch="metadata")]},
            "1: group readers: style metadata needs a Java client",
        ),
    ],
)
def test_a_plan_that_names_what_there_is_not_is_refused(
    tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:.*{told}"):
        checked(msgspec.structs.replace(PLAN, **changed), written(tmp_path, STORY))


def test_an_answer_may_count_by_the_labels_of_its_groups(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(
        PLAN, groups=[other(labels={"end": "above"})], answer="{polls.rows end=above client=java}"
    )
    checked(plan, written(tmp_path, STORY))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"log.retention.chek.interval.ms": "1"}, "nearest is log.retention.check.interval.ms"),
        ({"log.retention.hours": "a\nb"}, "topology: log.retention.hours='a"),
        ({"listener.name.secured.x": "y\rz"}, "has a line break"),
        ({"log.retention.bytes": "much"}, "log.retention.bytes=much has to be a whole number"),
        ({"log.cleaner.enable": "1"}, "log.cleaner.enable=1 has to be true or false"),
        ({"log.cleaner.min.cleanable.ratio": "2"}, r"has to be a number \[0,\.\.\.,1\]"),
        ({"node.id": "7"}, "topology: node.id is not for settings: the harness sets it"),
        ({"broker.rack": "r"}, "topology: broker.rack is not for settings: use has_racks="),
    ],
)
def test_a_setting_of_servers_that_there_is_not_is_refused(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:.*{told}"):
        checked(PLAN, written(tmp_path, STORY), **settings)


def test_known_settings_of_each_client_are_taken(tmp_path: Path) -> None:
    settings: dict[str, dict[str, str | int]] = {
        "java": {"max.poll.records": "1", "group.instance.id": "{number}"},
        "java-consumer": {"client.rack": "r"},
        "librdkafka": {"session.timeout.ms": 6000, "group.instance.id": "{number}"},
        "kafka-python": {"max_poll_records": 1},
    }
    groups = [
        other(group=client, client=client, settings=given) for client, given in settings.items()
    ]
    plan = msgspec.structs.replace(PLAN, groups=[READERS, *groups])
    checked(plan, written(tmp_path, STORY), **{"listener.name.secured.x": "y"})


def test_an_own_build_may_have_settings_of_its_own(tmp_path: Path) -> None:
    jars = [Jar(path="/x.jar", sha256="")]
    build = msgspec.structs.replace(released("4.4.0"), server_jars=jars, client_jars=jars)
    plan = msgspec.structs.replace(PLAN, groups=[other(settings={"new.setting": "1"})])
    topology = Topology(brokers=3, settings={"another.setting": "1"})
    require_sound(plan, written(tmp_path, STORY), topology=topology, build=build)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('{"cleanup.policy": "compact"}', "17: topic: cleanup.policy=compact removes superseded"),
        ("COMPACTED", "17: topic: cleanup.policy=compact,delete removes superseded"),
        ("COMPACTED if plain else None", "17: topic: cleanup.policy=compact,delete removes"),
        ('{"segment.mss": "1"}', "17: topic: there is no setting segment.mss; .* segment.ms"),
        ('{"min.insync.replicas": "1"}', "17: topic: min.insync.replicas .*: use min_insync="),
    ],
)
def test_settings_of_topics_are_checked_before_anything_starts(
    tmp_path: Path, settings: str, told: str
) -> None:
    story = STORY.replace("ORDERS =", 'COMPACTED = {"cleanup.policy": "compact,delete"}\nORDERS =')
    module = written(tmp_path, f"{story}    run.create([1], settings={settings})\n")
    declared = {"answer": "", "groups": (), "topology": Topology(brokers=1)}
    with pytest.raises(UsageError, match=f"own_test.py:.*{told[2:]}"):
        require_declared(module, build=released("4.4.0"), **declared)


def test_any_client_may_commit_by_itself(tmp_path: Path) -> None:
    group = other(client="librdkafka", manner="auto")
    checked(msgspec.structs.replace(PLAN, groups=[group]), written(tmp_path, STORY))


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.name)
def test_the_stories_of_all_scenarios_are_sound(scenario: Any) -> None:
    spec = importlib.util.spec_from_file_location(scenario.path.stem, scenario.path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    nothing = {"topics": [], "groups": [], "expects": []}
    checked(msgspec.structs.replace(PLAN, **nothing), module)
