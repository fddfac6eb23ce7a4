"""The base of faults: how a fault is prepared, injected, proved, held and healed."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from cluster.kafka.service import KafkaService
from cluster.nodes.node import Capability
from contract.errors import FencepostError, NotLandedError, WaitTimeoutError
from contract.events import FaultChanged
from contract.terms import FaultTarget, TargetKind
from harness.clients.history import HistoryWriter
from harness.clients.observer import Observer
from harness.clients.process import WorkerService
from harness.collection.collect import keep_log_directory
from harness.faults.rules import Rules


@dataclass(frozen=True)
class Field:
    """The cluster, observer and workers that a fault uses.

    Attributes:
        clients: the workers with clients under test.
        kept: the folder for log directories that are copied before a possible truncation.
        rules: those that faults have set on nodes.
    """

    kafka: KafkaService
    observer: Observer
    history: HistoryWriter
    clients: Mapping[str, WorkerService]
    kept: Path
    rules: Rules = field(default_factory=Rules, init=False)
    _numbers: Iterator[int] = field(default_factory=count, init=False)

    def next_number(self) -> int:
        """The number of the next fault, from 0."""
        return next(self._numbers)

    def keep(self, server: int) -> None:
        """Copy a server's replicas now, as it may truncate them after its heal."""
        keep_log_directory(self.kafka, server, self.kept)

    @property
    def client_addresses(self) -> list[str]:
        """The addresses of the clients under test."""
        return [worker.host.address for worker in self.clients.values()]


@dataclass(frozen=True)
class Evidence:
    """The observed effect of a fault.

    Attributes:
        landed: False if the effect was not observed.
        facts: the observations.
        forced_ms: Kafka's timeouts that had to pass before the effect could be observed, by
            setting.
    """

    landed: bool
    facts: dict[str, Any]
    forced_ms: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """A fault as a text names it, such as `cut-in leader:orders-0`.

    Attributes:
        verb: of the text.
        arguments: of the fault, besides its target.
        place: among the verbs that random plans draw of, which decides what a seed draws; None:
            they don't draw it.
        weight: in such draws.
        fences: whether its broker is fenced, so that leaders and coordinators move.
        stalls: whether it may prevent all acknowledgements while it holds.
        behind: how many replicas of a partition may be out of sync after it.
    """

    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    place: int | None = None
    weight: int = 4
    fences: bool = False
    stalls: bool = False
    behind: int = 0


class Fault(ABC):
    """One verb on one target; a new instance for each injection.

    Four times of it are recorded. Its effects can occur between `inject` and the end of `heal`.
    All that is known of a fault stands in its class: language.py finds it there.

    Attributes:
        verb: what it does, in the history.
        target: what it acts on, with its servers once they are resolved.
        on: the kind of target that a text names; None: servers.
        by_hand: how a text names it; empty: only scenarios have it.
        silences: whether its server, or its worker, does nothing until the heal.
        is_instant: whether it is over when it is proved, so that its heal undoes nothing.
        needs: what not every machine or pool has.
    """

    verb: str
    target: FaultTarget
    on: ClassVar[TargetKind | None] = None
    by_hand: ClassVar[tuple[ByHand, ...]] = ()
    silences: ClassVar[bool] = False
    is_instant: bool = False
    needs: ClassVar[Capability | None] = None

    def prepare(self, field: Field) -> None:  # noqa: B027 - most faults need nothing
        """Resolve the target and wait for what the injection needs, without changing anything."""

    @abstractmethod
    def inject(self, field: Field) -> None:
        """Apply it, without a wait for its effect."""

    @abstractmethod
    def prove(self, field: Field) -> Evidence:
        """Wait for its effect, and return the evidence."""

    def lapse(self, field: Field) -> str:  # noqa: ARG002
        """Return the reason why its effect ended before its heal; empty if it lasts."""
        return ""

    @abstractmethod
    def heal(self, field: Field) -> None:
        """Undo `inject`, and nothing else."""


@dataclass
class HeldFault:
    """A fault that holds until it is healed, once.

    Attributes:
        number: of the run's faults, from 0.
        injected_micros: just before it was applied, on the driver's wall clock.
        evidence: of its effect; without facts until it is proved.
    """

    fault: Fault
    number: int
    _field: Field
    injected_micros: int
    evidence: Evidence = field(default=Evidence(landed=False, facts={}), init=False)
    _is_healed: bool = field(default=False, init=False)

    @classmethod
    def inject(
        cls, fault: Fault, on: Field, *, require: Callable[[Fault], None] | None = None
    ) -> "HeldFault":
        """Inject a fault and hold it, without proof.

        `require` may refuse a fault by an exception, once its target is resolved.
        """
        fault.prepare(on)
        if require is not None:
            require(fault)
        held = cls(fault, on.next_number(), on, injected_micros=time.time_ns() // 1000)
        held._record_change("injected")
        with held._healed_on_error():
            fault.inject(on)
        return held

    @property
    def holds(self) -> bool:
        """Whether it is not healed yet."""
        return not self._is_healed

    def prove(self) -> None:
        """Wait for the evidence of its effect.

        Raises:
            NotLandedError: the effect was not observed; the fault is recorded as not landed.
        """
        with self._healed_on_error():
            try:
                self.evidence = self.fault.prove(self._field)
            except WaitTimeoutError as error:
                self._record_change("proved", landed=False, evidence={"not_seen": str(error)})
                raise NotLandedError(str(error)) from error
        self._changed_evidence()

    def heal(self) -> None:
        """Heal the fault; does nothing the second time.

        A fault whose effect has ended before is recorded as not landed.
        """
        if self._is_healed:
            return
        self._is_healed = True
        self._take_back()
        self._record_change("heal_began")
        self.fault.heal(self._field)
        self._record_change("healed")

    def _take_back(self) -> None:
        """Record the fault as not landed if its effect has ended."""
        if not self.evidence.landed:
            return
        try:
            lapse = self.fault.lapse(self._field)
        except FencepostError as error:
            lapse = f"its effect can't be seen: {error}"
        if lapse:
            facts = {**self.evidence.facts, "ended_before_heal": lapse}
            self.evidence = Evidence(landed=False, facts=facts, forced_ms=self.evidence.forced_ms)
            self._changed_evidence()

    def _changed_evidence(self) -> None:
        self._record_change(
            "proved",
            landed=self.evidence.landed,
            evidence=self.evidence.facts,
            forced_ms=self.evidence.forced_ms,
        )

    @contextmanager
    def _healed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.heal()
            raise

    def _record_change(self, change: str, **evidence: Any) -> None:
        self._field.history.write(
            FaultChanged,
            number=self.number,
            fault=self.fault.verb,
            target=self.fault.target,
            change=change,
            **evidence,
        )
