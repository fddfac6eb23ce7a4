"""The attempts to break the tool: damages do what they say, and the page counts them."""

import pkgutil
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.torture import calls, copies, runs
from bench.torture.attempt import AreaRecord, Attempt, Record, Setting, read_record
from bench.torture.classes import CLASSES
from bench.torture.copies import DAMAGES, mangled
from bench.torture.page import figures_of, part
from bench.torture.running import Moment, Running, put_finished
from contract.errors import UsageError
from contract.run_folder import RunFolder

pytestmark = pytest.mark.extended
SEED = 19902


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damage_leaves_another_file_than_it_found(name: str, tmp_path: Path) -> None:
    inner = tmp_path / "history"
    inner.mkdir()
    file, sibling = inner / "clients.jsonl", inner / "driver.jsonl"
    file.write_bytes(b'{"seq": 1}\n')
    sibling.write_bytes(b'{"seq": 22}\n')
    before = {path: path.read_bytes() for path in (file, sibling)}
    DAMAGES[name](file, Random(SEED))
    left = list(inner.iterdir()) if inner.exists() else []
    after = {path: path.read_bytes() for path in left if path.is_file()}
    assert after != before


def test_mangled_histories_are_counted(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.history.mkdir(parents=True)
    stamps = '"wall_micros":1790000000000000,"mono_micros":1'
    lines = [f'{{"event":"WorkerStopped","seq":{seq},{stamps}}}\n' for seq in range(40)]
    (run.history / "clients.jsonl").write_text("".join(lines))
    place = tmp_path / "place"
    setting = Setting(place, seed=SEED, hours=25 / 300, run=tmp_path, kept=tmp_path)
    setting.__dict__["genuine"] = run
    made = list(copies.DAMAGED_HISTORIES.attempts(setting))
    assert [one.problem for one in made] == [""] * 25
    assert mangled(b"abc", Random(1)) == mangled(b"abc", Random(1))


def test_the_page_counts_what_was_tried_and_names_what_did_not_hold() -> None:
    made = [
        Attempt("calls", "fencepost x"),
        Attempt("calls", "fencepost <y> | z", "a traceback\nhere"),
        Attempt("calls", "fencepost w", skipped="no Docker daemon answers"),
    ]
    of_calls = AreaRecord(git_head="abc", attempts=made, seconds=144, is_complete=True)
    record = Record(seed=1, hours=1, areas={"calls": of_calls})
    text = part(figures_of(record, [calls.AREA]))
    assert "1 of 2 attempts held" in text
    assert "2 minutes, at commit `abc`." in text
    assert "| calls | 2 | 1 |" in text
    assert "| calls | fencepost &lt;y> \\| z | a traceback here |" in text
    assert "- fencepost w: no Docker daemon answers." in text


def test_what_makes_a_class_hold_exists() -> None:
    named = {name for area in CLASSES for name in re.findall(r"`([a-z_]+\.[\w.]+)`", area.by)}
    assert len(named) > len(CLASSES)
    for name in named:
        pkgutil.resolve_name(name)


def test_passes_are_kept_together_and_those_of_another_seed_apart(tmp_path: Path) -> None:
    file = tmp_path / "new" / "record.json"
    record = read_record(file, seed=1, hours=1)
    record.areas["calls"] = AreaRecord(git_head="abc", attempts=[Attempt("calls", "x")])
    record.write(file)
    assert read_record(file, seed=1, hours=1) == record
    with pytest.raises(UsageError, match="has attempts with seed 1"):
        read_record(file, seed=2, hours=1)
    file.write_text("{")
    with pytest.raises(UsageError, match="Remove it"):
        read_record(file, seed=1, hours=1)


def test_classes_have_names_of_their_own() -> None:
    assert len({area.name for area in CLASSES}) == len(CLASSES)


def test_a_finished_run_that_changes_is_noticed(tmp_path: Path) -> None:
    ask = put_finished(tmp_path, Random(SEED))
    assert ask() == ""
    next(tmp_path.glob("**/verdict.json")).write_text("{}")
    assert ask() == "a finished run was changed"


def test_a_run_that_ends_early_reaches_no_moment_and_leaves_nothing(tmp_path: Path) -> None:
    run = Running(tmp_path / "results", "run", "nonsense")
    assert not run.reaches(Moment.STORY)
    assert run.end() == ""
    assert run.process.returncode == UsageError.exit_code


def test_the_stories_without_effect_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are long tests, which no other call of pytest runs unless it is asked to."""
    run = subprocess.run

    def collect(command: list[str], **options: Any) -> Any:
        return run([*command, "--collect-only"], **options)

    monkeypatch.setattr(runs.subprocess, "run", collect)
    (reported,) = runs.effectless(Setting(tmp_path, seed=SEED, hours=1, run=None, kept=tmp_path))
    assert "tests collected" in reported.skipped
    assert "deselected" not in reported.skipped


def test_a_story_without_effect_is_one_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its folder has a second name, which pytest gives it."""

    def run(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        own = tmp_path / "effectless" / "servers0"
        own.mkdir(parents=True)
        (own / "seen.json").write_text('{"kill": null, "stop": "it counts as landed"}')
        own.with_name("serverscurrent").symlink_to(own)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setattr(runs.subprocess, "run", run)
    setting = Setting(tmp_path, seed=SEED, hours=1, run=None, kept=tmp_path)
    reported = [(one.tried, one.problem) for one in runs.effectless(setting)]
    assert reported == [("kill", ""), ("stop", "it counts as landed")]


def test_a_killed_analysis_is_no_part_of_its_run() -> None:
    judging = ("killed python analysis", "killed java org.apache.spark.deploy.SparkSubmit")
    others = ("killed python harness.session.ducktape_program", "killed java kafka.Kafka", "")
    assert [runs.is_of_analysis(one) for one in (*judging, *others)] == [True] * 2 + [False] * 3
