"""ducktape's runner listens to this session's processes only, and drops none of its tests."""

import multiprocessing
import os
import pickle
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from ducktape.command_line import main
from ducktape.errors import TimeoutError as UnresponsiveError
from ducktape.tests import runner, runner_client

from cluster.reports import PIPE, lines_of, reports
from contract.errors import NodeError, UsageError
from contract.nights import SESSION_FILE
from contract.run_folder import find_runs
from harness.invocation import Session
from harness.session import ducktape_session, hang
from harness.session.catalog import read_scenario
from harness.session.ducktape_session import DucktapeSession, run_ducktape
from harness.session.node_root import node_root
from harness.session.runner import LocalReceiver, LocalRunner, SealedMessages, WholeLoader
from tests.made import make_struct

EVENT = {"event_type": "READY", "test_id": "t"}
STORY = '''"""A question?"""
import json
import os
from pathlib import Path

import msgspec
import psutil
from ducktape.mark import matrix
from ducktape.tests.test_context import TestContext

from cluster.kafka.topology import Topology
from contract.errors import UsageError
from cluster.refusal import refuse
from contract.run_folder import RunFolder
from harness.story.scenario import Scenario


class Own(Scenario):
    topology = Topology(brokers=1)
    must_judge = ()

    @matrix(way=WAYS)
    def test_own(self, way):
        print("no report is read from a line that begins so: ", end="", flush=True)
        if way == "early":
            raise ValueError("before its run")
        if way == "refused":
            refuse(mistake := UsageError("own_test.py:7: there is no topic 'x'"))
            raise mistake
        folder = RunFolder(Path(TestContext.results_dir(self.test_context, 0)))
        plan = self._plan([], [], [], [], [])
        folder.write_plan(plan)
        if way == "killed":
            os.kill(os.getpid(), 9)
        run = self._describe(plan, self.topology, None)
        if way in ("signal", "exit"):
            folder.write_run(run)
            os._exit(3) if way == "exit" else os.kill(os.getpid(), 9)
        if way == "full":
            folder.write_run(run)
            raise OSError(28, "No space left on device", "/d/run.json")
        if way == "half":
            folder.write_run(msgspec.structs.replace(run, ended_micros=1, error="\\udcff"))
            raise ValueError("half \\udcff of a \\ud800 pair")
        folder.write_run(msgspec.structs.replace(run, ended_micros=run.started_micros))
        if way == "late":
            raise ValueError("after its run")
        tree = psutil.Process(os.getppid())
        listening = [
            one.laddr.ip
            for process in (tree, *tree.children(recursive=True))
            for one in process.net_connections()
            if one.status == psutil.CONN_LISTEN
        ]
        (folder.path / "listening").write_text(json.dumps(sorted(set(listening))))
'''


class Planted:
    """What runs code where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._mark,)


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalReceiver]:
    monkeypatch.setattr(runner_client, "SerDe", SealedMessages)
    made = LocalReceiver(1, 1)
    made.serde = SealedMessages()
    made.start()
    yield made
    made.close()


def send_to(receiver: LocalReceiver, content: bytes) -> Any:
    """A stranger's socket that has sent this."""
    stranger = zmq.Context.instance().socket(zmq.REQ)
    stranger.setsockopt(zmq.LINGER, 0)
    stranger.connect(f"tcp://127.0.0.1:{receiver.port}")
    stranger.send(content)
    return stranger


def test_reports_of_several_processes_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is longer than what a pipe takes at once."""
    pipe = tmp_path / "reports"
    monkeypatch.setenv(PIPE, str(pipe))
    code = "import sys; from cluster.reports import report; report(sys.argv[1] * 200_000)"
    stdout, said = os.pipe()
    with reports(pipe) as end:
        started = [
            subprocess.Popen([sys.executable, "-c", code, name], stdout=said) for name in "abc"
        ]
        os.close(said)
        read = sorted(line for line, is_report in lines_of(stdout, end) if is_report)
    os.close(stdout)
    assert [process.wait() for process in started] == [0, 0, 0]
    assert read == [name * 200_000 for name in "abc"]


@pytest.mark.parametrize("kind", ["pickle", "changed", "another key", "short", "empty"])
def test_what_a_stranger_sends_is_never_unpickled(
    receiver: LocalReceiver, kind: str, tmp_path: Path
) -> None:
    mark = tmp_path / "it ran"
    planted = pickle.dumps(Planted(mark))
    sealed = SealedMessages().serialize(Planted(mark))
    content = {
        "pickle": planted,
        "changed": sealed[:-2] + b"\0" + sealed[-1:],
        "another key": bytes(32) + planted,
        "short": planted[:20],
        "empty": b"",
    }[kind]
    stranger = send_to(receiver, content)
    assert receiver.socket.poll()
    with pytest.raises(UnresponsiveError):
        receiver.recv(timeout=200)
    assert stranger.recv() == b""
    stranger.close()
    assert not mark.exists()
    with pytest.raises(NodeError, match="without the seal"):
        SealedMessages().deserialize(content)
    assert not mark.exists()


def test_a_stranger_does_not_keep_the_runner_from_its_own(receiver: LocalReceiver) -> None:
    strangers = [send_to(receiver, b"x" * 100) for _ in range(20)]
    mine = send_to(receiver, SealedMessages().serialize(EVENT))
    assert receiver.recv() == EVENT
    for sender in (*strangers, mine):
        sender.close()


def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_endless: bool = False, **files: str
) -> DucktapeSession:
    monkeypatch.setattr(ducktape_session, "_record_class_data", lambda *_: None)
    for name, text in files.items():
        (tmp_path / f"{name}_test.py").write_text(text)
    chosen = [read_scenario(tmp_path / f"{name}_test.py") for name in files]
    session = make_struct(Session, seed=1, kafka="4.4.0", cluster="loopback", is_endless=is_endless)
    results = tmp_path / "results"
    with node_root(results) as root:
        return run_ducktape(chosen, session, results=results, root=root, on_phase=print)


def with_ways(*ways: str) -> str:
    return STORY.replace("WAYS", repr(list(ways)))


@pytest.fixture(scope="module")
def mixed_session(tmp_path_factory: pytest.TempPathFactory) -> DucktapeSession:
    """A session of scenarios that fail in ways that leave the others theirs."""
    ways = with_ways("whole", "early", "late", "refused", "half", "full")
    with pytest.MonkeyPatch.context() as patch:
        return ran(tmp_path_factory.mktemp("mixed"), patch, own=ways)


def errors_of(session: DucktapeSession) -> dict[str, str]:
    runs = find_runs(session.folder)
    return {run.plan().parameters["way"]: run.run().error or "" for run in runs}


def test_a_session_listens_on_no_other_address(mixed_session: DucktapeSession) -> None:
    (listening,) = mixed_session.folder.rglob("listening")
    assert listening.read_text() == '["127.0.0.1"]'


def test_a_session_without_an_end_is_not_taken_for_hung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a playground is, which stays in one phase until it is asked to end."""
    monkeypatch.setattr(hang, "HUNG_AFTER", 0)
    ended = ran(tmp_path, monkeypatch, own=with_ways("whole"), is_endless=True)
    assert (ended.exit_code, ended.dropped) == (0, ())


def test_what_came_to_nothing_is_named(mixed_session: DucktapeSession) -> None:
    assert errors_of(mixed_session).keys() == {"whole", "late", "half", "full"}
    assert [sentence.partition("way=")[2] for sentence in mixed_session.dropped] == [
        "early has no run: ValueError('before its run')",
        "late failed after its run: ValueError('after its run')",
        "refused has no run: own_test.py:7: there is no topic 'x'",
    ]


def test_a_session_that_is_refused_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"own_test.py:7: there is no topic 'x'"):
        ran(tmp_path, monkeypatch, own=with_ways("refused"))
    assert [path.name for path in (tmp_path / "results").iterdir()] == [".nodes"]


def test_a_killed_scenario_takes_no_other_along_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = ran(tmp_path, monkeypatch, own=with_ways("killed", "whole", "late"))
    reported = [sentence.partition("way=")[2] for sentence in ended.dropped]
    assert reported[0].startswith("killed can't be judged: ")
    reason = "has no run: ducktape ended with 70 before it was its turn"
    assert reported[1:] == [f"late {reason}", f"whole {reason}"]


@pytest.mark.parametrize(
    ("way", "reported"),
    [
        ("signal", "the scenario's process was killed by signal 9 before it had collected all"),
        pytest.param(
            "exit",
            "the scenario's process ended by itself, with status 3, before it had collected",
            marks=pytest.mark.extended,
        ),
    ],
)
def test_a_process_that_ended_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, reported: str
) -> None:
    (run,) = find_runs(ran(tmp_path, monkeypatch, own=with_ways(way)).folder)
    assert (run.run().error or "").startswith(reported)


def test_a_process_that_can_not_write_its_end_says_so(mixed_session: DucktapeSession) -> None:
    reported = "the scenario's process could not write its end: OSError(28, 'No space left on"
    assert errors_of(mixed_session)["full"].startswith(reported)


def test_an_error_whose_text_has_no_code_in_utf8_is_escaped(mixed_session: DucktapeSession) -> None:
    errors = errors_of(mixed_session)
    assert (errors["half"], errors["whole"]) == (r"\udcff", "")
    said = (mixed_session.folder / SESSION_FILE).read_text()
    assert r"half \udcff of a \ud800 pair" in said


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        (
            {"own": with_ways("whole"), "other": with_ways("whole")},
            "Own.test_own {'way': 'whole'} of .*other_test.py and .*own_test.py have one name",
        ),
        (
            {
                "own": with_ways("whole"),
                "other": with_ways("whole").replace("def test_own", "def story"),
            },
            "no test was found in .*other_test.py: a scenario is a method",
        ),
    ],
)
def test_tests_of_one_name_are_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], reported: str
) -> None:
    with pytest.raises(UsageError, match=reported):
        ran(tmp_path, monkeypatch, **files)
    assert not list((tmp_path / "results").glob("*/Own"))


def test_a_process_that_is_started_anew_has_the_key_and_the_classes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where multiprocessing does not fork: it imports the program's module again."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        sealed = pool.apply(SealedMessages().serialize, (EVENT,))
    assert SealedMessages().deserialize(sealed) == EVENT
    for module, name in (
        (runner, "Receiver"),
        (runner, "SerDe"),
        (runner_client, "SerDe"),
        (runner_client, "RunnerClient"),
        (main, "TestRunner"),
        (main, "TestLoader"),
    ):
        monkeypatch.setattr(module, name, None)
    # pytest's own finder has no code of modules for runpy.
    finders = [
        finder for finder in sys.meta_path if type(finder).__name__ != "AssertionRewritingHook"
    ]
    monkeypatch.setattr(sys, "meta_path", finders)
    runpy.run_module("harness.session.ducktape_program", run_name="__mp_main__")
    assert runner.Receiver is LocalReceiver
    assert runner.SerDe is runner_client.SerDe is SealedMessages
    assert (main.TestRunner, main.TestLoader) == (LocalRunner, WholeLoader)
