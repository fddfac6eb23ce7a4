"""Server properties and log configuration, for faults that take effect and heal in seconds.

Also the options of Kafka's Java programs, for which workers on nodes import this.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from cluster.kafka.topology import (
    CLIENT_PORT,
    COLLECTORS,
    CONTROLLER_PORT,
    PASSWORD,
    REPLICATION_PORT,
    SECURED_PORT,
    Topology,
)
from contract.errors import UsageError
from contract.processes import ClassData, class_data

_FAULT_SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "200",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "0",
    "log.index.size.max.bytes": "262144",
    "log.initial.task.delay.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "auto.create.topics.enable": "false",
    "controlled.shutdown.enable": "true",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.threads": "1",
    "log.cleaner.dedupe.buffer.size": "10485760",
}
"""Settings with which Kafka reacts within seconds where its defaults take minutes.

`log.index.size.max.bytes`: an index is preallocated when its segment is created. With Kafka's own
10 MiB, two to a partition, the copy of a log directory before a heal would be hundreds of megabytes
of zeros. These serve segments of up to 85 MiB, which then roll.
"""

_LOG4J2 = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p [%t] %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
logger.config.name = org.apache.kafka.common.config
logger.config.level = warn
logger.kafkaconfig.name = kafka.server.KafkaConfig
logger.kafkaconfig.level = warn
"""

_RELOAD4J = """\
log4j.rootLogger = INFO, out
log4j.appender.out = org.apache.log4j.ConsoleAppender
log4j.appender.out.layout = org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p [%t] %c{1} %m%n
log4j.logger.org.apache.kafka.common.config = WARN
log4j.logger.kafka.server.KafkaConfig = WARN
"""

LOG_CONFIGS = {"log4j2.properties": _LOG4J2, "log4j.properties": _RELOAD4J}
"""By file name: 4.x reads the first (log4j 2), 3.9 the second (reload4j)."""


def setting_ms(topology: Topology, name: str) -> int:
    """Return a server setting in milliseconds: the topology's own, or the one for faults.

    Raises:
        KeyError: neither sets it; Kafka's default holds.
    """
    return int({**_FAULT_SETTINGS, **topology.settings}[name])


def server_properties(
    topology: Topology,
    *,
    server_id: int,
    addresses: Mapping[int, str],
    data: Path,
    proxy: str | None = None,
) -> str:
    """`server.properties` of one server.

    Raises:
        UsageError: `data` has a comma, at which Kafka splits `log.dirs`.
    """
    if "," in str(data):
        raise UsageError(f"{data} has a comma, at which Kafka splits log.dirs: see --results")
    address = addresses[server_id]
    listeners = {"CONTROLLER": CONTROLLER_PORT} if server_id in topology.controller_ids else {}
    advertised: dict[str, int] = {}
    if server_id in topology.broker_ids:
        advertised = {"CLIENT": CLIENT_PORT, "REPLICATION": REPLICATION_PORT}
        if topology.principals:
            advertised["SECURED"] = SECURED_PORT
    properties = {
        "node.id": str(server_id),
        "process.roles": topology.roles(server_id),
        **_quorum(topology, addresses),
        "controller.listener.names": "CONTROLLER",
        "listeners": _endpoints(address, {**advertised, **listeners}),
        "listener.security.protocol.map": (
            "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "log.dirs": property_value(str(data)),
        "offsets.topic.replication.factor": str(topology.internal_replicas),
        "transaction.state.log.replication.factor": str(topology.internal_replicas),
        "transaction.state.log.min.isr": "1",
        **_FAULT_SETTINGS,
    }
    if advertised:
        at_proxy = {"CLIENT": topology.proxy_port(server_id)} if proxy is not None else {}
        directly = {name: port for name, port in advertised.items() if name not in at_proxy}
        properties["advertised.listeners"] = ",".join(
            _endpoints(host, ports)
            for host, ports in ((proxy or address, at_proxy), (address, directly))
            if ports
        )
        properties["inter.broker.listener.name"] = "REPLICATION"
        if topology.has_racks:
            properties["broker.rack"] = topology.rack(server_id)
    properties.update(_security(topology) if topology.principals else {})
    properties.update(topology.settings)
    return "".join(f"{key}={value}\n" for key, value in sorted(properties.items()))


def _quorum(topology: Topology, addresses: Mapping[int, str]) -> dict[str, str]:
    """How servers find the quorum: its voters, or, where these can change, all controllers."""
    at = {i: f"{addresses[i]}:{CONTROLLER_PORT}" for i in topology.controller_ids}
    if topology.spares:
        return {"controller.quorum.bootstrap.servers": ",".join(at.values())}
    return {"controller.quorum.voters": ",".join(f"{i}@{where}" for i, where in at.items())}


def format_options(
    topology: Topology, *, server_id: int, addresses: Mapping[int, str]
) -> list[str]:
    """Options of `kafka-storage format`: feature levels, and the voters of a dynamic quorum.

    Each voter's directory id is that of `directory_id`; a spare one has an id of its own.
    """
    options = [
        word
        for name, level in topology.features.items()
        for word in ("--feature", f"{name}={level}")
    ]
    if topology.spares and server_id in topology.voter_ids:
        voters = ",".join(
            f"{i}@{addresses[i]}:{CONTROLLER_PORT}:{directory_id(i)}" for i in topology.voter_ids
        )
        return [*options, "--initial-controllers", voters]
    if topology.spares and server_id in topology.controller_ids:
        return [*options, "--no-initial-controllers"]
    return options


def directory_id(voter_id: int) -> str:
    """Return the directory id of a voter of a dynamic quorum, as Kafka writes it."""
    return base64.urlsafe_b64encode(b"fencepost%7d" % voter_id).decode().rstrip("=")


def new_directory_id() -> str:
    """Return a random directory id, as `Uuid.randomUuid` of Kafka makes it."""
    while True:
        found = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
        if not found.startswith("-"):
            return found


def _security(topology: Topology) -> dict[str, str]:
    """Settings of the listener `SECURED` and of the authorizer."""
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in topology.principals)
    return {
        "listener.security.protocol.map": (
            "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURED:SASL_PLAINTEXT"
        ),
        "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secured.plain.sasl.jaas.config": (
            f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def property_value(text: str) -> str:
    """Escape a text for a Java properties file, in Latin-1."""
    return json.dumps(text)[1:-1]


def _endpoints(address: str, ports: Mapping[str, int]) -> str:
    return ",".join(f"{name}://{address}:{port}" for name, port in ports.items())


_JVM_FLAGS = (
    "-Xms128m",
    "-XX:TieredStopAtLevel=1",
    "-Duser.timezone=UTC",
)


def java_options(
    home: Path, class_path: Sequence[Path], *, topology: Topology | None = None
) -> list[str]:
    """Return the options of `java`: flags, the class path; logging and its own files in `home`.

    `topology` has the heap and the collector; None: the defaults of one.
    """
    shape = Topology(brokers=1) if topology is None else topology
    log4j2, reload4j = (home / name for name in LOG_CONFIGS)
    options = [
        f"-Xmx{shape.heap}",
        f"-XX:+Use{COLLECTORS[shape.collector]}GC",
        *_JVM_FLAGS,
        f"-Djava.io.tmpdir={home}",
        f"-Dlog4j2.configurationFile={log4j2.as_uri()}",
    ]
    options += [f"-Dlog4j.configuration={reload4j.as_uri()}"]
    return [*options, "-cp", ":".join(map(str, class_path))]


def kafka_class_data(
    class_path: Sequence[Path], *, java_home: Path | None = None
) -> ClassData | None:
    """The class data of a Kafka version, whose jars lie in a folder that is named by it."""
    return class_data(f"kafka-{class_path[0].parent.name}", class_path, java_home=java_home)
