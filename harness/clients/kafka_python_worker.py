"""The worker with kafka-python consumers: `python -m harness.clients.kafka_python_worker PLAN`."""

import logging
import sys
from functools import partial
from pathlib import Path

from contract.clients import Client
from harness.clients.commands import WorkerPlan
from harness.clients.history import HistoryWriter
from harness.clients.kafka_python_consumer import KafkaPythonMember
from harness.clients.kinds import client_version
from harness.clients.member_role import MemberRole
from harness.clients.python_log import SpeakerLog, open_log
from harness.clients.worker import read_plan, serve

_CLIENT_LOGS = ("kafka.consumer", "kafka.coordinator.consumer")


class KafkaPythonRole(MemberRole):
    """Consumers of kafka-python."""

    client = Client.KAFKA_PYTHON

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """What the client's consumer side logs goes to the worker's client log."""
        speaker = SpeakerLog()
        super().__init__(
            plan,
            history,
            client_version=client_version(Client.KAFKA_PYTHON, kafka=plan.kafka),
            make_member=partial(KafkaPythonMember, speaker=speaker),
        )
        handler = open_log(Path(plan.log))
        handler.addFilter(speaker)
        for name in _CLIENT_LOGS:
            log = logging.getLogger(name)
            log.setLevel(logging.DEBUG)
            log.propagate = False
            log.addHandler(handler)


def main() -> None:
    """Serve the plan given as the only argument."""
    plan = read_plan(Path(sys.argv[1]))
    history = HistoryWriter(Path(plan.history))
    serve(plan, KafkaPythonRole(plan, history), history, sys.stdin)


if __name__ == "__main__":
    main()
