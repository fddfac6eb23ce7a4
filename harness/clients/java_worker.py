"""The worker with the Java clients: `python -m harness.clients.java_worker PLAN`."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from harness.clients.commands import (
    AnyCommand,
    CloseMembers,
    CommitPositions,
    Consume,
    OpenMembers,
    Produce,
    WorkerPlan,
)
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember
from harness.clients.java_producer import produce
from harness.clients.jvm import kafka_version, start_jvm
from harness.clients.worker import Role, read_plan, serve
from harness.contract.errors import WorkerError

_THREADS = 8


class JavaRole(Role):
    """Producers and consumers of the Java client, several at a time in one JVM."""

    client = "java"

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Needs the JVM to run already."""
        self.client_version = kafka_version()
        self._plan = plan
        self._history = history
        self._members: dict[str, JavaMember] = {}
        self._pool = ThreadPoolExecutor(_THREADS)

    def carry_out(self, command: AnyCommand) -> Any:
        """Produce, open, consume, commit or close."""
        match command:
            case Produce():
                return produce(command, bootstrap=self._plan.bootstrap, history=self._history)
            case OpenMembers(members=members):
                for member in members:
                    self._members[member.member] = JavaMember(
                        member, self._plan.bootstrap, self._history
                    )
                return len(members)
            case Consume(members=members, ends=ends, timeout_seconds=timeout_seconds):
                consume = partial(JavaMember.consume, ends=ends, timeout_seconds=timeout_seconds)
                chosen = [self._member(name) for name in members]
                return dict(zip(members, self._pool.map(consume, chosen), strict=True))
            case CommitPositions(commits=commits):
                outcomes = self._pool.map(
                    lambda order: self._member(order.member).commit(order), commits
                )
                return {
                    order.member: outcome for order, outcome in zip(commits, outcomes, strict=True)
                }
            case CloseMembers(members=members):
                list(self._pool.map(lambda name: self._members.pop(name).close(), members))
                return len(members)
            case _:
                raise WorkerError(f"the java worker does not know {type(command).__name__}")

    def close(self) -> None:
        """Close every consumer that is still open."""
        for member in self._members.values():
            member.close()
        self._members.clear()
        self._pool.shutdown()

    def _member(self, name: str) -> JavaMember:
        try:
            return self._members[name]
        except KeyError:
            raise WorkerError(f"no member {name} is open here") from None


def main() -> None:
    """Serve the plan given as the only argument."""
    plan = read_plan(Path(sys.argv[1]))
    history = HistoryWriter(Path(plan.history))
    start_jvm(Path(plan.jars), log=Path(plan.log))
    serve(plan, JavaRole(plan, history), history, sys.stdin)


if __name__ == "__main__":
    main()
