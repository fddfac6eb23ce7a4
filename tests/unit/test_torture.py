"""The attempts to break the tool: damages do what they say, and the page counts them."""

from pathlib import Path
from random import Random

import pytest

from bench.torture import calls, histories
from bench.torture.attempt import Attempt
from bench.torture.folders import DAMAGES
from bench.torture.histories import mangled
from bench.torture.page import page
from contract.run_folder import RunFolder

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
    made = list(histories.attempts(run, tmp_path / "place", Random(SEED), 25))
    assert [one.problem for one in made] == [""] * 25
    assert mangled(b"abc", Random(1)) == mangled(b"abc", Random(1))


def test_the_page_counts_what_held_and_names_what_did_not() -> None:
    made = [
        Attempt("calls", "fencepost x"),
        Attempt("calls", "fencepost <y> | z", "a traceback\nhere"),
    ]
    text = page(made, [calls.AREA], seed=1, minutes=2.4)
    assert "1 of 2 attempts held" in text
    assert "| calls | 2 | 1 |" in text
    assert "| calls | fencepost &lt;y> \\| z | a traceback here |" in text
