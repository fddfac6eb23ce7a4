"""What `fencepost guest check` says: of a trial, of its command, and the page that it checks by."""

import json
import re
import sys
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest

from contract.errors import UsageError
from contract.software import Guest, Level
from extras.conform import guest_command as command
from extras.conform.guest import Asked, GuestProcess, Response, Rule
from extras.conform.guests.plays import Plays
from extras.conform.guests.trial import RULES, Trial, broken_by
from harness.commands.options import require_guest

PAGE = Path(__file__).parents[3] / "docs" / "guests.md"


def make_trial(*kept: str, **broken: str) -> Trial:
    return Trial(
        client="tiny",
        version="1.0",
        level=Level.COMMITS,
        lacks={"reset none": "Unsupported: it resets"},
        kept=list(kept),
        broken=broken,
    )


@pytest.mark.parametrize(
    ("found", "of_request", "rule"),
    [
        (Rule.LINE, "settings", Rule.LINE),
        (Rule.FIELDS, "unknown fields", Rule.FIELDS),
        (Rule.STAYS, "settings", "settings"),
        (Rule.TIME, "", Rule.TIME),
    ],
)
def test_a_malformed_response_leaves_its_rule_untried(
    found: Rule, of_request: str, rule: str
) -> None:
    assert broken_by(found, of_request) == rule


@pytest.mark.parametrize(("found", "plays"), [(Rule.STAYS, 3), (Rule.LINE, 3), (Rule.TIME, 1)])
def test_what_breaks_all_plays_is_named_once_and_none_waits_again(found: Rule, plays: int) -> None:
    answer = Asked(response=None, took_ms=1, rule=found, problem="why")
    worker, trial = Mock(), Trial()
    worker.call.return_value = dict.fromkeys(("reading#1", "settings#1", "ends#1"), answer)
    Plays(Mock(), worker, trial, Mock(values={})).carry_out(("reads", "settings", "ends"))
    assert trial.broken == {found: "why"}
    assert worker.call.call_count == 2 * plays


def test_a_level_is_shown_only_if_no_rule_is_broken() -> None:
    assert make_trial("records").reached == "level commits"
    assert make_trial("records", commit="why").reached == "up to level commits"
    assert make_trial("line", records="why").reached == "no level shown"
    assert (make_trial("records").proved, make_trial(commit="why").proved) == (Level.COMMITS, None)


def test_a_trial_is_printed_as_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command._show(make_trial("line", "records", commit="stored [nothing]"))  # noqa: SLF001
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["rule", "the", "guest", "..."]
    rules, said = lines[: len(RULES)], lines[len(RULES) :]
    outcomes = {line[: line.index("  ")]: line.split("  ", 1)[1].split()[0] for line in rules}
    assert list(outcomes) == list(RULES)
    assert (outcomes["line"], outcomes["commit"], outcomes["latest"]) == (
        "kept",
        "broken",
        "untried",
    )
    assert said == [
        "broken commit: stored [nothing]",
        "lacks reset none: Unsupported: it resets",
        "tiny 1.0: breaks commit; up to level commits",
    ]


def test_a_trial_is_described_as_json() -> None:
    described = json.loads(msgspec.json.encode(command._as_json(make_trial("line", commit="none"))))  # noqa: SLF001
    rules = {rule["rule"]: (rule["outcome"], rule["why"]) for rule in described.pop("rules")}
    assert list(rules) == list(RULES)
    assert rules["line"] == ("kept", "")
    assert rules["commit"] == ("broken", "none")
    assert described == {
        "client": "tiny",
        "version": "1.0",
        "level": None,
        "lacks": {"reset none": "Unsupported: it resets"},
    }


@pytest.mark.parametrize(
    ("program", "mode", "words"),
    [
        ("./guest.c", 0o644, "./guest.c is not executable"),
        ("guest.c", 0o644, "guest.c is not executable"),
        ("a-guest-of-mine", 0o755, "that of this folder is ./a-guest-of-mine"),
        ("./nowhere", None, "there is no program ./nowhere that could be started"),
    ],
)
def test_a_program_that_can_not_be_started_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, mode: int | None, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if mode is not None:
        Path(program).write_text("#!/bin/sh\n")
        Path(program).chmod(mode)
    with pytest.raises(UsageError, match=re.escape(words)):
        require_guest([program])


def test_each_response_of_the_page_is_one() -> None:
    text = re.sub(r"\n   +", " ", PAGE.read_text())
    responses = re.findall(r"^< (\{.*\})$", text, re.MULTILINE)
    assert len(responses) == 5
    for response in responses:
        msgspec.json.decode(response, type=Response)


def test_the_guest_of_the_page_runs_without_a_broker(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "guest.py").write_text(program)
    own = Guest(name="page", command=[sys.executable, "guest.py"], folder=str(tmp_path))
    fields = {
        "bootstrap": "127.0.0.1:1",
        "group": "g",
        "member": "g#1",
        "topic": "orders",
        "reset": "none",
        "isolation": "read_committed",
        "commit": "explicit",
    }
    refused = GuestProcess(own, "g#1", log=print)
    error = refused.ask("open", **fields, settings={"no.such": 1}).error
    refused.kill()
    assert error is not None
    assert error.name == "_INVALID_ARG"
    process = GuestProcess(own, "g#2", log=print)
    assert process.ask("open", **fields, settings={}).client == "librdkafka"
    assert process.ask("poll", timeout_ms=100).records == []
    assert process.ask("commit").committed == []
    process.close()
