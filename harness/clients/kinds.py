"""The worker of each client: the client's module is the program of its worker."""

from dataclasses import dataclass, replace

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
"""It also has the producers."""


def worker_of(client: Client) -> WorkerKind:
    """Return the worker of a client; both Java clients have the same one."""
    if client.module == Client.JAVA.module:
        return JAVA_WORKER
    return WorkerKind(str(client), f"harness.clients.{client.module}_consumer")
