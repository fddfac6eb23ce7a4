"""The names and types of Kafka's settings, in any version that has a lock file.

`setting_names.json` is written by `python -m lab.setting_names` from Kafka's own classes. Kafka
itself reports a name that it does not know in a log only.
"""

import difflib
import enum
import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("setting_names.json")
_OF_A_LISTENER = "listener.name."
_CUTOFF = 0.5
_CLEANUP_POLICIES = ("cleanup.policy", "log.cleanup.policy")
"""Of a topic, and of all topics of a server."""
_COMPACT = "compact"
_NUMBERS: dict[str, tuple[Callable[[str], float], float, float]] = {
    "SHORT": (int, -(2**15), 2**15 - 1),
    "INT": (int, -(2**31), 2**31 - 1),
    "LONG": (int, -(2**63), 2**63 - 1),
    "DOUBLE": (float, -math.inf, math.inf),
}
"""Java's types by name: how a text is read, and the smallest and the largest."""
_BOUNDS = re.compile(r"\[(-?[0-9.]+?),\.\.\.(?:,(-?[0-9.]+))?\]")


class Of(enum.StrEnum):
    """What a setting is of, and the class that declares it.

    consumer: `org.apache.kafka.clients.consumer.ConsumerConfig`.
    producer: `org.apache.kafka.clients.producer.ProducerConfig`.
    server: `kafka.server.KafkaConfig`.
    topic: `org.apache.kafka.storage.internals.log.LogConfig`.
    """

    CONSUMER = "consumer"
    PRODUCER = "producer"
    SERVER = "server"
    TOPIC = "topic"


@functools.cache
def setting_names(of: Of) -> frozenset[str]:
    """Return all names of settings."""
    return frozenset(setting_types(of))


@functools.cache
def setting_types(of: Of) -> dict[str, str]:
    """By name: a type and perhaps bounds, e.g. `INT [1,...]`; empty where versions differ."""
    types = msgspec.json.decode(FILE.read_bytes(), type=dict[Of, dict[str, str]])
    return types[of]


def unknown_settings(given: Iterable[str], of: Of) -> dict[str, str]:
    """Return a sentence for each name that no version knows, by the name."""
    named = (name for name in given if of is not Of.SERVER or not name.startswith(_OF_A_LISTENER))
    return unknown_names(named, setting_names(of))


def wrong_values(given: Mapping[str, Any], of: Of) -> dict[str, str]:
    """Return a sentence for each value that is not of its setting's type, by the name."""
    types = setting_types(of)
    wanted = {name: _unmet(str(value), types.get(name, "")) for name, value in given.items()}
    return {
        name: f"{name}={given[name]} has to be {problem}"
        for name, problem in wanted.items()
        if problem
    }


def broken_lines(given: Mapping[str, Any]) -> dict[str, str]:
    """Return a sentence for each setting that would be more than a line of a file, by the name."""
    return {
        name: f"{name}={value!r} has a line break, which no setting may have"
        for name, value in given.items()
        if {"\n", "\r", "\0"} & {*name, *str(value)}
    }


def compaction(given: Mapping[str, Any]) -> dict[str, str]:
    """Return a sentence for a cleanup policy that compacts logs, by the name of the setting."""
    return {
        name: f"{name}={given[name]} removes superseded records, which the analysis would report "
        f"as lost: use {name}=delete"
        for name in _CLEANUP_POLICIES
        if _COMPACT in str(given.get(name, ""))
    }


def _unmet(value: str, described: str) -> str:
    """Say what a value has to be; nothing if it is that, or if that is not known."""
    kind, _, bounds = described.partition(" ")
    if kind == "BOOLEAN":
        return "" if value.strip().lower() in ("true", "false") else "true or false"
    if kind not in _NUMBERS:
        return ""
    read, least, most = _NUMBERS[kind]
    if found := _BOUNDS.fullmatch(bounds):
        least, most = float(found[1]), float(found[2] or most)
    elif bounds:
        least, most = -math.inf, math.inf
    try:
        is_met = least <= read(value.strip()) <= most
    except ValueError:
        is_met = False
    what = "a number" if kind == "DOUBLE" else "a whole number"
    return "" if is_met else f"{what} {bounds}".strip()


def unknown_names(given: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return a sentence for each name that is not among the known ones, by the name."""
    return {name: _unknown(name, known) for name in given if name not in known}


def _unknown(name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, and which known one is most like it."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_CUTOFF)
    return f"there is no setting {name}" + (f"; the nearest is {found[0]}" if found else "")
