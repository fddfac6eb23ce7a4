"""Prints the settings that Kafka's producer has in force, by the settings that it was given.

A program of its own, since a process has one JVM: `producer_settings.py FOLDER`. Needs no broker.
"""

import json
import sys
from pathlib import Path

import msgspec

from cluster.kafka import distribution
from harness.clients.java_producer import open_producer, settings_of
from harness.clients.jvm import start_jvm

GIVEN: dict[str, dict[str, str]] = {
    "acks=all": {"acks": "all"},
    "acks=1": {"acks": "1"},
    "acks=0": {"acks": "0"},
    "without idempotence": {"acks": "all", "enable.idempotence": "false"},
    "one in flight": {"acks": "all", "max.in.flight.requests.per.connection": "1"},
    "ten in flight": {"enable.idempotence": "false", "max.in.flight.requests.per.connection": "10"},
    "transactional": {"acks": "all", "transactional.id": "t"},
}


def main() -> None:
    """Print them as one line of JSON."""
    start_jvm(distribution.ensure("4.4.0", progress=False), log=Path(sys.argv[1]) / "jvm.log")
    told = {}
    for name, settings in GIVEN.items():
        producer = open_producer(name, bootstrap="127.0.0.1:9", settings=settings)
        told[name] = msgspec.to_builtins(settings_of(producer))
        producer.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
