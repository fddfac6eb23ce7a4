"""Whatever text a scenario has is written: what UTF-8 has no code for is escaped."""

from pathlib import Path

import msgspec
import pytest

from contract.encodable import as_json, encodable
from contract.errors import UsageError
from contract.refusal import refusal_in, refuse
from contract.run_folder import Plan, RunFolder
from contract.stages import Stage
from harness.clients.history import HistoryWriter
from harness.session.account import Failed, report
from harness.story.phases import PREFIX, Phases

HALVES = "half \udcff of a \ud800 pair, é"
ESCAPED = r"half \udcff of a \ud800 pair, é"


def test_only_what_has_no_code_is_escaped() -> None:
    assert encodable(HALVES) == ESCAPED
    assert encodable("é 🙂") == "é 🙂"
    assert msgspec.json.decode(as_json({HALVES: [HALVES, 1, None]})) == {
        ESCAPED: [ESCAPED, 1, None]
    }
    assert as_json({"b": 1, "a": "é"}) == msgspec.json.encode({"b": 1, "a": "é"})


def test_a_run_folder_and_a_history_take_any_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan(
        scenario="own",
        question=HALVES,
        parameters={"a": HALVES},
        topics=[],
        groups=[],
        must_judge=[],
        expects=[],
    )
    RunFolder(tmp_path).write_plan(plan)
    assert RunFolder(tmp_path).plan().question == ESCAPED
    history = HistoryWriter(tmp_path / "driver.jsonl")
    Phases(history).enter(Stage.HELD, HALVES)
    history.close()
    assert capsys.readouterr().out == f"{PREFIX}{Stage.HELD}: {ESCAPED}\n"
    line = msgspec.json.decode((tmp_path / "driver.jsonl").read_bytes())
    assert line["doing"] == ESCAPED


def test_lines_of_a_process_take_any_text(capsys: pytest.CaptureFixture[str]) -> None:
    refuse(UsageError(HALVES))
    report(Failed(test="t", why=HALVES))
    refused, failed = capsys.readouterr().out.splitlines()
    assert str(refusal_in([refused])) == ESCAPED
    assert failed.endswith(as_json(Failed(test="t", why=ESCAPED)).decode())
