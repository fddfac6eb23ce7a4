"""Which worker serves which member of a group."""

from typing import Any, cast

import pytest

from contract.clients import Client, clients_of
from contract.errors import UsageError
from contract.run_folder import GroupPlan
from harness.clients.commands import CloseMembers
from harness.clients.kinds import JAVA_WORKER, WorkerKind, worker_of
from harness.clients.process import WorkerService
from harness.story.consumers import Consumers, members_of, workers_for
from harness.story.workload import reader

ALONE = reader("alone", "t")
PAIR = reader("pair", "t", members=2)
PYTHON = reader("python", "t", client=Client.KAFKA_PYTHON, members=2)
SECOND = WorkerKind("clients-2", JAVA_WORKER.module)


class ToldWorker:
    """A worker that writes down of which members its commands are."""

    def __init__(self, kind: WorkerKind) -> None:
        self.worker = kind.worker
        self.client_version = f"version of {kind.worker}"
        self.members: list[str] = []

    def send(self, command: CloseMembers) -> int:
        self.members += command.members
        return 0

    def result(self, request: int, **options: Any) -> int:
        return len(options) + request


def consumers() -> tuple[Consumers, dict[WorkerKind, ToldWorker]]:
    workers = {kind: ToldWorker(kind) for kind in workers_for([ALONE, PAIR])}
    return Consumers(cast("dict[WorkerKind, WorkerService]", workers), [ALONE, PAIR]), workers


def test_members_that_are_open_at_once_are_named_by_number_and_each_has_a_worker() -> None:
    assert list(members_of([ALONE, PAIR], incarnation=2)) == ["alone#2", "pair#2.1", "pair#2.2"]
    assert list(members_of([PAIR, PYTHON], incarnation=1, number=2)) == ["pair#1.2", "python#1.2"]
    assert workers_for([ALONE, PAIR]) == [JAVA_WORKER, SECOND]
    python = worker_of(Client.KAFKA_PYTHON)
    assert workers_for([PYTHON]) == [JAVA_WORKER, python, python.copy(2)]


def test_a_command_goes_to_the_worker_of_its_member() -> None:
    called, workers = consumers()
    members = list(members_of([ALONE, PAIR], incarnation=1))
    called.call(members, lambda share: CloseMembers(members=share))
    assert workers[JAVA_WORKER].members == ["alone#1", "pair#1.1"]
    assert workers[SECOND].members == ["pair#1.2"]


@pytest.mark.parametrize("name", ["other#1", "alone", "alone#1.2", "pair#1.3"])
def test_a_name_of_no_planned_member_is_refused(name: str) -> None:
    called, _ = consumers()
    with pytest.raises(UsageError, match="no member"):
        called.call([name], lambda share: CloseMembers(members=share))


def test_versions_are_those_that_the_workers_told() -> None:
    groups = [PYTHON, reader("kip-848", "t", client=Client.JAVA_CONSUMER)]
    workers = {kind: ToldWorker(kind) for kind in workers_for(groups)}
    told = Consumers(cast("dict[WorkerKind, WorkerService]", workers), groups).versions()
    assert told == {
        "java": "version of clients",
        "java-consumer": "version of clients",
        "kafka-python": "version of kafka-python",
    }


def test_kip_848_is_tested_from_4_0() -> None:
    assert Client.JAVA_CONSUMER not in clients_of("3.9.2")
    assert clients_of("4.4.0") == list(Client)


def test_a_plan_needs_one_worker_a_kind_and_javas_always() -> None:
    def group(client: str) -> GroupPlan:
        return GroupPlan(group=client, client=client, topic="t", commit_epoch="max", reset="none")

    assert workers_for([]) == [JAVA_WORKER]
    assert workers_for([group("java-consumer"), group("java")]) == [JAVA_WORKER]
    needed = workers_for([group("librdkafka"), group("librdkafka"), group("kafka-python")])
    assert [kind.worker for kind in needed] == ["clients", "librdkafka", "kafka-python"]
