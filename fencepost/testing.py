"""A real cluster in a test of your own: `with cluster(brokers=3) as kafka` (docs/your-tests.md).

A cluster is a playground that ends with this process: programs run beside its brokers, faults hold
for a block, and what was collected is judged as a scenario is.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Event, Timer

import msgspec

from cluster.kafka import distribution
from cluster.nodes.node import Capability
from cluster.nodes.pool import PoolKind
from cluster.nodes.tether import tether_command
from contract.errors import NodeError, NotLandedError, UsageError, lacking
from contract.locks import is_held
from contract.packages import environment
from contract.run_folder import GroupPlan, ProducerPlan, find_runs
from contract.terms import Check, CommitEpoch
from contract.verdicts import CheckVerdict, Verdict
from contract.waiting import wait_until
from harness.clients.broker_view import GroupState
from harness.commands.judging import analyse_in_own_process
from harness.commands.playground import into, start
from harness.commands.requirements import DEFAULT_KAFKA, require_kafka, require_runs
from harness.faults.language import parse_fault
from harness.playground.load import ProducerStatus
from harness.playground.serve import Injected, Orders, Views
from harness.playground.shape import planned_topic, shape_of
from harness.playground.state import FOLDER, KEEPER, Playground, keeper, look, tell
from harness.playground.status import PartitionStatus, Status
from harness.session.node_root import sweep

__all__ = ["Cluster", "Ended", "Judged", "cluster"]

_FOLDERS = "cluster-"
_END_SECONDS = 360
_EXEC_SECONDS = 120.0
_BOOTSTRAP = "BOOTSTRAP_SERVERS"


@dataclass(frozen=True)
class Ended:
    """A program that has ended: its exit status, and all that it printed."""

    exit_code: int
    output: str


@dataclass(frozen=True)
class Judged:
    """What the analysis found in a cluster's histories.

    Attributes:
        verdict: as in `verdict.json`.
        page: of the report.
    """

    verdict: Verdict
    page: Path

    @property
    def violations(self) -> list[str]:
        """Each check and group with violations: how many, and the cause of the first."""
        return [
            f"{entry.check}{f' of group {entry.group}' if entry.group else ''}: {entry.findings}, "
            "first: "
            f"{entry.first.cause}"
            for entry in self.verdict.unexpected
        ]

    def assert_no_violations(self) -> None:
        """Raise an AssertionError if any check is violated."""
        assert not self.violations, f"{'; '.join(self.violations)}; report: {self.page}"  # noqa: S101

    def assert_holds(self, *checks: str) -> None:
        """Raise an AssertionError unless each of these checks had cases, and holds.

        Raises:
            UsageError: there is no such check.
        """
        for name in checks:
            if name not in set(Check):
                raise UsageError(lacking("check", name, Check))
            found = self.verdict.checks[name]
            causes = [example.cause for example in found.examples[:1]] or [found.reason]
            said = f"{name}: {found.verdict} ({'; '.join(filter(None, causes))})"
            assert found.verdict is CheckVerdict.HOLDS, f"{said}; report: {self.page}"  # noqa: S101


class Cluster:
    """A running cluster.

    Attributes:
        results: the folder of what is collected.
    """

    def __init__(self, found: Playground, results: Path) -> None:
        """It is up."""
        self._found = found
        self.results = results

    @property
    def bootstrap(self) -> str:
        """The address of the brokers, for this process.

        Raises:
            UsageError: its nodes are in a network that this process can't reach.
        """
        if self._found.cluster != PoolKind.LOOPBACK:
            raise UsageError(
                f"the nodes of the pool {self._found.cluster} have a network of their own, which "
                f"this process can't reach: run the program there by exec([...]), with "
                f"{self.bootstrap_inside} or the variable {_BOOTSTRAP}, or take pool='loopback', "
                "which can't cut connections"
            )
        return self._found.bootstrap

    @property
    def bootstrap_inside(self) -> str:
        """The address of the brokers on the cluster's nodes, where `exec` runs programs."""
        return self._found.bootstrap

    @property
    def jars(self) -> str:
        """The class path of Kafka's programs on the nodes, such as kafka.tools.ConsoleProducer."""
        return f"{self._found.jars}/*"

    def exec(
        self,
        command: Sequence[str],
        *,
        on: int | None = None,
        stdin: str = "",
        variables: Mapping[str, str] | None = None,
        timeout_seconds: float = _EXEC_SECONDS,
        is_shown: bool = True,
    ) -> Ended:
        """Run a program beside the brokers, and return its exit status and output.

        Its standard output and error are printed line by line as they come. The address of the
        brokers is in its variable BOOTSTRAP_SERVERS. On the embedded pool and on loopback it sees
        the files of this machine; those of the pool are read-only for it.

        Args:
            command: its words.
            on: the id of the server on whose node it runs; None: the node of the clients, which the
                faults of clients are for.
            stdin: what it reads.
            variables: further ones of its environment.
            timeout_seconds: after which it is killed.
            is_shown: whether its output is printed.

        Raises:
            UsageError: there is no such server.
            NodeError: it did not end in time, or the cluster has ended.
        """
        shells = {server.id: server.shell for server in self._found.servers}
        if on is not None and on not in shells:
            raise UsageError(lacking("server", str(on), map(str, shells)))
        given = {_BOOTSTRAP: self.bootstrap_inside, **(variables or {})}
        words = ["env", *_as_before(), *(f"{name}={value}" for name, value in given.items())]
        shell = self._found.client_shell if on is None else shells[on]
        process = subprocess.Popen(
            tether_command([*into(self._found, self.results), *shell, *words, *command]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment(),
            start_new_session=True,
        )
        late = Event()

        def end() -> None:
            late.set()
            _kill(process)

        limit = Timer(timeout_seconds, end)
        limit.start()
        lines = []
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError), process.stdin:
                    process.stdin.write(stdin)
            for line in process.stdout or ():
                lines.append(line)
                if is_shown:
                    sys.stdout.write(line)
            process.wait()
        finally:
            limit.cancel()
            _kill(process)
        output = "".join(lines)
        if late.is_set():
            raise NodeError(
                f"{command[0]} did not end within {timeout_seconds} s; it printed:\n{output}"
            )
        return Ended(process.returncode, output)

    @contextmanager
    def fault(self, fault: str) -> Iterator[Injected]:
        """Hold a fault for a block, as `fencepost play fault` has it: `pause leader:orders-0`.

        Raises:
            UsageError: there is no such fault, or this pool can't do it.
            NotLandedError: its effect was not seen; it is healed.
        """
        verb, _, target = fault.partition(" ")
        needs = parse_fault(verb, target.strip()).needs
        if needs is Capability.CUT and self._found.cluster == PoolKind.LOOPBACK:
            raise UsageError(
                f"{verb} needs nodes with a network of their own, which pool='loopback' has not: "
                "take embedded or docker"
            )
        injected = tell(self._found, Orders.fault(verb, target.strip()))
        try:
            if not injected.landed:
                raise NotLandedError(f"{fault} did not land: {injected.evidence}")
            yield injected
        finally:
            if injected.number is not None:
                tell(self._found, Orders.heal(str(injected.number)))

    def create_topic(self, topic: str, *, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic, written as `NAME:PARTITIONS:REPLICATION`, spread over all brokers."""
        brokers = sum("broker" in server.roles for server in self._found.servers)
        plan = planned_topic(topic, brokers)
        tell(self._found, Orders.create_topic(plan, dict(settings or {})))

    def status(self) -> Status:
        """Return servers, faults, partitions, groups and load as they are now."""
        return look(self._found, Views.status())

    def partition(self, topic: str, partition: int) -> PartitionStatus:
        """Return a partition's leader, leader epoch, ISR, log start and log end.

        Raises:
            UsageError: no broker knows it.
        """
        seen = {(state.topic, state.partition): state for state in self.status().partitions}
        if (topic, partition) not in seen:
            names = [f"{name}-{number}" for name, number in seen]
            raise UsageError(lacking("partition", f"{topic}-{partition}", names))
        return seen[topic, partition]

    def group(self, group: str) -> GroupState:
        """Return a group's state, coordinator, members and committed offsets.

        Raises:
            UsageError: no broker knows it.
        """
        seen = {state.group: state for state in self.status().groups}
        if group not in seen:
            raise UsageError(lacking("group", group, seen))
        return seen[group]

    def produce(
        self,
        topic: str,
        *,
        records_per_second: int = 100,
        acks: str = "all",
        settings: Mapping[str, str | int] | None = None,
    ) -> str:
        """Let a Java producer write in the background, with a history; returns its name."""
        plan = ProducerPlan(
            producer="",
            topic=topic,
            acks=acks,
            records_per_second=records_per_second,
            settings=dict(settings or {}),
        )
        return tell(self._found, Orders.produce(plan))

    def stop_producing(self, producer: str | None = None) -> list[ProducerStatus]:
        """Stop a producer, or all, once each value has an outcome; returns the outcomes."""
        return tell(self._found, Orders.stop_producing(producer))

    def consume(
        self,
        topic: str,
        group: str = "readers",
        *,
        client: str = "java",
        reset: str = "earliest",
        members: int = 1,
        manner: str = "sync",
        settings: Mapping[str, str | int] | None = None,
    ) -> list[str]:
        """Let a group read and commit in the background; returns the names of its members.

        Args:
            topic: what it reads.
            group: its name.
            client: as docs/your-settings.md has them, as the next two.
            reset: `auto.offset.reset`, once it has committed; at first it begins at the log start.
            members: how many.
            manner: how it commits, such as `periodic`.
            settings: further ones of the client.
        """
        plan = GroupPlan(
            group=group,
            topic=topic,
            client=client,
            commit_epoch=CommitEpoch.RECORD,
            reset=reset,
            members=members,
            manner=manner,
            settings=dict(settings or {}),
        )
        return tell(self._found, Orders.consume(plan))

    def stop_consuming(self, group: str | None = None) -> list[str]:
        """Close the members of a group, or of all; returns the groups."""
        return tell(self._found, Orders.stop_consuming(group))

    def judge(self) -> Judged:
        """End the cluster, collect its logs and histories, and judge them.

        Nothing can be done with the cluster afterwards.

        Raises:
            NodeError: it has ended already, without being collected.
        """
        return self._judged

    @cached_property
    def _judged(self) -> Judged:
        tell(self._found, Orders.stop())
        wait_until(
            lambda: not is_held(self.results / KEEPER),
            what="the cluster's end",
            timeout_seconds=_END_SECONDS,
        )
        (run,) = find_runs(self.results / FOLDER)
        analyse_in_own_process([run.path], quiet=True)
        verdict = msgspec.json.decode((run.report / "verdict.json").read_bytes(), type=Verdict)
        return Judged(verdict, run.report / "index.html")

    def end(self) -> None:
        """End it at once, without collecting anything, unless it has ended."""
        kept_by = keeper(self.results)
        if kept_by is not None:
            kept_by.terminate()
            wait_until(
                lambda: not is_held(self.results / KEEPER),
                what="the cluster's end",
                timeout_seconds=_END_SECONDS,
            )


def _as_before() -> Iterator[str]:
    """Words for `env` by which a program has not what our own programs are started with."""
    for name in environment().keys() - os.environ.keys():
        yield from ("-u", name)
    for name, value in environment().items():
        if os.environ.get(name, value) != value:
            yield f"{name}={os.environ[name]}"


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a program and what it started; does nothing if all of it has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def cluster(
    *,
    brokers: int = 3,
    controllers: int = 0,
    kafka: str = DEFAULT_KAFKA,
    pool: str = "embedded",
    topics: Sequence[str] = ("orders:3:3",),
    settings: Mapping[str, str] | None = None,
    results: Path | str = "results",
) -> Iterator[Cluster]:
    """Start a cluster for a block; it ends with the block, and with this process.

    Args:
        brokers: their number.
        controllers: of their own; 0: brokers are controllers too.
        kafka: the version.
        pool: embedded, docker or loopback (docs/running.md).
        topics: each `NAME`, `NAME:PARTITIONS` or `NAME:PARTITIONS:REPLICATION`.
        settings: of the servers.
        results: the folder in which each cluster has one of its own.

    Raises:
        UsageError: a number, a name, a version or a setting can't be used.
        PrerequisiteError: this machine lacks what the pool needs; says what to do.
        NodeError: it did not come up.
    """
    if pool not in set(PoolKind):
        raise UsageError(lacking("pool", pool, PoolKind))
    shape = shape_of(brokers=brokers, controllers=controllers, topics=topics, settings=settings)
    require_kafka(kafka, option="kafka")
    parent = require_runs(Path(results), PoolKind(pool))
    for earlier in parent.glob(f"{_FOLDERS}*"):
        if not is_held(earlier / KEEPER):
            sweep(earlier)  # It may have been killed.
    distribution.ensure(kafka)
    folder = Path(tempfile.mkdtemp(prefix=_FOLDERS, dir=parent))
    folder.chmod(0o755)
    found = Cluster(start(PoolKind(pool), kafka, folder, shape, is_tethered=True), folder)
    try:
        yield found
    finally:
        found.end()
