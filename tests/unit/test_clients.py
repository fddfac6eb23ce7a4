"""What all clients under test share: the member contract, its role, and who serves whom."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from scripted_members import (
    MEMBER,
    ORDERS,
    PLAN,
    ScriptedMember,
    TellingMember,
    end,
    reading_member,
    role_in,
    rows,
)

from contract.errors import WorkerError
from contract.terms import NO_OFFSET, CommitEpoch, Outcome
from contract.waiting import wait_until
from harness.clients.history import HistoryWriter
from harness.clients.java_worker import JavaRole
from harness.clients.member import (
    Batch,
    ClientState,
    Member,
    MemberCommit,
    OffsetAndEpoch,
    Partition,
)
from harness.clients.member_role import MemberRole, MemberStamp, open_log
from harness.clients.producers import StepAnswer
from harness.clients.worker import serve
from harness.decode.client_logs.lines import log_lines
from harness.story.transactions import require


def test_a_member_reads_to_the_log_end_and_commits_what_it_is_reported(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    role.open_members([MEMBER])
    ended = role.consume(["g#1"], ends=end(3), timeout_seconds=5)
    assert ended == {"g#1": "caught_up"}
    for style, outcome in (("record", "ok"), ("forced", "failed"), ("none", "ok")):
        order = MemberCommit(member="g#1", commit_epoch=CommitEpoch(style), cluster_epochs={0: 7})
        assert role.commit_positions([order]) == {"g#1": outcome}
    role.close_members(["g#1"])
    assert [row["offset"] for row in rows(tmp_path, "polls")] == [0, 1, 2]
    commits = [(row["offset"], row["committed_epoch"]) for row in rows(tmp_path, "commits")]
    assert commits == [(3, 1), (3, 7), (3, -1)]
    changes = [row["change"] for row in rows(tmp_path, "group_events")]
    assert changes == ["opened", "assigned", "caught_up", "closed"]
    (span,) = rows(tmp_path, "poll_spans")
    assert span["member"] == "g#1"
    assert span["began_micros"] <= span["ended_micros"]


def test_polls_that_are_apart_are_several_spans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.clients.member._SPAN_MICROS", 0)
    role = role_in(tmp_path)
    role.open_members([MEMBER])
    role.take(["g#1"], 3, timeout_seconds=5)
    role.close_members(["g#1"])
    began = [row["began_micros"] for row in rows(tmp_path, "poll_spans")]
    assert len(began) == 3
    assert began == sorted(began)


@pytest.mark.parametrize(
    ("style", "offset", "epoch"),
    [
        ("record", 3, 4),
        ("application", 3, 1),
        ("position", 3, 5),
        ("metadata", 3, 6),
        ("max", 3, 5),
        ("forced", 3, 7),
        ("none", 3, -1),
        ("stale", 3, 0),
    ],
)
def test_each_style_commits_what_it_is_named_for(
    tmp_path: Path, style: str, offset: int, epoch: int
) -> None:
    """Position (3, 4) with leader 5, metadata 6 (7 after), the last record 1, the cluster 7."""
    member = reading_member(tmp_path, TellingMember)
    order = MemberCommit(member="g#1", commit_epoch=CommitEpoch(style), cluster_epochs={0: 7})
    member.commit(order)
    (row,) = rows(tmp_path, "commits")
    assert (row["offset"], row["committed_epoch"]) == (offset, epoch)
    names = ("record", "position", "metadata", "cluster")
    assert [row[f"{name}_epoch"] for name in names] == [1, 5, 6, 7]
    assert (row["position_epoch_after"], row["metadata_epoch_after"]) == (5, 7)
    assert row["generation"] == 9
    assert member.sent[1] == (style == "record")


@pytest.mark.parametrize(
    ("style", "outcome", "offset"),
    [
        ("record", "nothing", None),
        ("position", "nothing", None),
        ("metadata", "nothing", None),
        ("max", "nothing", None),
        ("application", "ok", 3),
        ("forced", "ok", 3),
        ("none", "ok", 3),
    ],
)
def test_a_position_that_awaits_validation_is_left_out(
    tmp_path: Path, style: str, outcome: str, offset: int | None
) -> None:
    """`SubscriptionState.allConsumed` leaves it out; an application that counts does not."""
    member = reading_member(tmp_path, TellingMember)
    member.awaits_validation = True  # type: ignore[attr-defined]
    order = MemberCommit(member="g#1", commit_epoch=CommitEpoch(style), cluster_epochs={0: 6})
    assert member.commit(order) == outcome
    (row,) = rows(tmp_path, "commits")
    assert (row["outcome"], row["offset"], row["error"]) == (outcome, offset, None)


def test_a_client_that_hides_its_state_commits_no_epoch_of_it(tmp_path: Path) -> None:
    member = reading_member(tmp_path, ScriptedMember)
    member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD))
    (row,) = rows(tmp_path, "commits")
    assert [row[f"{name}_epoch"] for name in ("committed", "record")] == [1, 1]
    untold = ("position", "metadata", "cluster", "position_epoch_after", "metadata_epoch_after")
    assert {row.get(f"{name}_epoch", row.get(name)) for name in untold} == {-1}
    for style in ("position", "metadata", "max"):
        with pytest.raises(WorkerError, match=f"style {style} can't be committed"):
            member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch(style)))


@pytest.mark.parametrize("style", ["forced", "max"])
def test_a_member_that_reads_on_commits_only_what_its_client_knows(
    tmp_path: Path, style: str
) -> None:
    role = role_in(tmp_path)
    role.open_members([MEMBER])
    with pytest.raises(WorkerError, match=style):
        role.start_consuming(["g#1"], commit_epoch=CommitEpoch(style), commit_interval_ms=10)


class KeepingMember(TellingMember):
    """A member whose client keeps its partitions over generations, as with KIP-848."""

    member_id = "a"

    def _is_eager(self) -> bool:
        return False

    def _member_id(self) -> str:
        return self.member_id


def test_an_unawaited_member_commits_after_each_poll_with_records(tmp_path: Path) -> None:
    plan = replace(MEMBER, manner="unawaited", reset="none")
    member = ScriptedMember(plan, "b", HistoryWriter(tmp_path / "w.jsonl"))
    member.read_on(threading.Event(), commit_epoch=CommitEpoch.RECORD, commit_interval_seconds=0)
    found = rows(tmp_path, "commits")
    assert [commit["offset"] for commit in found] == list(range(1, 14))
    assert [commit["outcome"] for commit in found][:3] == ["ok", "unknown", "ok"]
    assert {commit["manner"] for commit in found} == {"unawaited"}
    assert member.commits == 12
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)) == "ok"
    assert rows(tmp_path, "commits")[-1]["manner"] == "sync"


@pytest.mark.parametrize("manner", ["auto", "periodic"])
def test_a_member_whose_client_commits_by_itself_is_left_to_do_so(
    tmp_path: Path, manner: str
) -> None:
    member = ScriptedMember(
        replace(MEMBER, manner=manner), "b", HistoryWriter(tmp_path / "w.jsonl")
    )
    member.take(3, timeout_seconds=5)
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)) == "ok"
    assert not rows(tmp_path, "commits")


@pytest.mark.parametrize(("kind", "generations"), [(TellingMember, [9, 10]), (KeepingMember, [9])])
def test_an_eager_generation_assigns_a_kept_partition_anew(
    tmp_path: Path, kind: type[TellingMember], generations: list[int]
) -> None:
    """A commit in between tells the new generation, too; that must not hide it."""
    member = kind(MEMBER, "b", HistoryWriter(tmp_path / "w.jsonl"))
    member.take(1, timeout_seconds=5)
    member.generation = 10
    member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD))
    member.generation = 10
    member.take(1, timeout_seconds=5)
    assigned = [row for row in rows(tmp_path, "group_events") if row["change"] == "assigned"]
    assert [row["generation"] for row in assigned] == generations


@pytest.mark.parametrize(("member_id", "changes"), [("b", 2), ("a", 1), ("", 1)])
def test_a_member_that_joined_under_another_id_is_assigned_what_it_had(
    tmp_path: Path, member_id: str, changes: int
) -> None:
    """It has no id from the loss of its membership until it has joined again."""
    member = KeepingMember(MEMBER, "b", HistoryWriter(tmp_path / "w.jsonl"))
    member.take(1, timeout_seconds=5)
    member.member_id = member_id
    member.take(1, timeout_seconds=5)
    assigned = [row for row in rows(tmp_path, "group_events") if row["change"] == "assigned"]
    assert len(assigned) == changes


@pytest.mark.parametrize(("assigned", "changes", "epoch"), [([ORDERS], 2, -1), ([], 1, 1)])
def test_what_a_rebalance_assigns_begins_again_and_what_it_keeps_goes_on(
    tmp_path: Path, assigned: list[Partition], changes: int, epoch: int
) -> None:
    """The position of a new assignment has no epoch until a record of it is read."""
    member = reading_member(tmp_path, ScriptedMember)
    member.come_back_from_a_rebalance(*assigned)
    member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD))
    seen = [row["change"] for row in rows(tmp_path, "group_events")]
    assert seen == ["opened", *["assigned"] * changes]
    (row,) = rows(tmp_path, "commits")
    assert (row["offset"], row["committed_epoch"], row["outcome"]) == (3, epoch, "ok")


class LosingMember(ScriptedMember):
    """A member that loses its partition right after its second poll has returned a record."""

    def _assignment(self) -> set[Partition]:
        return set() if self._at == 2 else super()._assignment()


def test_a_record_came_before_the_loss_that_the_member_notices_after_the_poll(
    tmp_path: Path,
) -> None:
    member = LosingMember(MEMBER, "b", HistoryWriter(tmp_path / "w.jsonl"))
    member.take(2, timeout_seconds=5)
    events = [json.loads(line) for line in (tmp_path / "w.jsonl").read_text().splitlines()]
    events = [event for event in events if event["event"] != "PollsMade"]
    seen = [event["offsets"] if event["event"] == "Polled" else event["change"] for event in events]
    assert seen == ["opened", "assigned", [0], [1], "revoked"]


class FencedMember(ScriptedMember):
    """A member that has lost its partitions when its plain commit returns."""

    is_fenced = False

    def _assignment(self) -> set[Partition]:
        return set() if self.is_fenced else super()._assignment()

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        self.is_fenced = True
        return super()._commit(positions, is_plain=is_plain)


class RefusedMember(ScriptedMember):
    """A member whose coordinator refuses its commits."""

    definite_failures = frozenset({"Refused"})
    error = ""

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        assert is_plain
        return dict.fromkeys(positions, self.error)


@pytest.mark.parametrize(
    ("error", "outcome", "recorded"),
    [
        ("Refused", "failed", ("Refused", 3)),
        ("CommitFailedException", "unknown", ("CommitFailedException", 3)),
        (NO_OFFSET, "nothing", (NO_OFFSET, None)),
    ],
)
def test_only_what_its_client_names_surely_failed_and_what_it_leaves_out_is_nothing(
    tmp_path: Path, error: str, outcome: str, recorded: tuple[str | None, int | None]
) -> None:
    member = reading_member(tmp_path, RefusedMember)
    member.error = error
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)) == outcome
    (row,) = rows(tmp_path, "commits")
    assert (row["error"], row["offset"]) == recorded
    assert member.commits == 0


@pytest.mark.parametrize(("style", "outcome"), [("record", "unknown"), ("none", "ok")])
def test_a_plain_commit_of_a_lost_partition_is_unknown(
    tmp_path: Path, style: str, outcome: str
) -> None:
    member = reading_member(tmp_path, FencedMember)
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch(style))) == outcome


def test_what_a_client_raises_is_recorded(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    raising = Member(group="g", member="g#2", topic="orders", reset="none")
    role.open_members([raising])
    ended = role.consume(["g#2"], ends=end(99), timeout_seconds=5)
    assert ended == {"g#2": "failed"}
    failed = rows(tmp_path, "group_events")[-1]
    assert (failed["change"], failed["exception"], failed["divergent_offset"]) == (
        "failed",
        "OverflowError",
        12,
    )


@pytest.mark.parametrize(("is_persistent", "offsets"), [(False, 13), (True, 19)])
def test_a_member_that_failed_may_poll_on(
    tmp_path: Path, *, is_persistent: bool, offsets: int
) -> None:
    role = role_in(tmp_path)
    role.open_members([msgspec.structs.replace(MEMBER, reset="none")])
    role.start_consuming(
        ["g#1"],
        commit_epoch=CommitEpoch.RECORD,
        commit_interval_ms=60_000,
        is_persistent=is_persistent,
    )
    wait_until(lambda: role.count_failures(["g#1"])["g#1"] > 0, what="a failure", timeout_seconds=5)
    if is_persistent:
        wait_until(
            lambda: len(rows(tmp_path, "polls")) == offsets, what="the rest", timeout_seconds=5
        )
    else:
        wait_until(lambda: role.ended(["g#1"]), what="its end", timeout_seconds=5)
    assert [error.partition(":")[0] for error in role.ended(["g#1"]).values()] == (
        [] if is_persistent else ["OverflowError"]
    )
    role.stop_consuming(["g#1"])
    assert len(rows(tmp_path, "polls")) == offsets
    assert [row["change"] for row in rows(tmp_path, "group_events")].count("failed") == 1


class BrokenMember(ScriptedMember):
    """A client that raises what is none of its own errors."""

    def _fetch(self) -> list[Batch]:
        raise KeyError("no such partition")


def test_an_error_that_is_none_of_its_client_s_is_in_the_history_too(tmp_path: Path) -> None:
    member = BrokenMember(MEMBER, "b", HistoryWriter(tmp_path / "w.jsonl"))
    with pytest.raises(KeyError):
        member.read_on(
            threading.Event(), commit_epoch=CommitEpoch.RECORD, commit_interval_seconds=9
        )
    (failed,) = [row for row in rows(tmp_path, "group_events") if row["change"] == "failed"]
    assert (failed["exception"], member.failure) == ("KeyError", "KeyError: 'no such partition'")


def test_who_comes_to_no_end_stalls_with_or_without_a_partition(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    names = ["g#1", "u#1"]
    unassigned = Member(
        group="u", member="u#1", topic="unassigned", reset="earliest", bootstrap="broker:9092"
    )
    role.open_members([MEMBER, unassigned])
    ended = role.consume(names, ends=end(9), timeout_seconds=0.05)
    assert ended == dict.fromkeys(names, "stalled")
    stalls = [row for row in rows(tmp_path, "group_events") if row["change"] == "stalled"]
    reported = {(row["member"], row["topic"], row["partition"]) for row in stalls}
    assert reported == {("g#1", "orders", 0), ("u#1", "", -1)}


def test_an_application_s_own_calls_are_recorded(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    role.open_members([msgspec.structs.replace(MEMBER, is_subscribed=False)])
    role.assign(["g#1"], [0], offset=3)
    role.pause(["g#1"], [0])
    role.resume(["g#1"], [0])
    role.seek(["g#1"], [0], offset=1)
    role.unsubscribe(["g#1"])
    role.subscribe(["g#1"])
    changes = [(row["change"], row["position"]) for row in rows(tmp_path, "group_events")]
    assert changes == [
        ("opened", None),
        ("sought", 3),
        ("assigned", 3),
        ("paused", 3),
        ("resumed", 3),
        ("sought", 1),
        ("revoked", None),
    ]


def test_what_a_client_returned_as_committed_is_recorded(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    role.open_members([MEMBER])
    found = role.committed(["g#1"], [0, 1, 2], timeout_seconds=1)
    assert [(commit.offset, commit.epoch) for commit in found["g#1"]] == [
        (7, 2),
        (None, -1),
        (None, -1),
    ]
    role.committed(["g#1"], [1], timeout_seconds=0)
    reads = rows(tmp_path, "offset_reads")
    assert [(row["partition"], row["offset"], row["error"]) for row in reads] == [
        (0, 7, None),
        (1, None, None),
        (2, None, "UNSTABLE_OFFSET_COMMIT"),
        (1, None, "OverflowError"),
    ]
    assert {(row["by"], row["is_stable"], row["member"]) for row in reads} == {
        ("consumer", False, "g#1")
    }


def test_a_member_that_polls_by_itself_is_asked_nothing_else(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    role.open_members([MEMBER])
    role.start_consuming(["g#1"], commit_epoch=CommitEpoch.RECORD, commit_interval_ms=1000)
    with pytest.raises(WorkerError, match="g#1 polls continuously"):
        role.seek(["g#1"], [0], offset=1)
    role.stop_consuming(["g#1"])


def test_a_role_says_what_it_can_not_do(tmp_path: Path) -> None:
    role = role_in(tmp_path)
    with pytest.raises(WorkerError, match="no member g#9"):
        role.consume(["g#9"], ends=[], timeout_seconds=1)


def answers(folder: Path, *lines: str) -> list[dict[str, Any]]:
    """What a worker with a scripted client answers to lines on its standard input."""
    path = folder / "answers.jsonl"
    serve(PLAN, role_in(folder), HistoryWriter(path), lines)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in events if event["event"] == "Answered"]


STOPPED = """
import sys
from pathlib import Path
from scripted_members import PLAN, role_in
from harness.clients import worker
from harness.clients.history import HistoryWriter

worker.PULSE_SECONDS, worker.SUSPENDED_SECONDS_MIN = 0.02, 0.4
folder = Path(sys.argv[1])
worker.serve(PLAN, role_in(folder), HistoryWriter(folder / "stopped.jsonl"), sys.stdin)
"""


def test_a_worker_records_when_its_process_was_stopped(tmp_path: Path) -> None:
    history = tmp_path / "stopped.jsonl"

    def has(event: str) -> bool:
        return history.exists() and f'"{event}"' in history.read_text()

    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tmp_path)],
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
    ) as program:
        wait_until(lambda: has("WorkerStarted"), what="a worker", timeout_seconds=60)
        program.send_signal(signal.SIGSTOP)
        os.waitpid(program.pid, os.WUNTRACED)
        time.sleep(0.6)  # what is to be recorded
        program.send_signal(signal.SIGCONT)
        wait_until(lambda: has("WorkerSuspended"), what="that it was stopped", timeout_seconds=60)
        program.communicate()
    found = rows(tmp_path, "suspensions")
    assert any(row["ended_micros"] - row["began_micros"] >= 600_000 for row in found)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (JavaRole.count_produced("p").line(1), "the scripted worker does not know count_produced"),
        ('{"request": 1, "do": "_member", "arguments": {}}', "worker does not know _member"),
        (
            '{"request": 1, "do": "close_members", "arguments": {"members": ["g#1", 2]}}',
            r"close_members refuses its arguments: Expected `str`, got `int` - at `\$.members",
        ),
        (
            '{"request": 1, "do": "close_members", "arguments": {}}',
            "close_members refuses its arguments: .* missing required field `members`",
        ),
        (
            '{"request": 1, "do": "ping", "arguments": {"loud": true}}',
            "ping refuses its arguments: .* unknown field `loud`",
        ),
    ],
)
def test_a_worker_refuses_what_is_no_command_of_its_role(
    tmp_path: Path, line: str, error: str
) -> None:
    (answer,) = answers(tmp_path, line)
    assert re.search(f"^WorkerError: .*{error}", answer["error"])


def test_a_command_takes_and_returns_what_its_method_does(tmp_path: Path) -> None:
    """Both ways through JSON, with the types of the method."""
    opened = MemberRole.open_members([MEMBER])
    counted = MemberRole.count_commits(members=["g#1"])
    assert (opened.what, counted.what) == ("open members", "count commits")
    results = [answer["result"] for answer in answers(tmp_path, opened.line(1), counted.line(2))]
    assert (opened.result(results[0]), counted.result(results[1])) == (None, {"g#1": 0})
    produced = JavaRole.count_produced("p").result({"3": {"ok": 7}})
    assert produced == {3: {Outcome.OK: 7}}


def test_client_logs_in_python_read_as_the_java_clients(tmp_path: Path) -> None:
    handler = open_log(tmp_path / "client.log")
    log = logging.getLogger("test.client")
    log.propagate = False
    log.addHandler(handler)
    log.addFilter(MemberStamp(MEMBER))
    log.warning("Truncation %s", "detected")
    handler.close()
    (reported,) = log_lines((tmp_path / "client.log").read_text().splitlines())
    assert (reported.member, reported.group, reported.text) == ("g#1", "g", "Truncation detected")


def test_a_story_requires_only_what_it_can_not_do_without() -> None:
    done = StepAnswer(change="committed", outcome=Outcome.OK, error=None)
    refused = StepAnswer(change="fenced", outcome=Outcome.FAILED, error="ProducerFencedException")
    require(done, {Outcome.OK: 3, Outcome.FAILED: 0})
    with pytest.raises(WorkerError, match="fenced: ProducerFencedException"):
        require(done, refused)
    with pytest.raises(WorkerError, match="not acknowledged"):
        require({Outcome.OK: 3, Outcome.UNKNOWN: 1})


# What a commit without arguments took: the client's state before it and after it.


class ChangingMember(TellingMember):
    """A member whose client has one state before its commit, and another one afterwards."""

    states: tuple[ClientState, ClientState]

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        self._looks = getattr(self, "_looks", -1) + 1
        return dict.fromkeys(partitions, self.states[self._looks])


def _under(leader_epoch: int, offset: int | None = 3, epoch: int = 4) -> ClientState:
    position = None if offset is None else OffsetAndEpoch(offset, epoch)
    return ClientState(position=position, leader_epoch=leader_epoch)


RESET = _under(0, 0, -1)
AWAITED = _under(-1, None)


@pytest.mark.parametrize(
    ("before", "after", "outcome", "position"),
    [
        (_under(5), _under(5), "ok", (3, 4)),
        (AWAITED, AWAITED, "nothing", (None, -1)),
        # A new leader: the client left the position out, unless the leader came later.
        (_under(5), _under(6), "unknown", (3, 4)),
        (_under(5), _under(6, None), "unknown", (3, 4)),
        # A reset, or a validation: the client took the position, unless that came later.
        (AWAITED, RESET, "unknown", (0, -1)),
        (_under(6, None), _under(6), "unknown", (3, 4)),
        # Validated and invalid again: the position that the application knows.
        (_under(6, None), _under(7, None), "unknown", (3, 1)),
    ],
)
def test_a_plain_commit_is_unknown_if_the_clients_state_changes(
    tmp_path: Path,
    before: ClientState,
    after: ClientState,
    outcome: str,
    position: tuple[int | None, int],
) -> None:
    """`commitSync()` takes `SubscriptionState.allConsumed` of its own moment."""
    member = reading_member(tmp_path, ChangingMember)
    member.states = (before, after)  # type: ignore[attr-defined]
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)) == outcome
    (row,) = rows(tmp_path, "commits")
    assert (row["outcome"], (row["offset"], row["committed_epoch"])) == (outcome, position)
    assert row["error"] is None


def test_an_explicit_commit_does_not_depend_on_the_clients_state(tmp_path: Path) -> None:
    member = reading_member(tmp_path, ChangingMember)
    member.states = (_under(5), _under(6, None))  # type: ignore[attr-defined]
    assert member.commit(MemberCommit(member="g#1", commit_epoch=CommitEpoch.APPLICATION)) == "ok"


def test_an_application_knows_its_last_records_not_its_position(tmp_path: Path) -> None:
    """A position may have passed aborted records and markers of a newer epoch."""
    member = reading_member(tmp_path, ScriptedMember)
    member.pass_markers(5)
    assert member.processed() == {ORDERS: OffsetAndEpoch(3, 1)}
