"""The base of faults on brokers: a target that is resolved late, and its witnesses."""

import signal
from abc import abstractmethod
from collections import ChainMap
from collections.abc import Sequence

import msgspec

from cluster.nodes.node import NodeState
from contract.errors import FaultError, WaitTimeoutError
from harness.faults.fault import Evidence, Fault, Field
from harness.faults.targets import Target

_NOTICED_SECONDS = 30
_ENDED_SECONDS = 30


class BrokerFault(Fault):
    """A fault on the servers that its target names at the injection, usually one broker.

    With several servers, all are injected before any is proved, so that they fail together. The
    evidence has each one's, by id. The fault has landed when each has.
    """

    may_cut = True
    """Whether the server, once healed, may truncate what its replicas held."""

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        self._target = target
        self.target = target.named
        self.brokers: list[int] = []

    @property
    def broker(self) -> int:
        """The one broker that the target named.

        Raises:
            FaultError: it is not resolved yet, or named several.
        """
        if len(self.brokers) != 1:
            raise FaultError(f"{self.verb} {self._target} is on {self.brokers}, not on one broker")
        return self.brokers[0]

    def prepare(self, field: Field) -> None:
        """Resolve the target, which is then named with its servers."""
        self.brokers = self._target.resolve(field.observer)
        self.target = msgspec.structs.replace(self._target.named, brokers=tuple(self.brokers))

    def inject(self, field: Field) -> None:
        """Inject it into all servers of the target."""
        for broker in self.brokers:
            self.inject_broker(field, broker)

    def prove(self, field: Field) -> Evidence:
        """Prove it for each."""
        proofs = {broker: self.prove_broker(field, broker) for broker in self.brokers}
        if len(proofs) == 1:
            return proofs[self.broker]
        return Evidence(
            landed=all(proof.landed for proof in proofs.values()),
            facts={
                "brokers": {
                    str(broker): {"landed": proof.landed, **proof.facts}
                    for broker, proof in proofs.items()
                }
            },
            forced_ms=dict(ChainMap(*(proof.forced_ms for proof in proofs.values()))),
        )

    @abstractmethod
    def inject_broker(self, field: Field, broker: int) -> None:
        """Inject it into this broker, without a wait for its effect."""

    @abstractmethod
    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Wait for the effect on this broker, and return the evidence."""

    def heal(self, field: Field) -> None:
        """Copy what the servers' replicas hold, then heal them."""
        try:
            if self.may_cut:
                for broker in self.brokers:
                    field.keep(broker)
        finally:
            for broker in self.brokers:
                self.heal_broker(field, broker)

    @abstractmethod
    def heal_broker(self, field: Field, broker: int) -> None:
        """Undo the injection."""


class EndServer(BrokerFault):
    """The target's server processes end; healed by starting them again."""

    @property
    @abstractmethod
    def number(self) -> signal.Signals:
        """The signal to the process."""

    statuses: frozenset[int]
    """The expected exit statuses."""

    is_silent: bool
    """Whether the others detect it only by a timeout."""

    silences = True

    def __init__(self, target: Target) -> None:
        """The target is resolved just before the fault is injected."""
        super().__init__(target)
        self._ran: set[int] = set()
        self._goes_on: set[int] = set()

    def inject_broker(self, field: Field, broker: int) -> None:
        """Send the signal."""
        if field.kafka.is_running(broker):
            self._ran.add(broker)
        field.kafka.process(broker).signal(self.number)

    def prove_broker(self, field: Field, broker: int) -> Evidence:
        """Landed when the process ran, ended as expected, and the others detected it."""
        try:
            with field.observer.awaiting(f"server {broker} to end"):
                status = field.kafka.process(broker).wait(_ENDED_SECONDS)
        except WaitTimeoutError:
            self._goes_on.add(broker)
            return Evidence(landed=False, facts={"broker": broker, "exit_status": None})
        noticed = await_noticed(field, broker, among=self.brokers)
        has_run = broker in self._ran
        return Evidence(
            landed=has_run and status in self.statuses,
            facts={"broker": broker, "has_run": has_run, "exit_status": status, **noticed},
            forced_ms=timeouts_of_silence(field, broker) if self.is_silent else {},
        )

    def heal_broker(self, field: Field, broker: int) -> None:
        """Start the server again; one that did not end as expected is killed first."""
        if broker in self._goes_on and field.kafka.is_running(broker):
            field.kafka.kill_server(broker)
        if not field.kafka.is_running(broker):
            field.kafka.start_server(broker)


def witnesses(field: Field, among: Sequence[int]) -> list[int]:
    """The brokers that can report the failure of others, `among` which the fault was injected.

    Those that respond, if the remaining controllers are a majority: without one, no broker is
        fenced, and none learns of the failure. Nor does one that another fault partitions from
        the controllers.
    """
    kafka = field.kafka
    voters = kafka.topology.controller_ids
    left = [
        i
        for i in {*voters, *kafka.answering_brokers()}.difference(among)
        if kafka.is_running(i)
        and kafka.host(i).state is not NodeState.SUSPENDED
        and not field.rules.cuts_off(kafka.host(i))
    ]
    if len(set(left).intersection(voters)) <= len(voters) // 2:
        return []
    return sorted(set(left).intersection(kafka.topology.broker_ids))


def await_fenced(field: Field, broker: int, *, among: Sequence[int]) -> list[int]:
    """Wait until all brokers that can report it see a broker as fenced; returns these.

    A fenced broker is no longer in the Metadata responses of others (KIP-631). One that does not
    respond reports nothing; which these are may change meanwhile, as further faults take effect.

    Raises:
        WaitTimeoutError: some still list it, or do not respond.
    """
    others: list[int] = []

    def is_fenced() -> bool:
        others[:] = witnesses(field, among)
        views = [field.observer.brokers_seen_by(i) for i in others]
        return all(view and broker not in view for view in views)

    field.observer.await_that(
        is_fenced,
        what=f"broker {broker} to be fenced according to all others that respond",
        timeout_seconds=_NOTICED_SECONDS,
    )
    return others


def timeouts_of_silence(field: Field, server: int) -> dict[str, int]:
    """Return the timeouts after which a silent server is fenced, or replaced as controller."""
    names = []
    if server in field.kafka.topology.broker_ids:
        names.append("broker.session.timeout.ms")
    if server in field.kafka.topology.controller_ids:
        names.append("controller.quorum.fetch.timeout.ms")
    return field.kafka.settings_ms(*names)


def await_noticed(field: Field, server: int, *, among: Sequence[int]) -> dict[str, object]:
    """Wait until a server's end is detected: a broker's by fencing, a controller's by a successor.

    Returns facts for the evidence: none if no server is left to detect it.

    Raises:
        WaitTimeoutError: no server detected it.
    """
    facts: dict[str, object] = {}
    if server in field.kafka.topology.broker_ids:
        facts["fenced_according_to"] = await_fenced(field, server, among=among)
    if server in field.kafka.topology.controller_ids and witnesses(field, among):
        facts["active_controller"] = field.observer.await_that(
            lambda: _other_than(among, field.observer.active_controller()),
            what=f"another active controller than {among}",
            timeout_seconds=_NOTICED_SECONDS,
        )
    return facts


def _other_than(among: Sequence[int], found: int) -> int | None:
    return found if found not in among else None
