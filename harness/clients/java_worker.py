"""The worker with the Java clients: `python -m harness.clients.java_worker PLAN`."""

import sys
from pathlib import Path
from typing import Any

from harness.clients.commands import AnyCommand, Produce, WorkerPlan
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember
from harness.clients.java_producer import produce
from harness.clients.jvm import kafka_version, start_jvm
from harness.clients.member_role import MemberRole
from harness.clients.worker import read_plan, serve
from harness.contract.clients import Client


class JavaRole(MemberRole):
    """Producers and consumers of the Java client, several at a time in one JVM."""

    client = Client.JAVA

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Needs the JVM to run already."""
        super().__init__(plan, history, client_version=kafka_version(), make_member=JavaMember)

    def carry_out(self, command: AnyCommand) -> Any:
        """Produce, or what members do."""
        match command:
            case Produce():
                return produce(command, bootstrap=self._plan.bootstrap, history=self._history)
            case _:
                return super().carry_out(command)


def main() -> None:
    """Serve the plan given as the only argument."""
    plan = read_plan(Path(sys.argv[1]))
    history = HistoryWriter(Path(plan.history))
    start_jvm(Path(plan.jars), log=Path(plan.log))
    serve(plan, JavaRole(plan, history), history, sys.stdin)


if __name__ == "__main__":
    main()
