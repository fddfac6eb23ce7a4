"""How fast does a cluster start, and how fast do clients under test write and read?

Cluster: 3 brokers; two topics of one partition with 3 replicas, 2 of them in sync.
Load:    values of an acks=all producer, as fast as it can, and as many records of Kafka's own
         programs in a topic of their own. All programs read the values.
Fault:   none.
Expect:  nothing. `make bench` keeps its figures (docs/benchmarks.md).
"""

import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cluster.kafka.topology import CLIENT_PORT, CONTROLLER_PORT, Topology
from cluster.nodes.node import Node
from contract.events import make_value
from contract.software import INSTALLED, Client
from contract.terms import Stage
from harness.clients.admin import NewTopic
from harness.clients.producer_role import ProducerRole
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer
from lab.cluster.page import (
    BARE,
    CLUSTER,
    CONSUMER_PERFORMANCE,
    FIGURES,
    PRODUCER_PERFORMANCE,
    RECORDS,
    ROUNDS,
    TOOLS,
    VERIFIABLE_CONSUMER,
    VERIFIABLE_PRODUCER,
    WARM_UP_ROUNDS,
    Figures,
)

_TOOL_SECONDS = 120
_FORMAT = "kafka.tools.StorageTool format --ignore-formatted -t fencepost-bare-broke-Q -c"
_BARE_JVM = (
    "-Xmx1G -Xms1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 "
    "-XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"
)
"""As `kafka-server-start.sh` and `kafka-run-class.sh` have them."""


class _Reported(msgspec.Struct):
    """A line of VerifiableProducer or VerifiableConsumer; timestamps are in milliseconds."""

    name: str
    timestamp: int = 0
    avg_throughput: float = 0
    count: int = 0


class ClusterSpeedScenario(Scenario):
    """Programs take turns, so that each round has the same conditions for all."""

    topology = Topology(brokers=3)
    orders = durable_topic("orders", partitions=1)
    others = durable_topic("others", partitions=1)
    groups = tuple(reader(client, "orders", client=client) for client in INSTALLED)
    must_judge = ()

    def test_ready(self) -> None:
        """From the start of a server's formatting until the first value is acknowledged."""
        with self.running(topics=[self.orders]) as run:
            ready: dict[str, list[float]] = {BARE: [], CLUSTER: []}
            for number in range(ROUNDS):
                run.phases.enter(Stage.STEADY, f"round {number + 1} of {ROUNDS}: starting")
                for name, start in ((BARE, _bare_broker), (CLUSTER, _cluster)):
                    run.kafka.kill_all()
                    run.kafka.clean()
                    ready[name].append(start(run, number))
            _write(run, {"ready": ready})

    def test_clients(self) -> None:
        """Records a second, of the same number of records of one size."""
        with self.running(topics=[self.orders, self.others], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3])
            tools = Tools(run, written=self.others.topic, read=self.orders.topic)
            figures: Figures = {"send": defaultdict(list), "poll": defaultdict(list)}
            rounds = WARM_UP_ROUNDS + ROUNDS
            for number in range(rounds):
                run.phases.enter(Stage.STEADY, f"round {number + 1} of {rounds}: writing")
                for name, send in self._senders(run, tools, number):
                    records_per_second = send()
                    if number >= WARM_UP_ROUNDS:
                        figures["send"][name].append(records_per_second)
            written = run.log_ends(self.orders)[0]
            for number in range(ROUNDS):
                for name, poll in self._pollers(run, tools, number, written):
                    run.phases.enter(Stage.STEADY, f"round {number + 1} of {ROUNDS}: {name} reads")
                    figures["poll"][name].append(poll())
            _write(run, figures)

    def _senders(
        self, run: Run, tools: "Tools", number: int
    ) -> Iterator[tuple[str, Callable[[], float]]]:
        def time_verified() -> float:
            began = time.monotonic()
            run.produce(self.orders.topic, count=RECORDS, producer=f"writer-{number}")
            return RECORDS / (time.monotonic() - began)

        yield Client.JAVA, time_verified
        yield PRODUCER_PERFORMANCE, tools.producer_performance
        yield VERIFIABLE_PRODUCER, tools.verifiable_producer

    def _pollers(
        self, run: Run, tools: "Tools", number: int, written: int
    ) -> Iterator[tuple[str, Callable[[], float]]]:
        def time_verified(index: int) -> float:
            began = time.monotonic()
            members = run.open([self.groups[index]], incarnation=number + 1)
            run.consume(members, timeout_seconds=_TOOL_SECONDS)
            seconds = time.monotonic() - began
            run.close(members)
            return written / seconds

        for index, group in enumerate(self.groups):
            yield group.group, lambda index=index: time_verified(index)  # type: ignore[misc]
        yield CONSUMER_PERFORMANCE, lambda: tools.consumer_performance(number, written)
        yield VERIFIABLE_CONSUMER, lambda: tools.verifiable_consumer(number, written)


class Tools:
    """Kafka's own programs, on the observer's node; each returns its records a second."""

    def __init__(self, run: Run, *, written: str, read: str) -> None:
        """Nothing runs yet; `written` and `read` are topics."""
        self._node = run.observer.worker.host
        self._bootstrap, self._written, self._read = run.kafka.bootstrap, written, read
        jars = [*self._node.class_path(run.kafka.version), Path(os.environ[TOOLS])]
        self._java = [self._node.java, "-cp", ":".join(map(str, jars))]
        self._record_bytes = len(make_value("writer-0", RECORDS))

    def producer_performance(self) -> float:
        """Of its last line."""
        output = self._run(
            f"{PRODUCER_PERFORMANCE} --topic {self._written} --num-records {RECORDS} "
            f"--record-size {self._record_bytes} --throughput -1 --producer-props acks=all "
            f"linger.ms=5 bootstrap.servers={self._bootstrap}"
        )
        return float(re.findall(r"([\d.]+) records/sec", output)[-1])

    def verifiable_producer(self) -> float:
        """Of its `tool_data`."""
        lines = self._run_reporting(
            f"{VERIFIABLE_PRODUCER} --bootstrap-server {self._bootstrap} --topic {self._written} "
            f"--max-messages {RECORDS} --throughput -1 --acks -1"
        )
        (figures,) = (line for line in lines if line.name == "tool_data")
        return figures.avg_throughput

    def consumer_performance(self, number: int, written: int) -> float:
        """Records a second of its last line, the time to join its group included."""
        output = self._run(
            f"{CONSUMER_PERFORMANCE} --bootstrap-server {self._bootstrap} --topic {self._read} "
            f"--group performance-{number} --num-records {written}"
        )
        names, *_, values = (line for line in output.splitlines() if line.count(", ") > 1)
        figures = dict(zip(names.split(", "), values.split(", "), strict=True))
        return float(figures["nMsg.sec"])

    def verifiable_consumer(self, number: int, written: int) -> float:
        """From its start to the last records that it reports."""
        lines = self._run_reporting(
            f"{VERIFIABLE_CONSUMER} --bootstrap-server {self._bootstrap} --topic {self._read} "
            f"--group-id verifiable-{number} --max-messages {written} --reset-policy earliest"
        )
        (began,) = (line.timestamp for line in lines if line.name == "startup_complete")
        ended = max(line.timestamp for line in lines if line.name == "records_consumed")
        return written / (ended - began) * 1000

    def _run_reporting(self, command: str) -> list[_Reported]:
        lines = [line for line in self._run(command).splitlines() if line.startswith("{")]
        return [msgspec.json.decode(line, type=_Reported) for line in lines]

    def _run(self, command: str) -> str:
        program, *arguments = command.split()
        argv = [*self._java, f"org.apache.kafka.tools.{program}", *arguments]
        return self._node.run(argv, timeout_seconds=_TOOL_SECONDS).output


def _bare_broker(run: Run, number: int) -> float:
    """Format and start a broker with Kafka's own settings and flags; returns the seconds."""
    node = run.kafka.host(1)
    home = node.folder / "bare"
    node.remove(home)
    node.write(home / "server.properties", _bare_properties(node, home).encode())
    jars = ":".join(map(str, node.class_path(run.kafka.version)))
    java = f"{node.java} {_BARE_JVM} -cp {jars}"
    script = f"{java} {_FORMAT} server.properties && exec {java} kafka.Kafka server.properties"
    began = time.monotonic()
    process = node.spawn(["sh", "-c", script], log=home / "server.log", cwd=home)
    try:
        return _first_acknowledged(
            run, f"bare-{number}", began, bootstrap=f"{node.address}:{CLIENT_PORT}"
        )
    finally:
        process.signal(signal.SIGKILL)
        process.wait(_TOOL_SECONDS)


def _bare_properties(node: Node, home: Path) -> str:
    return (
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@{node.address}:{CONTROLLER_PORT}\n"
        f"listeners=PLAINTEXT://{node.address}:{CLIENT_PORT},"
        f"CONTROLLER://{node.address}:{CONTROLLER_PORT}\n"
        "controller.listener.names=CONTROLLER\noffsets.topic.replication.factor=1\n"
        f"log.dirs={home}/data\n"
    )


def _cluster(run: Run, number: int) -> float:
    """Format and start all servers as a scenario does; returns the seconds."""
    topic, brokers = f"ready-{number}", run.kafka.topology.broker_ids
    began = time.monotonic()
    run.kafka.start()
    run.observer.await_brokers(brokers)
    run.observer.create_topics(
        [NewTopic(topic=topic, assignment=[brokers], config={"min.insync.replicas": "2"})]
    )
    return _first_acknowledged(run, topic, began, bootstrap=run.kafka.bootstrap)


def _first_acknowledged(run: Run, topic: str, began: float, *, bootstrap: str) -> float:
    run.clients.call(
        ProducerRole.produce(
            writer(f"{topic}-writer", topic), 0, sequence_first=0, count=1, bootstrap=bootstrap
        ),
        timeout_seconds=_TOOL_SECONDS,
    )
    return time.monotonic() - began


def _write(run: Run, figures: Figures) -> None:
    (run.folder.path / FIGURES).write_bytes(msgspec.json.encode(figures))
