"""A guest's lines: what a member makes of them, and which rule a program breaks."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contract.builds import Guest
from harness.clients.guest import BrokenRuleError, GuestProcess, Rule

OPENED = {"client": "tiny", "version": "1.0"}
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
def said() -> list[str]:
    return []


@pytest.fixture
def start(tmp_path: Path, said: list[str]) -> Iterator[Any]:
    started: list[GuestProcess] = []

    def program(text: str, *, response_seconds: float = 20) -> GuestProcess:
        file = tmp_path / "guest.py"
        file.write_text(text)
        guest = Guest(name="tiny", command=[sys.executable, "guest.py"], folder=str(tmp_path))
        process = GuestProcess(guest, "g#1", log=said.append, response_seconds=response_seconds)
        started.append(process)
        return process

    yield program
    for process in started:
        process.kill()


def opened(process: GuestProcess) -> GuestProcess:
    response = process.ask("open", topic="orders")
    assert (response.client, response.version) == ("tiny", "1.0")
    return process


def test_a_guest_responds_and_exits(start: Any) -> None:
    polling = """
    if request["do"] == "poll":
        response |= {"records": [{"partition": 0, "offset": 3, "value": "ü"}], "assigned": [0]}
"""
    process = opened(start(LOOP + polling + REPLY))
    response = process.ask("poll", timeout_ms=100)
    assert [(one.offset, one.value, one.epoch) for one in response.records] == [(3, "ü", -1)]
    assert (response.assigned, response.positions) == ([0], None)
    process.close()


@pytest.mark.parametrize(
    ("instead", "rule", "words"),
    [
        ("print('ready', flush=True)", Rule.LINE, "printed ready, which is no JSON"),
        ("print('[1]', flush=True)", Rule.FIELDS, "[1], which is no response"),
        ("print('{\"id\": 99}', flush=True)", Rule.ID, "with the id 99, not 2"),
        ("print('{}', flush=True)", Rule.FIELDS, "`id`"),
        ('print(\'{"id": 2, "position": []}\', flush=True)', Rule.FIELDS, "position"),
        ('print(\'{"id": 2, "records": [{}]}\', flush=True)', Rule.FIELDS, "records[0]"),
        ("print('{\"id\": 2.5}', flush=True)", Rule.FIELDS, "id"),
        ('print(\'{"id": 2, "assigned": [-1]}\', flush=True)', Rule.FIELDS, "assigned[0]"),
        ("print('{\"id\": 2' + 'x' * 20_000_000, flush=True)", Rule.LINE, "more than"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()", Rule.LINE, "\\xff"),
        (
            'sys.stdout.buffer.write(b\'{"id": 2, "client": "\\xff"}\\n\'); sys.stdout.flush()',
            Rule.FIELDS,
            "utf-8",
        ),
        ("sys.exit(0)", Rule.STAYS, "exited with status 0"),
        ("os.close(1)", Rule.STAYS, "closed its standard output"),
        ("pass", Rule.TIME, "has not responded within"),
        ("print('{\"id\": 2', end='', flush=True)", Rule.TIME, "has not responded within"),
    ],
)
def test_a_rule_that_is_broken_is_named(
    start: Any, monkeypatch: pytest.MonkeyPatch, instead: str, rule: Rule, words: str
) -> None:
    monkeypatch.setattr("harness.clients.guest._END_SECONDS", 0.5)
    text = LOOP + f"    if request['do'] == 'poll':\n        {instead}\n        continue\n" + REPLY
    process = opened(start(text, response_seconds=20 if rule is not Rule.TIME else 1))
    with pytest.raises(BrokenRuleError) as found:
        process.ask("poll", timeout_ms=100)
    assert found.value.rule is rule
    assert words in str(found.value)
    assert "guest@tiny (g#1)" in str(found.value)
    assert '{"id": 2, "do": "poll", "timeout_ms": 100}' in str(found.value)
    with pytest.raises(BrokenRuleError, match="poll"):
        process.ask("commit")
