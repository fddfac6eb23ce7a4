"""Which worker serves which member of a group."""

from typing import cast

import pytest
from msgspec.structs import replace

from contract.errors import UsageError
from contract.run_folder import GroupPlan, MemberPlan
from contract.software import Client
from harness.clients.command import Call
from harness.clients.member_role import MemberRole
from harness.clients.process import JAVA_WORKER, WorkerKind, WorkerService, worker_of
from harness.story.consumers import (
    Consumers,
    member_of,
    members_of,
    require_planned,
    spare_workers,
    workers_for,
)
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
        self.launched: dict[str, str] = {}

    def launch(self, **options: str) -> None:
        self.launched = options

    def send(self, call: Call[None]) -> Call[None]:
        self.members += call.arguments["members"]
        return call

    def result(self, pending: Call[None], *, timeout_seconds: float) -> None:
        assert pending.what == "close members"
        assert timeout_seconds == 60


def consumers(*groups: GroupPlan) -> tuple[Consumers, dict[WorkerKind, ToldWorker]]:
    workers = {kind: ToldWorker(kind) for kind in workers_for(groups)}
    return Consumers(cast("dict[WorkerKind, WorkerService]", workers), groups), workers


def test_members_that_are_open_at_once_are_named_by_number_and_each_has_a_worker() -> None:
    assert list(members_of([ALONE, PAIR], incarnation=2)) == ["alone#2", "pair#2.1", "pair#2.2"]
    assert list(members_of([PAIR, PYTHON], incarnation=1, number=2)) == ["pair#1.2", "python#1.2"]
    assert workers_for([ALONE, PAIR]) == [JAVA_WORKER, SECOND]
    assert workers_for([]) == workers_for([replace(ALONE, client="java-consumer")]) == [JAVA_WORKER]
    python = worker_of(Client.KAFKA_PYTHON)
    assert workers_for([PYTHON]) == [JAVA_WORKER, python, python.copy(2)]


def test_a_command_goes_to_the_worker_of_its_member() -> None:
    called, workers = consumers(ALONE, PAIR)
    members = list(members_of([ALONE, PAIR], incarnation=1))
    called.call(members, MemberRole.close_members)
    assert workers[JAVA_WORKER].members == ["alone#1", "pair#1.1"]
    assert workers[SECOND].members == ["pair#1.2"]


def test_members_may_share_workers() -> None:
    shared = replace(PAIR, members=5, workers=2)
    assert workers_for([shared]) == [JAVA_WORKER, SECOND]
    both, workers = consumers(shared)
    members = list(members_of([shared], incarnation=1))
    both.call(members, MemberRole.close_members)
    assert workers[JAVA_WORKER].members == ["pair#1.1", "pair#1.3", "pair#1.5"]
    assert workers[SECOND].members == ["pair#1.2", "pair#1.4"]


def test_members_of_several_languages_have_workers_and_plans_of_their_own() -> None:
    java = MemberPlan(client=Client.JAVA, commit_epoch="none", settings={"max.poll.records": 1})
    mixed = replace(PYTHON, settings={"max_poll_records": 2}, others={1: java})
    assert workers_for([mixed]) == [JAVA_WORKER, worker_of(Client.KAFKA_PYTHON)]
    assert mixed.clients == ["java", "kafka-python"]
    plans = members_of([mixed], incarnation=2)
    opened = [member_of(name, plan, bootstrap="b:1") for name, plan in plans.items()]
    assert [(member.member, member.client) for member in opened] == [
        ("python#2.1", "java"),
        ("python#2.2", "kafka-python"),
    ]
    assert [member.settings for member in opened] == [
        {"max.poll.records": 1},
        {"max_poll_records": 2},
    ]
    assert [plan.commit_epoch for plan in plans.values()] == ["none", "record"]


@pytest.mark.parametrize(
    ("client", "isolation", "level"),
    [
        ("librdkafka", None, "read_committed"),
        ("java", None, "read_uncommitted"),
        ("kafka-python", None, "read_uncommitted"),
        ("librdkafka", "read_uncommitted", "read_uncommitted"),
    ],
)
def test_a_member_has_its_clients_own_isolation_unless_the_plan_says_otherwise(
    client: str, isolation: str | None, level: str
) -> None:
    group = replace(ALONE, client=client, isolation=isolation)
    assert group.isolation_level == level
    assert member_of("alone#1", group, bootstrap="b:1").isolation == level


def test_a_spare_worker_replaces_a_killed_one() -> None:
    spares = spare_workers([PAIR], {Client.JAVA: 1, Client.LIBRDKAFKA: 1})
    assert [kind.worker for kind in spares] == ["clients-3", "librdkafka"]
    kinds = [*workers_for([PAIR]), spares[0]]
    assert [kind.worker for kind in kinds] == ["clients", "clients-2", "clients-3"]
    reported = [ToldWorker(kind) for kind in kinds]
    workers = cast("list[WorkerService]", reported)
    pair = Consumers(dict(zip(kinds[:2], workers[:2], strict=True)), [PAIR], {kinds[2]: workers[2]})
    pair.replace(workers[1], bootstrap="b:1", kafka="4.4.0")
    assert reported[2].launched == {"bootstrap": "b:1", "kafka": "4.4.0"}
    pair.call(["pair#2.1", "pair#2.2"], MemberRole.close_members)
    assert [event.members for event in reported] == [["pair#2.1"], [], ["pair#2.2"]]
    assert list(pair.workers) == kinds, "all are collected, the killed one too"
    assert pair.spares == 0
    with pytest.raises(UsageError, match="no spare worker is left to replace clients-3"):
        pair.replace(workers[2], bootstrap="b:1", kafka="4.4.0")


def test_another_incarnation_may_differ_in_settings_and_styles_alone() -> None:
    of_pair = {"settings": {"max.poll.records": 10}, "commit_epoch": "none", "reset": "none"}
    require_planned([replace(PAIR, **of_pair)], [PAIR, PYTHON])
    require_planned([PYTHON], [replace(PYTHON, client="kafka-python@3.0.8")])
    with pytest.raises(
        UsageError, match="clients, isolation, is_static, request_timeout_ms of group pair differ"
    ):
        require_planned(
            [replace(PAIR, client="librdkafka", settings={"group.instance.id": "a"})], [PAIR]
        )


@pytest.mark.parametrize(
    ("name", "reset", "instance"),
    [("pair#1.2", "earliest", "id-2"), ("pair#3.1", "none", "id-1"), ("pair#2", "none", "id-1")],
)
def test_a_member_has_its_number_and_from_the_second_incarnation_its_policy(
    name: str, reset: str, instance: str
) -> None:
    settings: dict[str, str | int] = {"group.instance.id": "id-{number}", "max.poll.records": 7}
    group = replace(PAIR, reset="none", settings=settings)
    member = member_of(name, group, bootstrap="b:1")
    assert (member.member, member.reset) == (name, reset)
    assert member.settings == {"group.instance.id": instance, "max.poll.records": 7}


@pytest.mark.parametrize("name", ["other#1", "alone", "alone#1.2", "pair#1.3"])
def test_a_name_of_no_planned_member_is_refused(name: str) -> None:
    called, _ = consumers(ALONE, PAIR)
    with pytest.raises(UsageError, match="no member"):
        called.call([name], MemberRole.close_members)


@pytest.mark.parametrize(
    ("client", "settings", "expected"),
    [
        ("java", {}, 10_000),
        ("java", {"request.timeout.ms": "20000", "socket.timeout.ms": 5}, 20_000),
        ("java-consumer", {}, 10_000),
        ("librdkafka@2.13.0", {}, 60_000),
        ("kafka-python", {"request_timeout_ms": 12_000}, 12_000),
        ("kafka-python", {"request_timeout_ms": "{number}"}, None),
        ("another", {"request.timeout.ms": 1000}, None),
    ],
)
def test_a_client_waits_for_its_own_request_timeout(
    client: str, settings: dict[str, str | int], expected: int | None
) -> None:
    group = replace(ALONE, client=client, settings=settings)
    assert group.request_timeout_ms == expected


def test_a_group_waits_for_the_longest_request_timeout_of_its_members() -> None:
    java = replace(PAIR, settings={"request.timeout.ms": 40_000})
    assert replace(java, others={2: MemberPlan(client="kafka-python")}).request_timeout_ms == 40_000
    assert replace(java, others={2: MemberPlan(client="librdkafka")}).request_timeout_ms == 60_000
    assert replace(java, others={2: MemberPlan(client="another")}).request_timeout_ms is None
