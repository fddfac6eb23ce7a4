"""Mistakes of a scenario are refused before its cluster starts, and what its file declares."""

import os
import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from cluster.nodes.node import Capability
from contract.errors import UsageError, WorkerError
from contract.run_folder import (
    Expectation,
    GroupPlan,
    MemberPlan,
    Plan,
    ProducerPlan,
    TopicPlan,
    TransactionPlan,
)
from contract.software import INSTALLED, Client, Jar, released
from harness.clients.observer_worker import ObserverRole
from harness.faults.language import FAULTS
from harness.session import catalog
from harness.session.catalog import find_scenarios, read_scenario, scenarios
from harness.session.ducktape_session import pool_size
from harness.session.loading import load
from harness.story import settings as settings_of_plans
from harness.story.settings import (
    client_problems,
    producer_problems,
    server_problems,
    topic_shape_problems,
    topology_problems,
)
from harness.story.soundness import require_declared, require_sound
from harness.story.topics import durable_topic, new_topic
from harness.story.workload import writer
from tests.descriptions import plan_of

# Mistakes of a scenario are refused before its cluster starts, with file and line.


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
ONE = TransactionPlan(records=1)
PLAN = plan_of(
    topics=[durable_topic("orders", partitions=1)],
    groups=[READERS],
    must_judge=["lost_record"],
    expects=[Expectation(check="lost_record", groups=["readers"], verdict="permitted")],
)


def write_module(folder: Path, text: str) -> Path:
    file = folder / "own_test.py"
    file.write_text(text)
    return file


def check_plan(plan: Plan, file: Path, **settings: str) -> None:
    topology = Topology(brokers=3, settings=settings)
    require_sound(plan, load(file, file.stem), topology=topology, build=released("4.4.0"))


def other(**changed: Any) -> GroupPlan:
    return msgspec.structs.replace(READERS, **changed)


def test_a_mistake_of_the_command_line_is_named_as_such(tmp_path: Path) -> None:
    change = "group.readers.max.pol.records=50"
    plan = msgspec.structs.replace(PLAN, groups=[other(settings={"max.pol.records": "50"})])
    build = released("4.4.0")
    build = replace(build, choice=replace(build.choice, changes=[change]))
    module = load(write_module(tmp_path, STORY), "own_test")
    with pytest.raises(UsageError, match=rf"^--set {re.escape(change)}: .*max\.poll\.records"):
        require_sound(plan, module, topology=Topology(brokers=3), build=build)


def test_a_codec_that_a_client_lacks_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = writer("w", "orders", settings={"compression.type": "lz4"})
    plan = msgspec.structs.replace(PLAN, groups=[other(client="kafka-python")], producers=[written])
    file = write_module(tmp_path, STORY)
    found: dict[str, object] = {}
    monkeypatch.setattr("importlib.util.find_spec", found.get)
    with pytest.raises(
        UsageError, match=r"readers of kafka-python can't .*: install kafka-python.lz4. "
    ):
        check_plan(plan, file)
    found["lz4f"] = True
    check_plan(plan, file)
    created = '    run.create([1], settings={"compression.type": "zstd"})\n'
    file = write_module(tmp_path, f"{STORY}{created}")
    with pytest.raises(UsageError, match=r"codec zstd: install kafka-python.zstd. beside"):
        check_plan(plan, file)


@pytest.mark.parametrize(
    ("old", "new", "reported"),
    [
        ('LeaderOf("orders", 0)', 'LeaderOf("order", 0)', "13: there is no topic order; .* orders"),
        ('Rebalance("readers")', 'Rebalance("reader")', "14: there is no group reader; .* readers"),
        ('epoch("orders"', 'epoch("orderz"', "15: there is no topic orderz; the nearest is orders"),
        ('topic="orders"', 'topic="orderz"', "16: there is no topic orderz; the nearest is orders"),
    ],
)
def test_a_name_that_the_story_misspells_is_refused(
    tmp_path: Path, old: str, new: str, reported: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:{reported}"):
        check_plan(PLAN, write_module(tmp_path, STORY.replace(old, new)))


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"groups": [other(topic="orderz")]}, "1: group readers: there is no topic orderz"),
        ({"groups": [READERS, READERS]}, "14: 2 groups are named readers"),
        ({"topics": [*PLAN.topics, *PLAN.topics]}, "16: 2 topics are named orders"),
        (
            {"answer": "{{ sends.recrods }}"},
            "1: answer: sends: there is no measure recrods; the nearest is records",
        ),
        ({"answer": "{{ sends.groups }}"}, "1: answer: sends: there is no measure groups;"),
        ({"answer": "{{ phases.partitions }}"}, "1: answer: phases: .* no measure partitions"),
        (
            {"answer": "{{ sends.rows(ack='all') }}"},
            "1: answer: sends: there is no column ack; .* acks",
        ),
        ({"answer": "{{ lost_recrod.rows }}"}, "1: answer: lost_recrod is neither .* lost_record"),
        ({"answer": "{{ polls.rows(end='above') }}"}, "1: answer: polls: there is no column end"),
        (
            {"groups": [other(manner="auto", commit_epoch="none")]},
            "in manner auto it commits style record, not none",
        ),
        (
            {"groups": [other(client="librdkafka", manner="message")]},
            "in manner message it commits style application, not record",
        ),
        ({"groups": [other(manner="stored")]}, "1: group readers: manner stored needs librdkafka"),
        (
            {"groups": [other(others={1: MemberPlan(client="java", commit_epoch="recrd")})]},
            "1: group readers: there is no commit style recrd",
        ),
        (
            {"groups": [other(others={2: MemberPlan(client="java")})]},
            "14: group readers has no member 2: there are 1 to 1",
        ),
        (
            {"topics": [*PLAN.topics, durable_topic("__orders", partitions=1)]},
            "1: topic __orders: names that begin with __ are of Kafka's own topics",
        ),
        (
            {"topics": [replace(PLAN.topics[0], settings={"cleanup.policy": "delete,compact"})]},
            "1: topic orders: cleanup.policy=delete,compact removes superseded records",
        ),
        (
            {"topics": [replace(PLAN.topics[0], settings={"segment.mss": "1"})]},
            "1: topic orders: there is no setting segment.mss; the nearest is segment.ms",
        ),
        ({"topics": [durable_topic("orders", partitions=0)]}, "partitions=0 has to be a number"),
        ({"expects": [Expectation(check="lost")]}, "1: there is no check lost; .* lost_record"),
        (
            {"expects": [Expectation(check="lost_record", verdict="ok")]},
            "1: there is no verdict ok; there are: violation",
        ),
        (
            {"expects": [Expectation(check="lost_record", groups=["r"])]},
            "1: there is no group r; there are: readers",
        ),
        (
            {"producers": [writer("w", "orderz")]},
            "1: producer w: there is no topic orderz; the nearest is orders",
        ),
        ({"producers": [writer("w", "orders", acks="2")]}, "1: producer w: there is no acks 2"),
        (
            {"producers": [writer("w", "orders", client="java-consumer")]},
            "1: producer w: there is no client java-consumer; there are: java, librdkafka",
        ),
        (
            {"producers": [writer("w", "orders", acks="1", transactions=ONE)]},
            "1: producer w: transactions need acks=all, not 1",
        ),
        (
            {"producers": [writer("w", "orders", client="kafka-python", transactions=ONE)]},
            "1: producer w: transactions need java or librdkafka, not kafka-python",
        ),
        (
            {"producers": [writer("w", "orders"), writer("w", "orders")]},
            "1: 2 producers are named w",
        ),
        ({"groups": [other(commit_epoch="recrd")]}, "1: group readers: there is no commit style"),
        ({"groups": [other(reset="first")]}, "1: group readers: there is no reset policy first"),
        (
            {"groups": [other(client="librdkafka", manner="revoked")]},
            "1: group readers: manner revoked needs java or java-consumer",
        ),
        (
            {"groups": [other(client="kafka-python", commit_epoch="metadata")]},
            "1: group readers: style metadata needs a Java client",
        ),
    ],
)
def test_a_plan_that_names_what_there_is_not_is_refused(
    tmp_path: Path, changed: dict[str, Any], reported: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:.*{reported}"):
        check_plan(msgspec.structs.replace(PLAN, **changed), write_module(tmp_path, STORY))


@pytest.mark.parametrize(
    ("client", "setting", "value", "reported"),
    [
        (
            "java",
            "enable.auto.commit",
            "true",
            'is not for settings: use manner="periodic" for true',
        ),
        ("librdkafka", "enable.auto.commit", True, 'is not for settings: use manner="periodic"'),
        ("kafka-python", "enable_auto_commit", 1, 'is not for settings: use manner="periodic"'),
        ("java", "isolation.level", "x", "settings: use isolation="),
        ("java-consumer", "sesion.timeout", "1", "no setting .* nearest is session.timeout.ms"),
        ("kafka-python", "max.poll.records", 1, "no setting .*; the nearest is max_poll_records"),
        ("java", "max.poll.records", "lots", r"=lots has to be a whole number \[1,\.\.\.\]"),
        ("java", "max.poll.records", "0", "=0 has to be a whole number"),
        ("java", "session.timeout.ms", "2147483648", "=2147483648 has to be a whole number"),
        ("java", "check.crcs", "yes", "=yes has to be true or false"),
        ("java", "session.timeout.ms", "2000", "=2000 has to be above heartbeat.interval.ms=3000"),
        ("java", "heartbeat.interval.ms", "45000", "session.timeout.ms=45000 has to be above"),
        ("java-consumer", "session.timeout.ms", "9000", "set group.consumer.session.timeout.ms"),
        ("java-consumer", "heartbeat.interval.ms", "900", "java-consumer can't have heartbeat"),
        (
            "java-consumer",
            "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.RangeAssignor",
            "use group.remote.assignor",
        ),
        ("java", "group.remote.assignor", "uniform", "use partition.assignment.strategy"),
        ("java", "client.rack", "r\nacks=0", "has a line break, which no setting may have"),
        ("kafka-python", "client_rack", "r\n", "has a line break"),
        ("librdkafka", "sesion.timeout.ms", 1, 'refuses .*=1: No such configuration prop.*"sesion'),
        ("librdkafka", "session.timeout.ms", "soon", "librdkafka refuses .*=soon: Invalid value"),
    ],
)
def test_a_setting_that_a_client_does_not_take_is_refused(
    tmp_path: Path, client: str, setting: str, value: object, reported: str
) -> None:
    groups = [other(client=client, settings={setting: value})]
    named = rf"own_test.py:.*group readers: .*{reported}"
    with pytest.raises(UsageError, match=f"(?s){named}") as refused:
        check_plan(msgspec.structs.replace(PLAN, groups=groups), write_module(tmp_path, STORY))
    assert setting in str(refused.value)


@pytest.mark.parametrize("session_ms", [6000, 6001])
def test_settings_of_librdkafka_are_tried_together(tmp_path: Path, session_ms: int) -> None:
    settings = {"max.poll.interval.ms": 6000, "session.timeout.ms": session_ms}
    groups = [other(client="librdkafka", settings=settings)]
    plan = msgspec.structs.replace(PLAN, groups=groups)
    if session_ms == 6000:
        check_plan(plan, write_module(tmp_path, STORY))
    else:
        with pytest.raises(UsageError, match="must be >= `session"):
            check_plan(plan, write_module(tmp_path, STORY))


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"log.retention.chek.interval.ms": "1"}, "nearest is log.retention.check.interval.ms"),
        ({"log.retention.hours": "a\nb"}, "topology: log.retention.hours='a"),
        ({"listener.name.secured.x": "y\rz"}, "has a line break"),
        ({"log.segment.bytes": "much"}, "log.segment.bytes=much has to be a whole number"),
        ({"log.cleaner.enable": "1"}, "log.cleaner.enable=1 has to be true or false"),
        ({"log.cleaner.min.cleanable.ratio": "2"}, r"has to be a number \[0,\.\.\.,1\]"),
        (
            {"log.cleanup.policy": "delete,compact"},
            "topology: log.cleanup.policy=delete,compact removes superseded records",
        ),
        (
            {"log.retention.ms": "1000"},
            "topology: log.retention.ms is not for settings: .* use retention_ms= of the topic",
        ),
        ({"node.id": "7"}, "topology: node.id is not for settings: the harness sets it"),
        ({"broker.rack": "r"}, "topology: broker.rack is not for settings: use has_racks="),
    ],
)
def test_a_setting_of_servers_that_there_is_not_is_refused(
    tmp_path: Path, settings: dict[str, str], reported: str
) -> None:
    with pytest.raises(UsageError, match=f"own_test.py:.*{reported}"):
        check_plan(PLAN, write_module(tmp_path, STORY), **settings)


@pytest.mark.parametrize(
    "changed",
    [
        {"client": "librdkafka", "manner": "auto"},
        {"settings": {"max.poll.records": "1", "group.instance.id": "{number}"}},
        {"client": "java-consumer", "settings": {"client.rack": "r"}},
        {
            "client": "librdkafka",
            "settings": {"session.timeout.ms": 6000, "group.instance.id": "{number}"},
        },
        {"client": "kafka-python", "settings": {"max_poll_records": 1}},
        {"labels": {"end": "above"}},
    ],
)
def test_what_a_client_takes_and_may_do_is_sound(tmp_path: Path, changed: dict[str, Any]) -> None:
    answer = "{{ polls.rows(end='above', client='java') }}" if "labels" in changed else ""
    plan = msgspec.structs.replace(PLAN, groups=[other(**changed)], answer=answer)
    check_plan(plan, write_module(tmp_path, STORY), **{"listener.name.secured.x": "y"})


def test_an_own_build_may_have_settings_of_its_own(tmp_path: Path) -> None:
    jars = [Jar(path="/x.jar", sha256="")]
    build = msgspec.structs.replace(released("4.4.0"), server_jars=jars, client_jars=jars)
    plan = msgspec.structs.replace(PLAN, groups=[other(settings={"new.setting": "1"})])
    topology = Topology(brokers=3, settings={"another.setting": "1"})
    module = load(write_module(tmp_path, STORY), "own_test")
    require_sound(plan, module, topology=topology, build=build)


KAFKAS = "org.apache.kafka.clients.consumer"
LOADING = {
    "plugin.library.paths": "monitoring-interceptor",
    "ssl.engine.location": "engine.so",
    "sasl.kerberos.kinit.cmd": "touch /tmp/x",
    "sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;",
    "listener.name.client.plain.sasl.jaas.config": "x",
    "remote.log.storage.manager.class.path": "/tmp/x.jar",
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "security.providers": "x.Y",
    "ssl.truststore.location": "/etc/passwd",
    "ssl_cafile": "/etc/passwd",
    "interceptor.classes": "x.Y",
    "metric.reporters": f"{KAFKAS}.Y,x.Y",
    "sasl.login.callback.handler.class": "x.Y",
    "authorizer.class.name": "x.Y",
    "partition.assignment.strategy": "x.Y",
}


@pytest.mark.parametrize("name", LOADING)
def test_a_setting_that_loads_code_is_refused_before_a_client_is_asked(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_of_plans, "_ask_client", Mock())
    build = released("4.4.0")
    given = {name: LOADING[name]}
    clients = (*INSTALLED, "guest@mine")
    problems = [client_problems(other(client=client, settings=given)) for client in clients]
    for client in (Client.JAVA, Client.LIBRDKAFKA, Client.KAFKA_PYTHON):
        producer = ProducerPlan(producer="p", topic="orders", client=client, settings=given)
        problems.append(producer_problems(producer, build))
    problems.append(server_problems(Topology(brokers=1, settings=given)))
    for found in problems:
        assert (
            found[name] == f"{name} is not for settings: it loads code or files, or runs a program"
        )


def test_classes_of_kafka_and_of_an_own_build_are_taken() -> None:
    names = f"{KAFKAS}.RangeAssignor, {KAFKAS}.CooperativeStickyAssignor"
    assert client_problems(other(settings={"partition.assignment.strategy": names})) == {}
    own = other(settings={"partition.assignment.strategy": "mine.Assignor"})
    assert client_problems(own, is_own=True) == {}
    rack = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    assert server_problems(Topology(brokers=1, settings=rack)) == {}


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ('{"cleanup.policy": "compact"}', "17: topic: cleanup.policy=compact removes superseded"),
        ("COMPACTED", "17: topic: cleanup.policy=compact,delete removes superseded"),
        ("COMPACTED if plain else None", "17: topic: cleanup.policy=compact,delete removes"),
        ('{"segment.mss": "1"}', "17: topic: there is no setting segment.mss; .* segment.ms"),
        ('{"min.insync.replicas": "1"}', "17: topic: min.insync.replicas .*: use min_insync="),
    ],
)
def test_settings_of_topics_are_checked_before_anything_starts(
    tmp_path: Path, settings: str, reported: str
) -> None:
    story = STORY.replace("ORDERS =", 'COMPACTED = {"cleanup.policy": "compact,delete"}\nORDERS =')
    file = write_module(tmp_path, f"{story}    run.create([1], settings={settings})\n")
    declared = {"answer": "", "groups": (), "producers": (), "topology": Topology(brokers=1)}
    with pytest.raises(UsageError, match=f"own_test.py:.*{reported[2:]}"):
        require_declared(load(file, file.stem), build=released("4.4.0"), **declared)


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_the_stories_of_all_scenarios_are_sound(scenario: Any) -> None:
    nothing = {"topics": [], "groups": [], "expects": []}
    check_plan(msgspec.structs.replace(PLAN, **nothing), scenario.path)


# The sizes of clusters and topics that can't be are refused before a start.


ORDERS = durable_topic("orders", partitions=1)


@pytest.mark.parametrize(
    "sound",
    [
        {"brokers": 1},
        {"brokers": 244},
        {"brokers": 100, "controllers": 3},
        {"brokers": 3, "controllers": 5, "spares": 4},
        {"brokers": 3, "combined": (1, 3), "spares": 1},
    ],
)
def test_a_sound_topology_is_taken(sound: dict[str, Any]) -> None:
    assert topology_problems(Topology(**sound)) == {}


@pytest.mark.parametrize(
    ("given", "name", "reported"),
    [
        ({"brokers": 0}, "brokers", "brokers=0 has to be a number, 1 to 244"),
        ({"brokers": -3}, "brokers", "brokers=-3 has to be"),
        ({"brokers": 245}, "brokers", "1 to 244"),
        ({"brokers": "3"}, "brokers", "brokers='3' has to be a number"),
        ({"brokers": True}, "brokers", "brokers=True has to be a number"),
        ({"brokers": 101, "controllers": 3}, "brokers", "1 to 100"),
        ({"brokers": 3, "controllers": -1}, "controllers", "0 to 243"),
        ({"brokers": 100, "controllers": 200}, "controllers", "300 servers are more than 244"),
        ({"brokers": 3, "combined": (4,)}, "combined", "there are 1 to 3"),
        ({"brokers": 3, "combined": (1, 1)}, "combined", "each once"),
        ({"brokers": 3, "combined": (1,), "controllers": 1}, "combined", "without controllers"),
        ({"brokers": 3, "controllers": 3, "spares": 3}, "spares", "0 to 2: a controller has to"),
        ({"brokers": 3, "spares": -1}, "spares", "spares=-1"),
    ],
)
def test_a_topology_that_can_not_be_is_refused(
    given: dict[str, Any], name: str, reported: str
) -> None:
    assert reported in topology_problems(Topology(**given))[name]


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"partitions": 0}, "topic orders: partitions=0 has to be a number, 1 to 10000"),
        ({"partitions": 10**9}, "topic orders: partitions=1000000000 has to be a number"),
        ({"replication": 4}, "topic orders: replication=4 has to be a number, 1 to 3"),
        ({"min_insync": 0}, "topic orders: min_insync=0"),
        ({"min_insync": 4}, "topic orders: min_insync=4 has to be a number, 1 to 3"),
        ({"retention_ms": -2}, "topic orders: retention_ms=-2"),
    ],
)
def test_a_topic_that_can_not_be_is_refused(changed: dict[str, int], reported: str) -> None:
    (problem,) = topic_shape_problems([replace(ORDERS, **changed)], Topology(brokers=3))
    assert problem.startswith(reported)


# What a scenario's file declares, read without importing it.


SCENARIO = '''"""A question?"""
RECIPES: dict[str, int] = {"pause": 1, "stop": 2}
class T:
    @matrix(recipe=list(RECIPES), size=[1, 2])
    @parametrize(recipe="other", size=3)
    def test_x(self, recipe, size): ...
'''


def declared_parameters(folder: Path, text: str) -> list[dict[str, object]] | None:
    parameters = read_scenario(write_module(folder, text)).parameters
    return None if parameters is None else [dict(values) for values in parameters]


def test_parameters_are_read_from_marks_and_from_the_names_that_they_list(tmp_path: Path) -> None:
    found = declared_parameters(tmp_path, SCENARIO)
    assert found is not None
    assert len(found) == 5
    assert {"recipe": "stop", "size": 2} in found
    assert {"recipe": "other", "size": 3} in found


def test_a_set_that_is_not_declared_is_refused_with_those_that_are(tmp_path: Path) -> None:
    declared_parameters(tmp_path, SCENARIO)
    scenario = read_scenario(tmp_path / "own_test.py")
    scenario.require({})
    scenario.require({"recipe": "pause", "size": 1})
    for wrong in ({"recipe": "pause"}, {"recipe": "bogus", "size": 1}, {"nonsense": 1}):
        with pytest.raises(UsageError, match=r'own does not declare .*\{"recipe": "pause", "size"'):
            scenario.require(wrong)


def test_a_parameter_with_a_default_may_be_given_to_any_declared_set(tmp_path: Path) -> None:
    declared_parameters(tmp_path, SCENARIO.replace("recipe, size)", "recipe, size, ways=())"))
    scenario = read_scenario(tmp_path / "own_test.py")
    scenario.require({"recipe": "pause", "size": 1, "ways": [3]})
    for wrong in ({"ways": [3]}, {"recipe": "pause", "size": 1, "nonsense": 1}):
        with pytest.raises(UsageError, match="own does not declare"):
            scenario.require(wrong)


def test_what_is_no_literal_is_not_checked(tmp_path: Path) -> None:
    text = SCENARIO.replace("list(RECIPES)", "all_of_them()")
    assert declared_parameters(tmp_path, text) is None
    read_scenario(tmp_path / "own_test.py").require({"recipe": "anything"})


def test_a_scenario_names_the_version_that_its_brokers_start_on(tmp_path: Path) -> None:
    declared_parameters(tmp_path, SCENARIO + 'STARTS_ON = {"9.9.9": "9.8.7"}\n')
    assert read_scenario(tmp_path / "own_test.py").starts_on == {"9.9.9": "9.8.7"}
    declared_parameters(tmp_path, SCENARIO)
    assert read_scenario(tmp_path / "own_test.py").starts_on == {}


CUTTING = '''"""A question?"""
from harness.faults.cut import Cut as Sever
from harness.faults.divide import Divide
RECIPES = {"pause": Pause(LEADER), "deaf": Sever(LEADER), "quorum": [Divide(VOTER)]}
class T:
    @matrix(recipe=list(RECIPES))
    def test_x(self, recipe): ...
'''


@pytest.mark.parametrize(
    ("story", "parameters", "reported"),
    [
        (CUTTING, {"recipe": "pause"}, None),
        (CUTTING, {"recipe": "deaf"}, 'own cuts connections with {"recipe": "deaf"}, and nodes'),
        (CUTTING, {"recipe": "quorum"}, "docker$"),
        (CUTTING, {}, """or --parameters '{"recipe": "pause"}'$"""),
        (f"{CUTTING}    def cut(self): Sever(X)\n", {"recipe": "pause"}, "own cuts connections w"),
        (f"{CUTTING.replace('matrix', 'other')}X = Divide(Y)\n", {}, "own cuts connections, and"),
        (CUTTING.replace("Sever(", "Kill(").replace("Divide(", "Kill("), {}, None),
    ],
)
def test_a_scenario_that_cuts_connections_needs_a_network(
    tmp_path: Path, story: str, parameters: dict[str, str], reported: str | None
) -> None:
    declared_parameters(tmp_path, story)
    scenario = read_scenario(tmp_path / "own_test.py")
    if reported is None:
        scenario.require_uncut(parameters)
        return
    with pytest.raises(UsageError, match=reported.replace("{", "[{]")):
        scenario.require_uncut(parameters)


BROKEN = {
    "syntax": ('"""Why?"""\n\nclass Own(\n', "own_test.py:3: .* was never closed"),
    "indentation": ("def f():\nx = 1\n", "own_test.py:2: expected an indented block"),
    "no UTF-8": (b"x = '\xff'\n", "own_test.py:1: .*utf-8"),
    "a null": ("x = 1\0\n", "own_test.py.* null bytes"),
    "nested": ("x = " + "(" * 300 + "\n", "own_test.py:1: too many nested parentheses"),
    "starts on": ("\nSTARTS_ON = versions()\n", "own_test.py:2: STARTS_ON must be a literal"),
    "starts on a number": ("STARTS_ON = 4\n", "own_test.py:1: STARTS_ON must be a literal"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_file_is_reported_with_its_line_and_breaks_no_other(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, reported = BROKEN[kind]
    as_bytes = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "own_test.py").write_bytes(as_bytes)
    (tmp_path / "sound_test.py").write_text('"""Why?"""\n')
    monkeypatch.setattr(catalog, "scenario_folders", lambda: [tmp_path])
    assert [scenario.name for scenario in scenarios()] == ["own", "sound"]
    (sound,) = find_scenarios(["sound"])
    sound.require({})
    with pytest.raises(UsageError, match=reported):
        find_scenarios(["own"])[0].require({})


def test_what_is_no_readable_file_breaks_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder_test.py").mkdir()
    (tmp_path / "link_test.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe_test.py")
    monkeypatch.setattr(catalog, "scenario_folders", lambda: [tmp_path])
    for scenario in scenarios():
        with pytest.raises(UsageError, match=f"{scenario.name}_test.py can't be read"):
            scenario.require({})


def test_every_fault_that_needs_a_network_is_found_in_its_file() -> None:
    needing = {fault.__name__ for fault in FAULTS if fault.needs is Capability.CUT}
    assert needing == catalog.cutting() != set()


# How many nodes a scenario's file needs, by importing it.


SIZED = '''"""A question?"""
from cluster.kafka.topology import Topology
from contract.software import Client
from harness.story.scenario import Scenario
from harness.story.workload import reader
from shapes import CONTROLLERS


class Small(Scenario):
    topology = Topology(brokers=1)
    must_judge = ()

    def test_it(self): ...


class Large(Scenario):
    topology = Topology(brokers=3, controllers=CONTROLLERS)
    groups = (
        reader("java", "t", members=2),
        reader("other", "t"),
        reader("python", "t", client=Client.KAFKA_PYTHON),
    )
    must_judge = ()

    def test_it(self): ...
'''


def write_sized(folder: Path, text: str) -> Path:
    (folder / "shapes.py").write_text("CONTROLLERS = 1\n")
    return write_module(folder, text)


def test_servers_workers_and_the_observer_are_counted(tmp_path: Path) -> None:
    """Of the larger scenario: four servers, two Java workers, one of kafka-python, the observer."""
    file = write_sized(tmp_path, SIZED)
    assert pool_size([file, file], released("4.4.0")) == 4 + 2 + 1 + 1


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('"""Why?"""\n', "holds no subclass of Scenario"),
        ("\nimport nothing_of_that_name\n", "own_test.py:2 does not import: ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", "own_test.py:2 does not import: SystemExit: 0"),
        ("def f():\n    1 / 0\n\nf()\n", "own_test.py:2 does not import: ZeroDivisionError"),
        ("class C(\n", "own_test.py.* line 1"),
        (
            SIZED.replace("brokers=1", "brokers=244"),
            "needs 246 nodes for its servers, workers and observer, and a pool has at most 244",
        ),
        (
            SIZED.replace("brokers=1", "brokers=-3"),
            "own_test.py:10: topology: brokers=-3 has to be a number, 1 to 244",
        ),
    ],
)
def test_a_file_that_can_not_be_counted_is_refused(
    tmp_path: Path, text: str, reported: str
) -> None:
    with pytest.raises(UsageError, match=reported):
        pool_size([write_sized(tmp_path, text)], released("4.4.0"))


# Topics of a plan, as they are created.


TOPICS = TopicPlan(topic="t", partitions=1, replication=2, min_insync=1, unclean_election=False)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_refused(policy: str) -> None:
    with pytest.raises(UsageError, match=r"topic t: cleanup.policy=.*cleanup\.policy=delete"):
        new_topic(TOPICS, [1, 2], is_spread=False, settings={"cleanup.policy": policy})


def test_a_topic_is_not_made_compacted_later() -> None:
    alter = ObserverRole.alter_topic("orders", {"cleanup.policy": "compact"}).command.method
    with pytest.raises(WorkerError, match=r"topic orders: cleanup\.policy=compact removes"):
        alter(None, "orders", {"cleanup.policy": "compact"})
