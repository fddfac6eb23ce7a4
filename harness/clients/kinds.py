"""Which worker serves which client, and in which version."""

from dataclasses import dataclass, replace
from importlib.metadata import version

from contract.clients import Client


@dataclass(frozen=True)
class WorkerKind:
    """A worker's name, which names its history, and its module for `python -m`."""

    worker: str
    module: str

    def copy(self, number: int) -> "WorkerKind":
        """Return the worker for the members of a number, from 1: `clients`, then `clients-2`."""
        return self if number == 1 else replace(self, worker=f"{self.worker}-{number}")


JAVA_WORKER = WorkerKind("clients", "harness.clients.java_worker")

WORKERS = {
    Client.JAVA: JAVA_WORKER,
    Client.JAVA_CONSUMER: JAVA_WORKER,
    Client.LIBRDKAFKA: WorkerKind("librdkafka", "harness.clients.librdkafka_worker"),
    Client.KAFKA_PYTHON: WorkerKind("kafka-python", "harness.clients.kafka_python_worker"),
}


def client_version(client: Client, *, kafka: str) -> str:
    """A client's version: Java clients have that of the Kafka version under test."""
    match client:
        case Client.JAVA | Client.JAVA_CONSUMER:
            return kafka
        case Client.LIBRDKAFKA:
            from confluent_kafka import libversion  # noqa: PLC0415 - a library of its own, if used

            return f"{libversion()[0]} (confluent-kafka {version('confluent-kafka')})"
        case Client.KAFKA_PYTHON:
            return version("kafka-python")
