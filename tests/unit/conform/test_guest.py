"""A guest's lines: what a member makes of them, and which rule a program breaks."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from contract.errors import WorkerError
from contract.software import Guest, Level
from contract.terms import CommitEpoch, Outcome
from contract.waiting import wait_until
from extras.conform.guest import (
    BrokenRuleError,
    GuestProcess,
    Reported,
    ReportedError,
    Rule,
    is_transient,
)
from extras.conform.guest_consumer import GuestMember, GuestRole
from harness.clients.history import HistoryWriter
from harness.clients.member import LogEnd, Member, MemberCommit
from harness.clients.member_role import open_log
from harness.clients.worker import WorkerPlan
from harness.decode.histories import read_histories
from tests.made import make_struct

LOOP = """
import json, sys, time, os
for line in sys.stdin:
    request = json.loads(line)
    response = {"id": request["id"]}
    if request["do"] == "open":
        response |= {"client": "tiny", "version": "1.0"}
"""
REPLY = """
    print(json.dumps(response), flush=True)
    if request["do"] == "close":
        break
"""


@pytest.fixture
def said_lines() -> list[str]:
    return []


@pytest.fixture
def start(tmp_path: Path, said_lines: list[str]) -> Iterator[Any]:
    started: list[GuestProcess] = []

    def program(text: str, *, response_seconds: float = 20) -> GuestProcess:
        file = tmp_path / "guest.py"
        file.write_text(text)
        guest = Guest(name="tiny", command=[sys.executable, "guest.py"], folder=str(tmp_path))
        process = GuestProcess(
            guest, "g#1", log=said_lines.append, response_seconds=response_seconds
        )
        started.append(process)
        return process

    yield program
    for process in started:
        process.kill()


def open_guest(process: GuestProcess) -> GuestProcess:
    response = process.ask("open", topic="orders")
    assert (response.client, response.version) == ("tiny", "1.0")
    return process


def test_a_guest_responds_and_exits(start: Any) -> None:
    polling = """
    if request["do"] == "poll":
        response |= {"records": [{"partition": 0, "offset": 3, "value": "ü"}], "assigned": [0]}
"""
    process = open_guest(start(LOOP + polling + REPLY))
    response = process.ask("poll", timeout_ms=100)
    assert [
        (delivered.offset, delivered.value, delivered.epoch) for delivered in response.records
    ] == [(3, "ü", -1)]
    assert (response.assigned, response.positions) == ([0], None)
    process.close()


def prints(line: str) -> str:
    return f"print({line!r}, flush=True)"


@pytest.mark.parametrize(
    ("instead", "rule", "words"),
    [
        (prints("ready"), Rule.LINE, "printed ready, which is no JSON"),
        (prints("ready"), Rule.LINE, "(logs go to standard error)"),
        (prints('{"id": 2, "position": []}'), Rule.FIELDS, "did you mean `positions`?"),
        (prints('{"id": 2, "error": {"nam": "E"}}'), Rule.FIELDS, "did you mean `name`?"),
        (
            prints('{"id": 2, "error": {"code": "E"}}'),
            Rule.FIELDS,
            "its fields are `name`, `message`",
        ),
        (prints('{"id": 2, "records": [{"ofset": 1}]}'), Rule.FIELDS, "did you mean `offset`?"),
        (prints("[1]"), Rule.FIELDS, "[1], which is no response"),
        (prints("[INFO] ready"), Rule.LINE, "[INFO] ready, which is no JSON"),
        (prints('{"id": 99}'), Rule.ID, "with the id 99, not 2"),
        (prints("{}"), Rule.FIELDS, "`id`"),
        (prints('{"id": 2, "records": [{}]}'), Rule.FIELDS, "records[0]"),
        (prints('{"id": 2.5}'), Rule.FIELDS, "id"),
        (prints('{"id": 2, "assigned": [-1]}'), Rule.FIELDS, "assigned[0]"),
        ("print('{\"id\": 2' + 'x' * 20_000_000, flush=True)", Rule.LINE, "more than"),
        ("os.write(1, b'\\xff\\xfe\\n')", Rule.LINE, "\\xff"),
        ('os.write(1, b\'{"id": 2, "client": "\\xff"}\\n\')', Rule.FIELDS, "utf-8"),
        ("sys.exit(0)", Rule.STAYS, "exited with status 0"),
        ("os.close(1)", Rule.STAYS, "closed its standard output"),
        ("pass", Rule.TIME, "has not responded within"),
        ("print('{\"id\": 2', end='', flush=True)", Rule.TIME, "has not responded within"),
        (
            "while True: time.sleep(0.1); print('x', end='', flush=True)",
            Rule.TIME,
            "has not responded within",
        ),
    ],
)
def test_a_rule_that_is_broken_is_named(
    start: Any, monkeypatch: pytest.MonkeyPatch, instead: str, rule: Rule, words: str
) -> None:
    monkeypatch.setattr("extras.conform.guest._END_SECONDS", 0.5)
    text = LOOP + f"    if request['do'] == 'poll':\n        {instead}\n        continue\n" + REPLY
    process = open_guest(start(text))
    if rule is Rule.TIME:
        process.response_seconds = 1  # Python starts within the longer limit.
    with pytest.raises(BrokenRuleError) as found:
        process.ask("poll", timeout_ms=100)
    assert found.value.rule is rule
    assert words in str(found.value)
    assert "guest@tiny (g#1)" in str(found.value)
    assert '{"id": 2, "do": "poll", "timeout_ms": 100}' in str(found.value)
    with pytest.raises(BrokenRuleError, match="poll"):
        process.ask("commit")


def test_a_guest_that_closed_its_input_is_refused(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extras.conform.guest._END_SECONDS", 0.5)
    answered = prints('{"id": 2}')
    closes = f"        os.close(0); {answered}; time.sleep(60)\n"
    process = open_guest(start(LOOP + "    if request['do'] == 'poll':\n" + closes + REPLY))
    process.ask("poll", timeout_ms=100)
    with pytest.raises(BrokenRuleError, match="closed its standard input"):
        process.ask("commit")


@pytest.mark.parametrize("end", ["kill", "leave"])
def test_what_a_guest_started_ends_with_it(start: Any, end: str) -> None:
    starts = (
        "import subprocess; subprocess.Popen(['sleep', '600'], stdin=subprocess.DEVNULL,"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    )
    process = open_guest(start(starts + LOOP + REPLY))
    inner = psutil.Process().children(recursive=True)
    (started,) = [child for child in inner if child.cmdline() == ["sleep", "600"]]
    getattr(process, end)()
    psutil.wait_procs([started], timeout=10)
    assert not started.is_running()


def test_a_request_is_shown_to_its_end(start: Any) -> None:
    process = start("input(); print('ready')")
    with pytest.raises(BrokenRuleError, match="the last field"):
        process.ask("open", settings={"some": "x" * 500}, topic="the last field")


def test_what_a_guest_says_at_its_end_is_its_clients_error(
    start: Any, said_lines: list[str]
) -> None:
    ending = "    if request['do'] == 'poll':\n        sys.exit('out of ideas')\n"
    process = open_guest(start(LOOP + ending + REPLY))
    for do in ("poll", "commit", "close"):
        with pytest.raises(ReportedError, match=r"GuestExited: status 1.*\nout of ideas"):
            process.ask(do)
    assert said_lines == ["out of ideas"]


def test_a_line_too_many_is_found_at_the_next_request(start: Any) -> None:
    twice = "    if request['do'] == 'poll':\n        print(json.dumps(response))\n"
    process = open_guest(start(LOOP + twice + REPLY))
    process.ask("poll")
    with pytest.raises(BrokenRuleError, match=r"no request asked|with the id 2, not 3") as found:
        process.ask("commit")
    assert found.value.rule is Rule.ID


def test_a_line_too_many_is_found_at_the_end(start: Any) -> None:
    process = open_guest(start(LOOP + REPLY + "print('bye')"))
    with pytest.raises(BrokenRuleError, match="no request asked for: bye"):
        process.close()


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("sys.exit(3)", "ended with status 3, not with"),
        ("os.kill(os.getpid(), 9)", "ended with signal 9, not with"),
        ("time.sleep(60)", "did not exit within"),
    ],
)
def test_a_guest_exits_with_status_0(
    start: Any, monkeypatch: pytest.MonkeyPatch, last: str, words: str
) -> None:
    monkeypatch.setattr("extras.conform.guest._END_SECONDS", 2)
    process = open_guest(start(LOOP + REPLY + last))
    with pytest.raises(BrokenRuleError, match=words) as found:
        process.close()
    assert found.value.rule is Rule.EXIT


def test_a_guest_has_its_own_environment(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "beside.py").write_text("NAME = 'tiny'")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    showing = """
    import beside
    seen = [beside.NAME, os.environ.get("PYTHONSAFEPATH"), os.environ["PYTHONPATH"], os.getcwd()]
    if request["do"] == "poll":
        response["error"] = {"name": json.dumps(seen)}
"""
    process = open_guest(start(LOOP + showing + REPLY))
    error = process.ask("poll").error
    assert json.loads(error.name) == ["tiny", None, "/nowhere", str(tmp_path)]


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    guest = Guest(name="tiny", command=["./nowhere"], folder=str(tmp_path))
    process = GuestProcess(guest, "g#1", log=print)
    with pytest.raises(ReportedError, match="status 127"):
        process.ask("open")


READING = """
import json, sys
RECORDS = json.loads(sys.argv[1])
for line in sys.stdin:
    request = json.loads(line)
    response = {"id": request["id"]}
    if request["do"] == "open":
        response |= {"client": "tiny", "version": "1.0"}
    elif request["do"] == "close":
        pass
    else:
        response |= RECORDS[request["do"]].pop(0)
    print(json.dumps(response), flush=True)
    if request["do"] == "close":
        break
"""


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "guest.py").write_text(READING)
    opened_ones: list[GuestMember] = []

    def make(polls: list[Any], commits: list[Any] = [], **of: Any) -> GuestMember:  # noqa: B006
        script = json.dumps({"poll": polls, "commit": commits})
        command = [sys.executable, "guest.py", script]
        guest = Guest(name="tiny", command=command, folder=str(tmp_path))
        planned = Member(group="g", member="g#1", topic="orders", reset="earliest", **of)
        history = HistoryWriter(tmp_path / "history" / "w.jsonl")
        log = open_log(tmp_path / "client.log")
        consumer = GuestMember(planned, "b:9092", history, guest=guest, log=log)
        opened_ones.append(consumer)
        return consumer

    yield make
    for consumer in opened_ones:
        consumer.end()


def record(partition: int, offset: int, **epoch: int) -> dict[str, Any]:
    return {"partition": partition, "offset": offset, "value": f"w:{offset}", **epoch}


def at(partition: int, offset: int, **epoch: int) -> dict[str, Any]:
    return {"partition": partition, "offset": offset, **epoch}


def changes(folder: Path) -> list[tuple[str, int, int | None]]:
    rows = read_histories(folder / "history").of("group_events")
    return [(row["change"], row["partition"], row["position"]) for row in rows]


ORDER = MemberCommit(member="g#1", commit_epoch=CommitEpoch.RECORD)


def test_what_a_guest_shows_is_recorded(member: Any, tmp_path: Path) -> None:
    polls = [
        {"assigned": [0, 1], "positions": [at(0, 0)], "rebalanced": [0, 1]},
        {
            "records": [record(0, 0, epoch=3), record(0, 1, epoch=3), record(1, 7)],
            "assigned": [0, 1],
            "positions": [at(0, 2, epoch=3), at(1, 8)],
        },
        {"assigned": [0], "positions": [at(0, 2)]},
    ]
    commits = [{"committed": [at(0, 2, epoch=3)]}]
    consumer = member(polls, commits)
    ends = [LogEnd(topic="orders", partition=0, offset=2)]
    assert consumer.consume(
        [*ends, LogEnd(topic="orders", partition=1, offset=9)], timeout_seconds=9
    ) == ("caught_up")
    assert consumer.commit(ORDER) == Outcome.OK
    consumer.close()
    assert changes(tmp_path) == [
        ("opened", -1, None),
        ("assigned", 0, 0),
        ("assigned", 1, None),
        ("revoked", 1, None),
        ("caught_up", 0, 2),
        ("closed", -1, None),
    ]
    rows = read_histories(tmp_path / "history")
    polled = [(row["partition"], row["offset"], row["leader_epoch"]) for row in rows.of("polls")]
    assert polled == [(0, 0, 3), (0, 1, 3), (1, 7, -1)]
    (commit,) = rows.of("commits")
    assert (commit["offset"], commit["committed_epoch"], commit["record_epoch"]) == (2, 3, 3)
    (history,) = rows.of("histories")
    assert history["client_version"] == "tiny 1.0"


def test_a_guest_is_not_judged_by_what_it_does_not_show(member: Any, tmp_path: Path) -> None:
    polls: list[Any] = [{}, {"records": [record(0, 4)]}, {"records": [record(1, 5)]}]
    one = member(polls, [{}, {"unsupported": True}], level=Level.DELIVERS)
    ends = [LogEnd(topic="orders", partition=number, offset=5 + number) for number in (0, 1)]
    assert one.consume(ends, timeout_seconds=9) == "caught_up"
    assert (one.commit(ORDER), one.commits) == (Outcome.OK, 1)
    assert (one.commit(ORDER), one.commits) == (Outcome.NOTHING, 1)
    one.close()
    assert changes(tmp_path) == [("opened", -1, None), ("closed", -1, None)]
    rows = read_histories(tmp_path / "history")
    assert [row["offset"] for row in rows.of("polls")] == [4, 5]
    assert rows.of("commits") == []


@pytest.mark.parametrize(
    ("response", "rows"),
    [
        ({"committed": [at(0, 1), at(1, 5)]}, [("ok", 0, 1), ("ok", 1, 5)]),
        ({}, [("ok", 0, None)]),
        ({"committed": []}, []),
        ({"error": {"name": "NotCoordinator"}}, [("unknown", 0, None)]),
        ({"error": {"name": "IllegalGeneration", "definite": True}}, [("failed", 0, None)]),
    ],
)
def test_a_guest_without_assignments_shows_what_it_was_asked_to_commit(
    member: Any, tmp_path: Path, response: Any, rows: Any
) -> None:
    consumer = member([{"records": [record(0, 0)]}], [response], level=Level.COMMITS)
    consumer.take(1, timeout_seconds=9)
    consumer.commit(ORDER)
    consumer.close()
    found = read_histories(tmp_path / "history").of("commits")
    assert [(row["outcome"], row["partition"], row["offset"]) for row in found] == rows
    assert all(row["began_micros"] <= row["committed_micros"] for row in found)


def test_a_commit_of_a_partition_that_a_guest_has_lost_is_recorded(
    member: Any, tmp_path: Path
) -> None:
    polls = [{"records": [record(0, 0)], "assigned": [0], "positions": [at(0, 1)]}]
    consumer = member(polls, [{"committed": [at(0, 1), at(1, 5)]}])
    consumer.take(1, timeout_seconds=9)
    consumer.commit(ORDER)
    found = read_histories(tmp_path / "history").of("commits")
    assert [(row["partition"], row["offset"]) for row in found] == [(0, 1), (1, 5)]


def test_a_commit_of_nothing_is_none_at_each_level(member: Any) -> None:
    consumer = member([{"records": [record(0, 0)]}], [{"committed": []}], level=Level.COMMITS)
    consumer.take(1, timeout_seconds=9)
    assert (consumer.commit(ORDER), consumer.commits) == (Outcome.NOTHING, 0)


@pytest.mark.parametrize("level", [Level.COMMITS, Level.POSITIONS])
def test_a_guest_shows_what_its_level_says(member: Any, level: Level) -> None:
    consumer = member(
        [{"records": [record(0, 0)], "assigned": [0]}], [{"unsupported": True}], level=level
    )

    def read_and_commit() -> None:
        consumer.take(1, timeout_seconds=9)
        consumer.commit(ORDER)

    with pytest.raises(BrokenRuleError, match=f"of the level {level}") as found:
        read_and_commit()
    assert found.value.rule is Rule.LEVEL


def test_partitions_are_assigned_again_in_the_history_too(member: Any, tmp_path: Path) -> None:
    polls: list[Any] = [
        {"assigned": [0, 1], "positions": [at(0, 0), at(1, 0)], "rebalanced": True},
        {"assigned": [0, 1], "positions": [at(0, 0), at(1, 0)], "rebalanced": [1]},
        {"assigned": [0, 1], "positions": [at(0, 0), at(1, 0)], "rebalanced": True},
        {
            "records": [record(0, 0), record(0, 1)],
            "assigned": [0],
            "positions": [at(0, 2)],
            "rebalanced": [0],
        },
    ]
    one = member(polls)
    one.take(1, timeout_seconds=9)
    one.close()
    assert changes(tmp_path)[1:-1] == [
        ("assigned", 0, 0),
        ("assigned", 1, 0),
        ("assigned", 1, 0),
        ("assigned", 0, 0),
        ("assigned", 1, 0),
        ("assigned", 0, 0),
        ("revoked", 1, None),
    ]


@pytest.mark.parametrize(
    ("response", "outcome", "offset", "epoch"),
    [
        ({}, "ok", 1, -1),
        ({"committed": [at(0, 1, epoch=2)]}, "ok", 1, 2),
        ({"committed": [at(0, 7)]}, "ok", 7, -1),
        ({"committed": []}, "nothing", None, -1),
        ({"error": {"name": "NotCoordinator"}}, "unknown", 1, -1),
        ({"error": {"name": "UnknownMember", "definite": True}}, "failed", 1, -1),
    ],
)
def test_a_commit_is_what_the_guest_reports(
    member: Any, tmp_path: Path, response: Any, outcome: str, offset: int | None, epoch: int
) -> None:
    poll = {"records": [record(0, 0, epoch=2)], "assigned": [0], "positions": [at(0, 1)]}
    consumer = member([poll], [response])
    consumer.take(1, timeout_seconds=9)
    assert consumer.commit(ORDER) == outcome
    (row,) = read_histories(tmp_path / "history").of("commits")
    assert (row["outcome"], row["offset"], row["committed_epoch"]) == (outcome, offset, epoch)


def test_an_error_of_the_client_names_its_partition(member: Any, tmp_path: Path) -> None:
    error = {"name": "OffsetOutOfRange", "message": "9", "partition": 1, "offset": 9}
    consumer = member([{"error": error}, {"assigned": [0], "positions": [at(0, 0)]}])
    ends = [LogEnd(topic="orders", partition=0, offset=0)]
    assert consumer.consume(ends, timeout_seconds=9) == "failed"
    assert consumer.consume(ends, timeout_seconds=9) == "caught_up"
    rows = read_histories(tmp_path / "history").of("group_events")
    (row,) = [row for row in rows if row["change"] == "failed"]
    assert (row["exception"], row["topic"], row["partition"], row["position"]) == (
        "OffsetOutOfRange",
        "orders",
        1,
        9,
    )


def test_a_member_polls_on_after_an_error_that_its_client_handles(
    member: Any, tmp_path: Path
) -> None:
    errors = [{"error": {"name": name}} for name in ("_TRANSPORT", "BrokerTransportFailure")]
    consumer = member([*errors, {"assigned": [0], "positions": [at(0, 0)]}])
    ends = [LogEnd(topic="orders", partition=0, offset=0)]
    assert consumer.consume(ends, timeout_seconds=9) == "caught_up"
    rows = read_histories(tmp_path / "history").of("group_events")
    raised = [row["exception"] for row in rows if row["change"] == "failed"]
    assert raised == ["_TRANSPORT", "BrokerTransportFailure"]


@pytest.mark.parametrize(
    ("name", "handled"),
    [
        ("_TRANSPORT", True),
        ("ErrTransport", True),
        ("AllBrokersDown", True),
        ("NOT_LEADER_FOR_PARTITION", True),
        ("Broker: Leader not available", True),
        ("org.apache.TimedOutException", True),
        ("AutoOffsetReset", False),
        ("_FATAL", False),
    ],
)
def test_the_errors_that_a_client_handles_have_any_binding_s_name(
    name: str, *, handled: bool
) -> None:
    assert is_transient(Reported(name=name)) is handled


POLLED = """
    if request["do"] == "poll":
        open("polled", "w").close()
        break
"""


def test_a_guest_that_breaks_a_rule_while_it_reads_on_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "guest.py").write_text(LOOP + POLLED + REPLY)
    guest = Guest(name="tiny", command=[sys.executable, "guest.py"], folder=str(tmp_path))
    plan = make_struct(WorkerPlan, worker="w", log=str(tmp_path / "log"))
    role = GuestRole(plan, HistoryWriter(tmp_path / "history" / "w.jsonl"), guest=guest)
    role.open_members([Member(group="g", member="g#1", topic="orders", reset="earliest")])
    role.start_consuming(["g#1"], commit_epoch=CommitEpoch.RECORD, commit_interval_ms=1000)
    wait_until((tmp_path / "polled").exists, what="a poll", timeout_seconds=20)
    with pytest.raises(WorkerError, match=r"g#1 polled no longer: .*exited with status 0 before"):
        role.stop_consuming(["g#1"])
