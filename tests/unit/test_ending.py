"""How workers and runs end: each step is taken, whatever became of the ones before."""

import threading
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from contract.errors import WorkerError
from harness.clients import member_role
from harness.clients.history import HistoryWriter
from harness.clients.member import Member
from harness.clients.member_role import MemberRole
from harness.clients.worker import Role, WorkerPlan, serve
from harness.story.scenario import Steps

PLAN = WorkerPlan(worker="w", role="r", node="n", history="h", log="l", bootstrap="b", jars="j")


class ClosingMember:
    """A member of which only its close matters: `hangs` waits for `released`."""

    released = threading.Event()
    closed: ClassVar[list[str]] = []

    def __init__(self, member: Member, *_: Any) -> None:
        self._name = member.member

    def close(self) -> None:
        if self._name == "hangs":
            self.released.wait(30)
        if self._name == "raises":
            raise ConnectionError("gone")
        self.closed.append(self._name)


class RaisingRole(Role):
    client, client_version = "raising", "1"

    def close(self) -> None:
        raise WorkerError("g#1 did not close")


def test_members_close_at_the_same_time_and_those_that_do_not_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_role, "_CLOSE_SECONDS", 0.5)
    history = HistoryWriter(tmp_path / "w.jsonl")
    make: Any = ClosingMember
    role = MemberRole(PLAN, history, client="scripted", client_version="1", make_member=make)
    names = ("hangs", "raises", "a", "b")
    members = [Member(group="g", member=name, topic="t", reset="none") for name in names]
    role.open_members(members)
    with pytest.raises(WorkerError, match="raises raised ConnectionError: gone; hangs did not"):
        role.close()
    assert sorted(ClosingMember.closed) == ["a", "b"]
    ClosingMember.released.set()
    history.close()


def test_a_worker_that_can_not_close_answers_so_and_ends_its_history(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path / "w.jsonl")
    lines = [Role.finish().line(3), "not read any more"]
    serve(PLAN, RaisingRole(), history, lines)
    reported = [
        msgspec.json.decode(line) for line in (tmp_path / "w.jsonl").read_bytes().splitlines()
    ]
    assert [event["event"] for event in reported] == ["WorkerStarted", "Answered", "WorkerStopped"]
    assert reported[1]["error"] == "WorkerError: g#1 did not close"


def test_a_worker_goes_on_after_a_finish_that_it_refused(tmp_path: Path) -> None:
    history = HistoryWriter(tmp_path / "w.jsonl")
    refused = '{"request": 1, "do": "finish", "arguments": {"soon": true}}'
    serve(PLAN, RaisingRole(), history, [refused, Role.ping().line(2), Role.finish().line(3)])
    lines = (tmp_path / "w.jsonl").read_bytes().splitlines()
    reported = [msgspec.json.decode(line) for line in lines]
    assert [event.get("request") for event in reported] == [None, 1, 2, 3, None]
    assert "unknown field `soon`" in reported[1]["error"]
    assert reported[2]["result"] == "raising"


def test_a_step_that_fails_is_named_and_the_next_is_taken() -> None:
    steps = Steps()
    taken: list[str] = []

    def fails() -> None:
        raise OSError("no space left\non the device")

    steps.take("copy a file", fails)
    steps.take("copy another", lambda: taken.append("another"))
    assert steps.problems == ["could not copy a file: OSError: no space left"]
    assert taken == ["another"]
