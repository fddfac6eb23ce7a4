"""The worker with librdkafka consumers: `python -m harness.clients.librdkafka_worker PLAN`."""

import sys
from functools import partial
from pathlib import Path

from contract.clients import Client
from harness.clients.commands import WorkerPlan
from harness.clients.history import HistoryWriter
from harness.clients.kinds import client_version
from harness.clients.librdkafka_consumer import LibrdkafkaMember
from harness.clients.member_role import MemberRole
from harness.clients.python_log import open_log
from harness.clients.worker import read_plan, serve


class LibrdkafkaRole(MemberRole):
    """Consumers of confluent-kafka."""

    client = Client.LIBRDKAFKA

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Every member logs to the worker's client log."""
        super().__init__(
            plan,
            history,
            client_version=client_version(Client.LIBRDKAFKA, kafka=plan.kafka),
            make_member=partial(LibrdkafkaMember, log=open_log(Path(plan.log))),
        )


def main() -> None:
    """Serve the plan given as the only argument."""
    plan = read_plan(Path(sys.argv[1]))
    history = HistoryWriter(Path(plan.history))
    serve(plan, LibrdkafkaRole(plan, history), history, sys.stdin)


if __name__ == "__main__":
    main()
