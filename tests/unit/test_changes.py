"""What `--set` changes in plans, and what it refuses."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cluster.kafka.config import java_options
from cluster.kafka.topology import Topology
from contract.errors import UsageError
from contract.run_folder import GroupPlan
from contract.software import Choice, released
from harness.invocation import rerun_command
from harness.story.changes import Changes, parse_change
from harness.story.topics import durable_topic, new_topic
from harness.story.workload import reader, writer

GROUPS = (
    reader("java", "orders"),
    reader("java.periodic", "orders"),
    reader("python", "orders", client="kafka-python", settings={"max_poll_records": 7}),
)
PRODUCERS = (writer("writer", "orders", settings={"linger.ms": 1}),)
TOPICS = (durable_topic("orders", partitions=1),)


def changes(*texts: str) -> Changes:
    return Changes(texts, groups=GROUPS, producers=PRODUCERS, topics=TOPICS)


def groups(*texts: str) -> dict[str, GroupPlan]:
    return {group.group: group for group in changes(*texts).groups(GROUPS)}


def test_a_group_gets_a_setting_of_its_client() -> None:
    changed = groups("group.java.periodic.max.poll.records=50")
    assert changed["java.periodic"].settings == {"max.poll.records": "50"}
    assert changed["java"] == GROUPS[0]


def test_the_last_change_of_a_setting_counts_and_a_star_is_every_group() -> None:
    changed = groups("group.*.auto.offset.reset=latest", "group.java.auto.offset.reset=none")
    assert [group.reset for group in changed.values()] == ["none", "latest", "latest"]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("group.python.max_poll_records=50", {"max_poll_records": 50}),
        ("group.python.check_crcs=false", {"max_poll_records": 7, "check_crcs": 0}),
        ("group.python.client_rack=r", {"max_poll_records": 7, "client_rack": "r"}),
    ],
)
def test_settings_of_kafka_python_have_types(text: str, settings: dict[str, Any]) -> None:
    assert groups(text)["python"].settings == settings


def test_what_a_plan_has_is_changed_there() -> None:
    (topic,) = changes(
        "topic.orders.min.insync.replicas=1",
        "topic.orders.retention.ms=60000",
        "topic.orders.unclean.leader.election.enable=true",
        "topic.orders.segment.ms=1000",
    ).topics(TOPICS)
    assert (topic.min_insync, topic.retention_ms, topic.unclean_election) == (1, 60_000, True)
    assert new_topic(topic, [1, 2, 3], is_spread=False, settings={}).config == {
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "true",
        "retention.ms": "60000",
        "segment.ms": "1000",
    }
    (producer,) = changes("producer.writer.acks=1", "producer.*.linger.ms=5").producers(PRODUCERS)
    assert (producer.acks, producer.settings) == ("1", {"linger.ms": "5"})
    assert groups("group.java.isolation.level=read_committed")["java"].isolation == "read_committed"


def test_servers_get_settings_a_heap_and_a_collector() -> None:
    shape = changes("broker.num.network.threads=5", "heap=512m", "jvm.gc=g1").topology(
        Topology(brokers=1, settings={"num.io.threads": "2"})
    )
    assert shape.settings == {"num.io.threads": "2", "num.network.threads": "5"}
    options = java_options(Path("/home"), [], topology=shape)
    assert {"-Xmx512m", "-XX:+UseG1GC"} < set(options)
    assert {"-Xmx384m", "-XX:+UseSerialGC"} < set(java_options(Path("/home"), []))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (
            "group.reader.max.poll.records=5",
            "no group of the scenario is named so; there are: java",
        ),
        ("producer.one.linger.ms=5", "no producer of the scenario is named so; there are: writer"),
        ("topic.order.retention.ms=5", "no topic of the scenario is named so; there are: orders"),
        ("topic.orders.retention.ms=x", "it has to be a whole number"),
        ("topic.orders.unclean.leader.election.enable=1", "it has to be true or false"),
    ],
)
def test_a_change_of_something_else_is_refused(text: str, reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        changes(text).topics(TOPICS)


def test_a_scenario_without_producers_has_none_to_change() -> None:
    with pytest.raises(UsageError, match="there are: none"):
        Changes(["producer.*.linger.ms=5"])


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("group.readers", "it has not one of the forms"),
        ("group.readers=5", "it has not one of the forms"),
        ("groups.readers.a.b=5", "it has not one of the forms"),
        ("broker=5", "it has not one of the forms"),
        ("heap=64m", "a heap has the form 512m or 2g, 128m up"),
        ("heap=1t", "a heap has the form"),
        ("jvm.gc=shenandoah", "there is no collector shenandoah; serial, parallel, g1, z"),
    ],
)
def test_another_form_is_refused(text: str, reported: str) -> None:
    with pytest.raises(UsageError, match=reported):
        parse_change(text)


def test_changes_stand_in_the_command_that_repeats_the_run_and_in_the_build() -> None:
    choice = Choice(kafka="4.4.0", changes=["heap=1g"])
    rerun = rerun_command("baseline", {}, cluster="docker", choice=choice, seed=2)
    assert "--set heap=1g" in rerun
    assert choice.is_own
    assert replace(released("4.4.0"), choice=choice).note == "heap=1g"
