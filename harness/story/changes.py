"""Settings that a command changes in plans: `--set group.readers.max.poll.records=50`."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from cluster.kafka.topology import COLLECTORS, Topology
from contract.errors import UsageError
from contract.run_folder import GroupPlan, ProducerPlan, TopicPlan
from contract.software import client_of

FORMS = (
    "group.NAME.SETTING=VALUE",
    "producer.NAME.SETTING=VALUE",
    "topic.NAME.SETTING=VALUE",
    "broker.SETTING=VALUE",
    "heap=512m",
    "jvm.gc=g1",
)
EVERY = "*"
"""In the place of a name: all groups, producers or topics."""
_GROUP, _PRODUCER, _TOPIC, _BROKER = "group", "producer", "topic", "broker"
_HEAP, _COLLECTOR = "heap", "jvm.gc"
_HEAP_FORM = re.compile(r"([1-9][0-9]{0,5})([mg])")
_HEAP_LEAST_MB, _MB = 128, {"m": 1, "g": 1024}
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_TRUTH = {"true": 1, "false": 0}

T = TypeVar("T", GroupPlan, ProducerPlan, TopicPlan)


@dataclass(frozen=True)
class Change:
    """One `--set`: what it is of, its name and setting as they are written, and its value."""

    text: str
    of: str
    rest: str
    value: str

    def split(self, names: Iterable[str]) -> tuple[str, str]:
        """Return the longest of these names that it has, and the setting; both empty if none."""
        found = [known for known in (*names, EVERY) if self.rest.startswith(f"{known}.")]
        name = max(found, key=len, default="")
        return name, self.rest[len(name) + 1 :] if name else ""


def parse_change(text: str) -> Change:
    """Read a `--set`.

    Raises:
        UsageError: it has another form.
    """
    key, equals, value = text.partition("=")
    of, _, rest = key.partition(".")
    is_named = of in (_GROUP, _PRODUCER, _TOPIC) and re.fullmatch(r".+\..+", rest)
    is_of_servers = of == _BROKER and rest
    if not equals or not (is_named or is_of_servers or key in (_HEAP, _COLLECTOR)):
        raise UsageError(f"--set {text}: it has not one of the forms {', '.join(FORMS)}")
    if key == _HEAP:
        found = _HEAP_FORM.fullmatch(value)
        if found is None or int(found[1]) * _MB[found[2]] < _HEAP_LEAST_MB:
            raise UsageError(f"--set {text}: a heap has the form 512m or 2g, {_HEAP_LEAST_MB}m up")
    if key == _COLLECTOR and value not in COLLECTORS:
        raise UsageError(f"--set {text}: there is no collector {value}; {', '.join(COLLECTORS)}")
    return Change(text, key if key in (_HEAP, _COLLECTOR) else of, rest, value)


class Changes:
    """What a command changes; the last change of a setting counts."""

    def __init__(
        self,
        texts: Iterable[str],
        *,
        groups: Sequence[GroupPlan] = (),
        producers: Sequence[ProducerPlan] = (),
        topics: Sequence[TopicPlan] = (),
    ) -> None:
        """Read them; they are of what is planned.

        Raises:
            UsageError: one has another form, or is of something else; names what there is.
        """
        self._all = [parse_change(text) for text in texts]
        self._names = {
            _GROUP: [group.group for group in groups],
            _PRODUCER: [producer.producer for producer in producers],
            _TOPIC: [topic.topic for topic in topics],
        }
        for change in self._all:
            known = self._names.get(change.of)
            if known is not None and not (known and change.split(known)[0]):
                raise UsageError(
                    f"--set {change.text}: no {change.of} of the scenario is named so; there are: "
                    f"{', '.join(known) or 'none'}"
                )

    def groups(self, plans: Iterable[GroupPlan]) -> list[GroupPlan]:
        """Return groups with their changes; others stay as they are."""
        return [self._with_changes(plan, _GROUP, plan.group, _group_with) for plan in plans]

    def producers(self, plans: Iterable[ProducerPlan]) -> list[ProducerPlan]:
        """Return producers likewise."""
        return [
            self._with_changes(plan, _PRODUCER, plan.producer, _producer_with) for plan in plans
        ]

    def topics(self, plans: Iterable[TopicPlan]) -> list[TopicPlan]:
        """Return topics likewise."""
        return [self._with_changes(plan, _TOPIC, plan.topic, _topic_with) for plan in plans]

    def topology(self, shape: Topology) -> Topology:
        """Return a topology with other settings of servers, heap and collector."""
        of = {
            kind: [change for change in self._all if change.of == kind]
            for kind in (_HEAP, _COLLECTOR)
        }
        servers = {change.rest: change.value for change in self._all if change.of == _BROKER}
        return replace(
            shape,
            settings={**shape.settings, **servers},
            heap=of[_HEAP][-1].value if of[_HEAP] else shape.heap,
            collector=of[_COLLECTOR][-1].value if of[_COLLECTOR] else shape.collector,
        )

    def _with_changes(self, plan: T, of: str, name: str, with_setting: Callable[..., T]) -> T:
        for change in self._all:
            named, setting = change.split(self._names[of]) if change.of == of else ("", "")
            if named in (name, EVERY):
                plan = with_setting(plan, setting, change)
        return plan


def _group_with(plan: GroupPlan, setting: str, change: Change) -> GroupPlan:
    match setting.replace("_", "."):
        case "auto.offset.reset":
            return msgspec.structs.replace(plan, reset=change.value)
        case "isolation.level":
            return msgspec.structs.replace(plan, isolation=change.value)
    return msgspec.structs.replace(
        plan, settings=_with(plan.settings, setting, plan.client, change)
    )


def _producer_with(plan: ProducerPlan, setting: str, change: Change) -> ProducerPlan:
    if setting == "acks":
        return msgspec.structs.replace(plan, acks=change.value)
    return msgspec.structs.replace(
        plan, settings=_with(plan.settings, setting, plan.client, change)
    )


def _topic_with(plan: TopicPlan, setting: str, change: Change) -> TopicPlan:
    match setting:
        case "min.insync.replicas":
            return msgspec.structs.replace(plan, min_insync=_number(change))
        case "retention.ms":
            return msgspec.structs.replace(plan, retention_ms=_number(change))
        case "unclean.leader.election.enable":
            if change.value not in _TRUTH:
                raise UsageError(f"--set {change.text}: it has to be true or false")
            return msgspec.structs.replace(plan, unclean_election=bool(_TRUTH[change.value]))
    return msgspec.structs.replace(plan, settings={**plan.settings, setting: change.value})


def _with(
    settings: Mapping[str, str | int], setting: str, client: str, change: Change
) -> dict[str, Any]:
    """Return settings with another one; of some clients no text is false."""
    value: str | int = change.value
    if client_of(client).about.has_types:
        value = _TRUTH.get(change.value, value)
        value = int(change.value) if _NUMBER.fullmatch(change.value) else value
    return {**settings, setting: value}


def _number(change: Change) -> int:
    if not _NUMBER.fullmatch(change.value):
        raise UsageError(f"--set {change.text}: it has to be a whole number")
    return int(change.value)
