"""Write the names and types of Kafka's settings (`cluster.kafka.settings`).

`python -m lab.setting_names` does so.

They are those of every version that has a lock file, read from its classes in a JVM of its own:
`python -m lab.setting_names VERSION` prints these.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import jpype

from cluster.kafka import distribution
from cluster.kafka.lock import locked_versions
from cluster.kafka.settings import FILE, Of
from harness.java.jvm import java_class

_CLASSES = {
    Of.CONSUMER: ("org.apache.kafka.clients.consumer.ConsumerConfig", "configDef"),
    Of.PRODUCER: ("org.apache.kafka.clients.producer.ProducerConfig", "configDef"),
    Of.SERVER: ("kafka.server.KafkaConfig", "configDef"),
    Of.TOPIC: ("org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy"),
}

_Types = dict[str, dict[str, str]]
"""By what settings are of and by name: the type and the validator, as Kafka prints them."""


def types_of(version: str) -> _Types:
    """Return the names and types of a version's settings, by the component that they are for."""
    command = [sys.executable, "-m", "lab.setting_names", version]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: _Types = json.loads(ended.stdout)
    return found


def types_of_all() -> _Types:
    """Return those of all locked versions together, without what versions differ in."""
    each = [types_of(version) for version in locked_versions()]
    return {of: _merge([found[of] for found in each]) for of in Of}


def _merge(each: Sequence[dict[str, str]]) -> dict[str, str]:
    names = sorted({name for found in each for name in found})
    return {name: _common([found[name] for found in each if name in found]) for name in names}


def _common(given: Sequence[str]) -> str:
    types = {line.partition(" ")[0] for line in given}
    if len(types) > 1:
        return ""
    return given[0] if len(set(given)) == 1 else types.pop()


def _read(version: str) -> _Types:
    distribution.ensure(version)
    jpype.startJVM(classpath=distribution.class_path(version), convertStrings=True)
    return {of: dict(_names_with_types(*names)) for of, names in _CLASSES.items()}


def _names_with_types(class_name: str, method: str) -> Iterator[tuple[str, str]]:
    keys = getattr(java_class(class_name), method)().configKeys()
    for entry in keys.entrySet():
        key = entry.getValue()
        validator = str(_value(key.validator))
        bounds = validator if validator.startswith("[") else ""
        yield str(entry.getKey()), f"{_value(key.type)} {bounds}".strip()


def _value(of_a_key: Any) -> Any:
    """The value of a field, or of the method that newer versions have in its place."""
    return of_a_key() if callable(of_a_key) else of_a_key


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(_read(sys.argv[1])))
    else:
        FILE.write_text(json.dumps(types_of_all(), indent=1) + "\n", encoding="utf-8")
