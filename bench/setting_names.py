"""Write the names of Kafka's settings (`cluster.kafka.settings`): `python -m bench.setting_names`.

They are those of every version that has a lock file, read from its classes in a JVM of its own:
`python -m bench.setting_names VERSION` prints these.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import jpype

from cluster.kafka import distribution
from cluster.kafka.lock import locked_versions
from cluster.kafka.settings import FILE, Of
from harness.java.jvm import java_class

_CLASSES = {
    Of.CONSUMER: "org.apache.kafka.clients.consumer.ConsumerConfig",
    Of.SERVER: "kafka.server.KafkaConfig",
    Of.TOPIC: "org.apache.kafka.storage.internals.log.LogConfig",
}


def names_of(version: str) -> dict[str, list[str]]:
    """Return the names of a version, by what they are of."""
    command = [sys.executable, "-m", "bench.setting_names", version]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, list[str]] = json.loads(ended.stdout)
    return found


def names_of_all() -> dict[str, list[str]]:
    """Return the names of all locked versions together."""
    each = [names_of(version) for version in locked_versions()]
    return {of: sorted({name for found in each for name in found[of]}) for of in Of}


def _read(version: str) -> dict[str, list[str]]:
    distribution.ensure(version)
    jpype.startJVM(classpath=distribution.class_path(version), convertStrings=True)
    return {of: sorted(_texts(java_class(name).configNames())) for of, name in _CLASSES.items()}


def _texts(names: Any) -> Iterable[str]:
    """Java's and Scala's collections alike."""
    iterator = names.iterator()
    while iterator.hasNext():
        yield str(iterator.next())


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(_read(sys.argv[1])))
    else:
        FILE.write_text(json.dumps(names_of_all(), indent=1) + "\n", encoding="utf-8")
