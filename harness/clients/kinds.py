"""The worker of each client. The program of a worker is the module of its client."""

from dataclasses import dataclass, replace

from contract.clients import Client


@dataclass(frozen=True)
class WorkerKind:
    """The name of a worker, which its history has too, and its module for `python -m`."""

    worker: str
    module: str

    def copy(self, number: int) -> "WorkerKind":
        """Return the worker with a number, from 1: `clients`, `clients-2`, `clients-3`, ..."""
        return self if number == 1 else replace(self, worker=f"{self.worker}-{number}")


JAVA_WORKER = WorkerKind("clients", "harness.clients.java_worker")
"""The worker of the Java consumers, and of all producers."""


def worker_of(client: Client) -> WorkerKind:
    """Return the worker of a client; both Java clients have the same one."""
    if client.module == Client.JAVA.module:
        return JAVA_WORKER
    return WorkerKind(str(client), f"harness.clients.{client.module}_consumer")
