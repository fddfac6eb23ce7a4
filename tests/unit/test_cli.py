"""What the command line answers to good and bad words."""

import json
import os
import signal
from importlib.metadata import version
from pathlib import Path

import pytest

from contract.software import released
from contract.terms import Check
from harness.commands import judging, run
from harness.nightly.suite import suite_names
from harness.session.ducktape_session import DucktapeSession
from tests.conftest import Fencepost
from tests.programs import ran_python

ROOT = Path(__file__).resolve().parents[2]


def test_without_a_command_the_help_is_all(fencepost: Fencepost) -> None:
    ended = fencepost()
    assert (ended.returncode, ended.stderr) == (64, "")
    assert "Exit codes: 0 pass, 1 fail" in " ".join(ended.stdout.split())


def test_a_call_in_this_process_leaves_its_signals_as_they_were(fencepost: Fencepost) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    fencepost("--version")
    after = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    assert after == before


def test_the_version_is_that_of_the_package(fencepost: Fencepost) -> None:
    ended = fencepost("--version")
    assert (ended.returncode, ended.stdout) == (0, f"fencepost {version('fencepost')}\n")


def test_list_as_json_has_each_question_and_its_parameters(fencepost: Fencepost) -> None:
    listed = {
        scenario["name"]: scenario
        for scenario in json.loads(fencepost("list", "--json").stdout)["scenarios"]
    }
    assert listed["baseline"]["question"].endswith("?")
    assert listed["baseline"]["parameters"] == [{}]
    assert {"recipe": "pause"} in listed["zombie_leader"]["parameters"]


@pytest.mark.parametrize(
    ("kind", "word", "reported"),
    [
        ("checks", "acknowledged record is not", "lost_record "),
        ("verbs", "await_acknowledged", "run.workload.await_acknowledged(producers, more, "),
        ("faults", "SIGKILL", "Kill(target) "),
        ("settings", "topic retention.MS", "topic retention.ms "),
        ("clients", "PLATFORMATIC", "@platformatic/kafka "),
        ("scenarios", "healthy cluster", "baseline "),
    ],
)
def test_list_has_a_line_for_each_that_has_a_word(
    fencepost: Fencepost, kind: str, word: str, reported: str
) -> None:
    head, *lines = fencepost("list", kind, word).stdout.splitlines()
    assert head.startswith(kind.removesuffix("s"))
    assert any(line.startswith(reported) for line in lines)
    assert all(word.lower() in line.lower() for line in lines)
    assert json.loads(fencepost("list", kind, word, "--json").stdout).keys() == {kind}


def test_every_check_is_listed(fencepost: Fencepost) -> None:
    lines = fencepost("list", "checks").stdout.splitlines()[1:]
    assert [line.split()[0] for line in lines if line[0] != " "] == list(Check)


def test_usage_names_the_program_as_it_is_installed() -> None:
    words = ("-m", "harness", "versions", "fetch", "--help")
    shown = ran_python(*words, cwd=ROOT, env={**os.environ, "COLUMNS": "200"}).stdout
    assert "Usage: fencepost versions fetch [" in shown
    assert "python -m" not in shown


def test_doctor_names_the_pools(fencepost: Fencepost) -> None:
    reported = fencepost("doctor").stdout
    assert "embedded pool" in reported
    assert "usable:" in reported
    assert "faults: bounce, " in reported


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("run", "nonsense"), 64, "fencepost list"),
        (("run", "baseline", "--kafka", "1.2.3"), 69, "fencepost versions lock 1.2.3"),
        (("run", "baseline", "--cluster", "cloud"), 64, "embedded"),
        (("run", "baseline", "--guest", "x=cat"), 64, "no group of these scenarios uses guest@x"),
        (("run", "baseline", "--seed", "99999999999"), 64, "31 bits"),
        (("run", "baseline", "--parameters", "{"), 64, "not JSON"),
        (("analyze", "hdfs://host/run", "--conf", "memory"), 64, "expected KEY=VALUE"),
        (("run", "baseline", "--results", "s3a://bucket/run"), 64, "s3a://bucket/run is not on"),
        (("nightly", "--results", "hdfs:///runs"), 64, "hdfs:///runs is not on this machine"),
        (("generate", "s3a://bucket/run"), 64, "s3a://bucket/run is not on this machine"),
        (("explain", "s3a://bucket/run", "lost_record"), 64, "s3a://bucket/run is not on this"),
        (("play", "start", "--results", "s3a://bucket"), 64, "s3a://bucket is not on this machine"),
        (("run", "baseline", "--parameters", "[1]"), 64, "must be a JSON object"),
        (("run", "baseline", "--parameters", ""), 64, "not JSON"),
        (("run", "baseline", "--parameters", '{"x": 1}'), 64, "it declares none"),
        (("run", "unclean_election", "--parameters", '{"successor": "x"}'), 64, '"eligible"'),
        (("run", "baseline", "--kafka", "latest"), 64, "a version such as 4.4.0"),
        (("run", "baseline", "--client-version", "x"), 64, "--client-version takes a version"),
        (("run", "baseline", "--client-version", "1.2.3"), 69, "fencepost versions lock 1.2.3"),
        (("run", "baseline", "--kafka-dir", "/nonexistent"), 64, "can't be read (No such file"),
        (("run", "baseline", "--kafka-dir", "docs"), 64, "no kafka_2.13 jar found there"),
        (("run", "baseline", "--client-jars", "docs"), 64, "has neither jars nor classes"),
        (("run", "baseline", "--client-jars", "s3a://b/x.jar"), 64, "is not on this machine"),
        (("run", "baseline", "--kafka", "4.4.0", "--kafka-dir", "x"), 64, "give one"),
        (("nightly", "--kafka-dir", "docs"), 64, "no kafka_2.13 jar found there"),
        (("run", "baseline", "--results", "/dev/null"), 64, "can't be written"),
        (("nightly", "--results", "/proc/x"), 64, "can't be written"),
        (("analyze", "x" * 5000), 64, "is no folder of runs"),
        (("nightly", "--suite", "nonsense"), 64, f"there are: {', '.join(suite_names())}"),
        (("nightly", "--seed", "99999999999"), 64, "31 bits"),
        (("nightly", "--hours", "0"), 64, "--hours takes a number above 0, and at most 168, not 0"),
        (("nightly", "--hours", "nan"), 64, "at most 168, not nan"),
        (("nightly", "--disk", "0"), 64, "--disk takes a number of gigabytes above 0, not 0"),
        (("nightly", "--on-end", "if"), 64, "--on-end takes a command of the shell"),
        (("clean", "nights", "--keep", "-1"), 64, "'--keep': Input should be greater than or"),
        (("analyze", "/nonexistent"), 64, "no run at or below"),
        (("run",), 64, "Missing argument 'names'"),
        (("run", "baseline", "baseline"), 64, "baseline: named twice"),
        (("run", "../README"), 64, "there is no scenario ../README"),
        (("run", "baseline", "--seed", "-1"), 64, "'--seed': Input should be greater than or"),
        (("run", "baseline", "--seed", "x"), 64, "'--seed': Input should be a valid integer"),
        (("run", "baseline", "--kafka"), 64, "Option '--kafka' requires an argument"),
        (("run", "baseline", "--kafka", "../4.4.0"), 64, "a version such as 4.4.0"),
        (("run", "baseline", "--parameters", "null"), 64, "must be a JSON object"),
        (("run", "baseline", "--results", "a,b"), 64, "has a comma, at which Kafka splits"),
        (("run", "baseline", "--client-jars", "/nonexistent"), 64, "does not exist"),
        (("nightly", "--seed", "-1"), 64, "'--seed': Input should be greater than or equal to 0"),
        (("nightly", "--nope"), 64, "No such option: --nope"),
        (("nightly", "--cluster", "cloud"), 64, "'--cluster': 'cloud' is not one of"),
        (("analyze",), 64, "Missing argument 'runs'"),
        (("analyze", "README.md"), 64, "no run at or below README.md"),
        (("open", "README.md"), 64, "README.md is no page"),
        (("explain", ".", "lost_record:x"), 64, "no run at or below"),
        (("generate", "/dev/null"), 64, "FOLDER /dev/null can't be written"),
        (("generate", "x", "--kind", "bogus"), 64, "the kinds of histories are clean"),
        (("generate", "x", "--events", "-5"), 64, "--events -5: a history has 1000 or more"),
        (("versions", "lock", "latest"), 64, "versions lock takes a version such as 4.4.0"),
        (("versions", "fetch", "../4.4.0"), 64, "versions fetch takes a version such as 4.4.0"),
        (("versions", "fetch", "1.2.3"), 69, "fencepost versions lock 1.2.3"),
        (("play", "start", "--kafka", "latest"), 64, "--kafka takes a version"),
        (("play", "stop"), 64, "no playground runs here"),
        (("play", "fault", "pause", "leader:orders-0"), 64, "no playground runs here"),
        (("play", "fault", "pause", "all", "--for", "soon"), 64, "'soon' is no duration"),
        (("play", "heal"), 64, "no playground runs here"),
        (("play", "heal", "pause", "leader:orders-0"), 64, "no playground runs here"),
        (("play", "status"), 64, "no playground runs here"),
        (("play", "status", "--watch"), 64, "no playground runs here"),
        (("play", "produce"), 64, "no playground runs here"),
        (("play", "produce", "--rate", "0"), 64, "'--rate'"),
        (("play", "consume", "--client", "sarama"), 64, "'--client': 'sarama' is not one of"),
        (("play", "start", "--topic", "t:1:9"), 64, "replication=9 has to be a number, 1 to 3"),
        (("play", "shell", "node-1"), 64, "no playground runs here"),
        (("doctor", "x"), 64, "unexpected extra argument"),
        (("frobnicate",), 64, "No such command"),
        (("open", "--results", "/nonexistent"), 64, "run a scenario first"),
        (("open", "/nonexistent"), 64, "fencepost analyze"),
        (("explain", "/nonexistent", "reset", "--all", "--json"), 64, "no run at or below"),
        (("explain", "/nonexistent/report/index.html#finding-reset-1"), 64, "no run at or below"),
    ],
)
def test_a_wrong_call_gets_a_code_and_one_sentence(
    arguments: tuple[str, ...],
    code: int,
    hint: str,
    fencepost: Fencepost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("docs", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    ended = fencepost(*arguments)
    assert ended.returncode == code, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: ")
    assert hint in " ".join(line.split())
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("dropped", "judged", "code"),
    [((), 0, 0), ((), 2, 2), (("own.T has no run: x [b]",), 0, 70), (("own.T ...",), 1, 70)],
)
def test_a_run_that_was_dropped_is_reported_and_never_a_pass(
    dropped: tuple[str, ...],
    judged: int,
    code: int,
    fencepost: Fencepost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = DucktapeSession(tmp_path, int(bool(dropped)), dropped)
    monkeypatch.setattr(run, "require_runs", lambda results, _: results)
    monkeypatch.setattr(run, "fetch_build", lambda *_: released("4.4.0"))
    monkeypatch.setattr(run, "run_ducktape", lambda *_, **__: session)
    monkeypatch.setattr(judging, "analyse_in_own_process", lambda *_, **__: judged)
    ended = fencepost("run", "baseline", "--results", str(tmp_path))
    assert ended.returncode == code
    reported = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert reported == [f"error: {sentence}" for sentence in dropped]
