"""The names of Kafka's settings, in any version that has a lock file.

`setting_names.json` is written by `python -m bench.setting_names` from Kafka's own classes. Kafka
itself reports a name that it does not know in a log only.
"""

import difflib
import enum
import functools
from collections.abc import Iterable
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("setting_names.json")
_OF_A_LISTENER = "listener.name."
_CUTOFF = 0.5


class Of(enum.StrEnum):
    """What a setting is of, and the class that declares it.

    consumer: `org.apache.kafka.clients.consumer.ConsumerConfig`.
    server: `kafka.server.KafkaConfig`.
    topic: `org.apache.kafka.storage.internals.log.LogConfig`.
    """

    CONSUMER = "consumer"
    SERVER = "server"
    TOPIC = "topic"


@functools.cache
def setting_names(of: Of) -> frozenset[str]:
    """Return all names of settings."""
    names = msgspec.json.decode(FILE.read_bytes(), type=dict[Of, frozenset[str]])
    return names[of]


def unknown_settings(given: Iterable[str], of: Of) -> dict[str, str]:
    """Return a sentence for each name that no version knows, by the name."""
    known = setting_names(of)
    return {
        name: unknown(name, known)
        for name in given
        if name not in known and not (of is Of.SERVER and name.startswith(_OF_A_LISTENER))
    }


def unknown(name: str, known: Iterable[str]) -> str:
    """Say that a name is not known, and which known one is most like it."""
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=_CUTOFF)
    return f"there is no setting {name}" + (f"; the nearest is {found[0]}" if found else "")
