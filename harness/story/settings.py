"""Settings and sizes of a plan: what is wrong with them is an error before a start."""

import functools
import importlib.util
import itertools
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cluster.clients.versions import ensure
from cluster.kafka import distribution
from cluster.kafka.settings import Of, broken_lines, compaction, unknown_settings, wrong_values
from cluster.kafka.topology import FIRST_CONTROLLER_ID, Topology
from cluster.nodes.node import NODES_MAX
from contract.errors import WorkerError
from contract.packages import environment, python
from contract.run_folder import GroupPlan, Plan, ProducerPlan, TopicPlan
from contract.software import (
    BY_THE_HARNESS,
    Build,
    Client,
    client_of,
    version_of,
    without_codec,
)
from contract.terms import Manner
from harness.clients.process import worker_of
from harness.clients.producer_role import ASK_SETTINGS
from harness.clients.producers import ASK_PRODUCER, ProducerQuestion, opening_of

_OF_A_GROUP = {
    "auto.offset.reset": "use reset=",
    "bootstrap.servers": BY_THE_HARNESS,
    "client.id": BY_THE_HARNESS,
    "enable.auto.commit": f'use manner="{Manner.PERIODIC}" for true, any other manner for false',
    "group.id": "it is the name of the group",
    "group.protocol": f'use client="{Client.JAVA}" or client="{Client.JAVA_CONSUMER}"',
    "isolation.level": "use isolation=",
    "key.deserializer": BY_THE_HARNESS,
    "value.deserializer": BY_THE_HARNESS,
}
"""What a plan has in another place, which a setting would contradict; likewise below."""
_OF_A_PRODUCER = {
    "acks": "use acks=",
    "bootstrap.servers": BY_THE_HARNESS,
    "client.id": BY_THE_HARNESS,
    "kafka.client": BY_THE_HARNESS,
    "key.serializer": BY_THE_HARNESS,
    "metadata.broker.list": BY_THE_HARNESS,
    "request.required.acks": "use acks=",
    "transactional.id": "use transactions=, which have the name of the producer",
    "value.serializer": BY_THE_HARNESS,
}
_LOADS = re.compile(
    r"(^|\.)(plugin\.(library\.paths|path)|class\.path|jaas\.config|kinit\.cmd|(security|ssl|config)"
    r"\.providers(\..*)?|location|(ca|cert|key|crl)?file)$"
)
"""Settings of all clients and servers by which they load a library or a file, or run a program."""
_NAMES_CLASSES = re.compile(
    r"(class|classes|class\.name|reporters|assignors|interceptors|strategy|callback)$"
)
_OF_KAFKA = re.compile(r"[\w-]*|(org\.apache\.)?kafka\.[\w.$]+")
"""Classes that come with Kafka, and short names."""
_NOWHERE = "127.0.0.1:9"
_OF_A_TOPIC = {
    "min.insync.replicas": "use min_insync=",
    "unclean.leader.election.enable": "use unclean_election=",
}
_OF_A_SERVER = {
    **dict.fromkeys(
        (
            "advertised.listeners",
            "controller.listener.names",
            "controller.quorum.bootstrap.servers",
            "controller.quorum.voters",
            "inter.broker.listener.name",
            "listener.security.protocol.map",
            "listeners",
            "log.dir",
            "log.dirs",
            "node.id",
        ),
        BY_THE_HARNESS,
    ),
    **dict.fromkeys(
        ("log.retention.bytes", "log.retention.hours", "log.retention.minutes", "log.retention.ms"),
        "what a topic may lose is judged by its plan: use retention_ms= of the topic",
    ),
    "broker.id": BY_THE_HARNESS,
    "broker.rack": "use has_racks=",
    "process.roles": "use controllers= and combined=",
}
_SESSION = {"session.timeout.ms": "45000", "heartbeat.interval.ms": "3000"}
"""With the defaults of `ConsumerConfig`; the first has to be above the second."""
_OF_THE_OTHER_PROTOCOL = {
    True: {"group.remote.assignor": "use partition.assignment.strategy"},
    False: {
        **{
            name: f"set group.consumer.{name} and group.consumer.min.{name} of the servers"
            for name in _SESSION
        },
        "partition.assignment.strategy": "use group.remote.assignor",
    },
}
"""Of classic groups, and of KIP-848 ones (`ConsumerConfig.checkUnsupportedConfigsPostProcess`)."""
_BROKERS_MAX = FIRST_CONTROLLER_ID - 1
_PARTITIONS_MAX = 10_000
_COMPRESSION = ("compression.type", "compression.codec", "compression_type")
"""As servers, topics and producers call it, by their clients."""
_UNLIMITED_MS = -1
_INTERNAL = "__"


def client_problems(group: GroupPlan, *, is_own: bool = False) -> dict[str, str]:
    """Return what is wrong with settings of a group's client, by the setting.

    Args:
        group: its client and settings.
        is_own: whether Java clients are an own build, which may have settings of its own.
    """
    names = group.settings
    client = client_of(group.client)
    placed = {**_OF_A_GROUP, **client.about.reserved}
    if found := _refuse_misplaced(_in_javas_words(names), placed):
        return found
    if found := broken_lines(names) or _loading(names, is_own=is_own):
        return found
    if client is Client.GUEST:
        return {}
    if client.about.is_java:
        if is_own:
            return {}
        # `{number}` stands for the number of a member.
        given = {name: str(value).replace("{number}", "1") for name, value in names.items()}
        found = unknown_settings(names, Of.CONSUMER) | wrong_values(given, Of.CONSUMER)
        found |= {
            name: f"{client} can't have {name}: {instead}"
            for name, instead in _OF_THE_OTHER_PROTOCOL[client.about.is_classic].items()
            if name in names
        }
        return found or _untimely(given)
    return _ask_client(group.client, ASK_SETTINGS, json.dumps(names)) if names else {}


def producer_problems(producer: ProducerPlan, build: Build) -> dict[str, str]:
    """Return what is wrong with settings of a producer, by the setting.

    The client itself is asked last: it knows what contradicts each other.
    """
    names = producer.settings
    if found := _refuse_misplaced(_in_javas_words(names), _OF_A_PRODUCER):
        return found
    is_own = bool(build.of_clients.own)
    if found := broken_lines(names) or _loading(names, is_own=is_own):
        return found
    is_java = client_of(producer.client).about.is_java
    if is_java and not is_own:
        of = Of.PRODUCER
        if found := unknown_settings(names, of) | wrong_values(names, of):
            return found
    if not names and producer.transactions is None:
        return {}
    classes = build.of_clients
    question = ProducerQuestion(
        opening=opening_of(producer, _NOWHERE),
        jars=[
            *(jar.path for jar in classes.own),
            *(map(str, distribution.class_path(classes.locked)) if classes.locked else ()),
        ]
        if is_java
        else [],
    )
    refusal = _ask_client(producer.client, ASK_PRODUCER, msgspec.json.encode(question).decode())
    if not refusal:
        return {}
    given = ", ".join(f"{name}={value}" for name, value in names.items())
    name = next(iter(names), producer.producer)
    return {name: f"{producer.client} refuses acks={producer.acks}, {given}: {refusal}"}


def topic_problems(settings: Mapping[str, str], *, is_own: bool = False) -> dict[str, str]:
    """Return what is wrong with settings of a topic, by the setting; `is_own` as above."""
    found = compaction(settings)
    found |= _refuse_misplaced(dict(zip(settings, settings, strict=True)), _OF_A_TOPIC)
    found |= broken_lines(settings)
    return found if is_own else _unusable(settings, Of.TOPIC) | found


def server_problems(topology: Topology, *, is_own: bool = False) -> dict[str, str]:
    """Return what is wrong with settings of servers, by the setting; `is_own` as above."""
    names = topology.settings
    found = compaction(names) | _refuse_misplaced(
        dict(zip(names, names, strict=True)), _OF_A_SERVER
    )
    found |= broken_lines(names) | _loading(names, is_own=is_own)
    return found if is_own else _unusable(names, Of.SERVER) | found


def _loading(settings: Mapping[str, str | int], *, is_own: bool) -> dict[str, str]:
    """Refuse what loads code or files: a plan may come from anyone, and runs on this machine.

    An own build may have classes of its own.
    """
    return {
        name: f"{name} is not for settings: it loads code or files, or runs a program"
        for name, java in _in_javas_words(settings).items()
        if _LOADS.search(java)
        or (not is_own and _NAMES_CLASSES.search(java) and not _are_kafkas(str(settings[name])))
    }


def _are_kafkas(classes: str) -> bool:
    return all(_OF_KAFKA.fullmatch(name.strip()) for name in classes.split(","))


def _unusable(settings: Mapping[str, str], of: Of) -> dict[str, str]:
    return unknown_settings(settings, of) | wrong_values(settings, of)


def _untimely(given: Mapping[str, str]) -> dict[str, str]:
    """A member whose session ends before its next heartbeat can't stay in its group."""
    session, heartbeat = (int(given.get(name, default)) for name, default in _SESSION.items())
    if session > heartbeat:
        return {}
    shorter, longer = _SESSION
    name = shorter if shorter in given else longer
    return {name: f"{shorter}={session} has to be above {longer}={heartbeat}"}


def codec_problems(
    plan: Plan, topology: Topology, created: Sequence[Mapping[str, str]] = ()
) -> Iterator[tuple[str, str]]:
    """Yield a codec of records that a group can't read here, and what is wrong with it.

    `created`: settings with which the story creates its topics.
    """
    for group in plan.groups:
        given = [
            topology.settings,
            *created,
            *(topic.settings for topic in plan.topics if topic.topic == group.topic),
            *(other.settings for other in plan.producers if other.topic == group.topic),
        ]
        used = {str(of[name]) for of in given for name in _COMPRESSION if name in of}
        for client, codec in itertools.product(map(client_of, group.clients), sorted(used)):
            modules = client.about.codecs.get(codec, ())
            if modules and not any(map(importlib.util.find_spec, modules)):
                why = f"group {group.group} of {client} can't read records of codec {codec}"
                yield codec, f"{why}: {without_codec(client.about.package, codec)}"


def _refuse_misplaced(names: Mapping[str, str], placed: Mapping[str, str]) -> dict[str, str]:
    """Refuse what belongs elsewhere; `names` has Kafka's name of each setting."""
    return {
        name: f"{name} is not for settings: {placed[at]}"
        for name, at in names.items()
        if at in placed
    }


def _in_javas_words(names: Iterable[str]) -> dict[str, str]:
    """Return the name that Java's client has for each setting."""
    return {name: name.replace("_", ".") for name in names}


@functools.cache
def _ask_client(named: str, what: str, question: str) -> Any:
    """Ask a client itself, in a process of its own: the driver loads no client.

    Raises:
        WorkerError: the process failed.
    """
    packages = ensure(named) if version_of(named) else None
    ended = subprocess.run(
        python(worker_of(named).module, what, question, packages=packages),
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        raise WorkerError(f"{named} can't be asked for its settings: {ended.stderr}")
    return json.loads(ended.stdout)


def topology_problems(topology: Topology) -> dict[str, str]:
    """Return what is wrong with the numbers of a topology, by its attribute."""
    found = {
        name: problem
        for name, given, least, most in (
            ("brokers", topology.brokers, 1, _brokers_max(topology)),
            ("controllers", topology.controllers, 0, NODES_MAX - 1),
        )
        if (problem := _outside(name, given, least, most))
    }
    if found:
        return found
    if topology.node_count > NODES_MAX:
        return {"controllers": f"{topology.node_count} servers are more than {NODES_MAX}"}
    brokers, combined = topology.broker_ids, topology.combined
    if set(combined) - set(brokers) or len(set(combined)) < len(combined):
        known = f"there are 1 to {brokers[-1]}"
        found["combined"] = f"combined={combined} has to name brokers, each once; {known}"
    elif combined and topology.controllers:
        found["combined"] = "combined is for a cluster without controllers of its own"
    if problem := _outside("spares", topology.spares, 0, len(topology.controller_ids) - 1):
        found["spares"] = f"{problem}: a controller has to vote"
    return found


def topic_shape_problems(topics: Sequence[TopicPlan], topology: Topology) -> Iterator[str]:
    """Yield what is wrong with the numbers of planned topics."""
    for topic in topics:
        for name, given, least, most in (
            ("partitions", topic.partitions, 1, _PARTITIONS_MAX),
            ("replication", topic.replication, 1, topology.brokers),
            ("min_insync", topic.min_insync, 1, topic.replication),
            ("retention_ms", topic.retention_ms, _UNLIMITED_MS, None),
        ):
            if given is not None and (problem := _outside(name, given, least, most)):
                yield f"topic {topic.topic}: {problem}"
        if topic.topic.startswith(_INTERNAL):
            yield (
                f"topic {topic.topic}: names that begin with {_INTERNAL} are of Kafka's own "
                "topics, which are compacted: use another name"
            )


def _brokers_max(topology: Topology) -> int:
    """Controllers have ids above those of brokers."""
    return _BROKERS_MAX if topology.controllers else NODES_MAX


def _outside(name: str, given: Any, least: int, most: int | None) -> str:
    """Say that a number is not within its bounds; nothing if it is."""
    is_number = isinstance(given, int) and not isinstance(given, bool)
    if is_number and given >= least and (most is None or given <= most):
        return ""
    bounds = f"at least {least}" if most is None else f"{least} to {most}"
    return f"{name}={given!r} has to be a number, {bounds}"
