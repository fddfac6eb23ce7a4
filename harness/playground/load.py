"""Producers and groups in the background of a playground."""

from collections.abc import Collection

import msgspec

from contract.errors import UsageError
from contract.run_folder import GroupPlan, ProducerPlan
from contract.software import released
from contract.terms import CommitEpoch, Outcome
from harness.clients.command import command
from harness.clients.producers import Counts
from harness.story.run import Run
from harness.story.soundness import require_sound_load


class ProducerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A producer in the background, and the outcomes of its values so far."""

    producer: str
    client: str
    topic: str
    acks: str
    records_per_second: int
    ok: int
    failed: int
    unknown: int


class LoadOrders:
    """The orders that start and stop producers and groups.

    Attributes:
        producers: all that were started, by their names.
    """

    def __init__(self, run: Run) -> None:
        """Start without load."""
        self._run = run
        self._writing: list[str] = []
        self._reading: dict[str, list[str]] = {}
        self._incarnations: dict[str, int] = {}
        self.producers: dict[str, ProducerPlan] = {}

    @command
    def produce(self, plan: ProducerPlan) -> str:
        """Start a producer in the background; returns its name, by its acks if it has none.

        Raises:
            UsageError: it can't be as it is wanted, or its name was used.
        """
        if plan.producer in self.producers:
            raise UsageError(
                f"a producer {plan.producer} was started before: each has a name of its own"
            )
        name = plan.producer or _free_name(f"acks-{plan.acks}", self.producers)
        plan = msgspec.structs.replace(plan, producer=name)
        self._require_sound(plan)
        self._run.add(producers=[plan])
        self.producers[name] = plan
        self._run.workload.start_producer(plan, records_per_second=_rate(plan))
        self._writing.append(name)
        return name

    @command
    def stop_producing(self, name: str | None = None) -> list[ProducerStatus]:
        """Stop one producer or all, once each value has an outcome; returns the outcomes.

        Raises:
            UsageError: no such producer writes.
        """
        stopped = _choose_names(name, self._writing, what="producer")
        self._writing = [producer for producer in self._writing if producer not in stopped]
        return [
            produced_by(self.producers[producer], self._run.workload.stop_producer(producer))
            for producer in stopped
        ]

    @command
    def consume(self, plan: GroupPlan) -> list[str]:
        """Let the members of a group read and commit in the background; returns their names.

        A group's first members begin at the log start, later ones at its commits, or by its reset
        policy.

        Raises:
            UsageError: the group reads already, or can't be as it is wanted.
        """
        group = plan.group
        if group in self._reading:
            raise UsageError(f"group {group} reads already: fencepost play consume {group} --stop")
        if plan.commit_epoch == CommitEpoch.FORCED:
            raise UsageError("style forced is for scenarios, which ask the cluster for the epoch")
        plan = msgspec.structs.replace(plan, workers=1)
        self._require_sound(plan)
        if group not in self._incarnations:
            self._run.add(groups=[plan])
        number = self._incarnations[group] = self._incarnations.get(group, 0) + 1
        self._reading[group] = self._run.open([plan], incarnation=number)
        self._run.workload.start_reading(
            self._reading[group], commit_epoch=plan.commit_epoch, is_persistent=True
        )
        return self._reading[group]

    @command
    def stop_consuming(self, group: str | None = None) -> list[str]:
        """Close the members of one group or of all; returns the groups.

        Raises:
            UsageError: no such group reads.
        """
        stopped = _choose_names(group, self._reading, what="group")
        for name in stopped:
            members = self._reading.pop(name)
            self._run.workload.stop_reading(members)
            self._run.close(members)
        return stopped

    def _require_sound(self, load: GroupPlan | ProducerPlan) -> None:
        topics = [topic.topic for topic in self._run.plan.topics]
        require_sound_load(load, topics, released(self._run.kafka.version))


def produced_by(plan: ProducerPlan, counts: Counts) -> ProducerStatus:
    """Return a producer with the outcomes of its values in all partitions."""
    ok, failed, unknown = (
        sum(of.get(outcome, 0) for of in counts.values())
        for outcome in (Outcome.OK, Outcome.FAILED, Outcome.UNKNOWN)
    )
    return ProducerStatus(
        producer=plan.producer,
        client=plan.client,
        topic=plan.topic,
        acks=plan.acks,
        records_per_second=_rate(plan),
        ok=ok,
        failed=failed,
        unknown=unknown,
    )


def _rate(plan: ProducerPlan) -> int:
    return plan.records_per_second or 0


def _free_name(wanted: str, used: Collection[str]) -> str:
    """Return a name, with the next number if it was used."""
    number = 1 + sum(name == wanted or name.startswith(f"{wanted}-") for name in used)
    return wanted if number == 1 else f"{wanted}-{number}"


def _choose_names(name: str | None, there: Collection[str], *, what: str) -> list[str]:
    if name is None or name in there:
        return list(there) if name is None else [name]
    raise UsageError(f"there is no {what} {name} now; there are: {', '.join(there) or 'none'}")
