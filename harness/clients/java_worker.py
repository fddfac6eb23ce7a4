"""The worker with the Java clients: `python -m harness.clients.java_worker PLAN`."""

from pathlib import Path
from typing import Any

from contract.clients import Client
from contract.errors import WorkerError
from harness.clients.command import Command
from harness.clients.commands import (
    BeginTransaction,
    CopyInTransaction,
    CountProduced,
    CountReceived,
    EndTransaction,
    OpenTransactional,
    Produce,
    SendInTransaction,
    StartProducer,
    StopProducer,
    WorkerPlan,
)
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember
from harness.clients.java_load import SteadyProducer
from harness.clients.java_manners import java_member
from harness.clients.java_producer import produce
from harness.clients.java_transactions import Transactions
from harness.clients.member_role import MemberRole
from harness.clients.worker import run_worker
from harness.java.jvm import kafka_version, start_jvm


class JavaRole(MemberRole):
    """Producers and consumers of the Java client, several at a time in one JVM."""

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Start the JVM."""
        start_jvm(plan.jars, log=Path(plan.log))
        super().__init__(
            plan,
            history,
            client=Client.JAVA,
            client_version=kafka_version(),
            make_member=java_member,
        )
        self._loads: dict[str, SteadyProducer] = {}
        self._transactions = Transactions(
            bootstrap=plan.bootstrap, history=history, member=self._member
        )

    def carry_out(self, command: Command) -> Any:
        """Carry out a command of producers or of members."""
        match command:
            case Produce():
                bootstrap = command.bootstrap or self._plan.bootstrap
                return produce(command, bootstrap=bootstrap, history=self._history)
            case StartProducer(producer=producer):
                self._loads[producer] = SteadyProducer(
                    command, bootstrap=self._plan.bootstrap, history=self._history
                )
                return None
            case CountProduced() | CountReceived():
                return self._count(command)
            case StopProducer(producer=producer):
                counts = self._load(producer).stop()
                del self._loads[producer]
                return counts
            case (
                OpenTransactional()
                | BeginTransaction()
                | SendInTransaction()
                | CopyInTransaction()
                | EndTransaction()
            ):
                return self._transactions.carry_out(command)
            case _:
                return super().carry_out(command)

    def close(self) -> None:
        """Close everything that is still open."""
        for load in self._loads.values():
            load.stop()
        self._transactions.close()
        super().close()

    def _count(self, command: CountProduced | CountReceived) -> Any:
        if isinstance(command, CountProduced):
            return self._load(command.producer).counts()
        return {name: self._java_member(name).received(command.brokers) for name in command.members}

    def _java_member(self, name: str) -> JavaMember:
        member = self._member(name)
        if not isinstance(member, JavaMember):
            raise WorkerError(f"{name} is no Java consumer")
        return member

    def _load(self, producer: str) -> SteadyProducer:
        try:
            return self._loads[producer]
        except KeyError:
            raise WorkerError(f"no producer {producer} was started here") from None


if __name__ == "__main__":
    run_worker(JavaRole)
