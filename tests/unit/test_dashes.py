"""A name that begins with a dash is a name, for the program and for each of its children."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from contract.uris import as_word
from harness.__main__ import main
from harness.commands import compare, judging, reports

DASHES = ("-dash", "--help", "--store=x", "-")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands of children, which are not run."""
    commands: list[list[str]] = []

    def run(argv: Sequence[str], **_: Any) -> int:
        commands.append(list(argv))
        return 0

    for module in (judging, reports, compare):
        monkeypatch.setattr(module, "run_child", run)
    monkeypatch.chdir(tmp_path)
    return commands


def fencepost(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["fencepost", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("name", DASHES)
def test_names_follow_the_end_of_the_options(
    name: str, children: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(name, "report", "index.html")
    page.parent.mkdir(parents=True)
    page.touch()
    judging.analyse_in_own_process([Path(name)], master="local[1]", conf=["spark.a=b"])
    assert fencepost(monkeypatch, "explain", "--all", "--json", "--", name, "lost_record:1") == 0
    assert fencepost(monkeypatch, "open", "--standalone", f"{name}.html", "--", name) == 0
    compare._compare(Path(name), is_verbose=True, as_json=True)  # noqa: SLF001 - needs two builds
    after = [command[command.index("--") + 1 :] for command in children]
    assert after == [
        [name],
        [name, "lost_record:1"],
        [str(page.resolve()), f"{name}.html"],
        [name],
    ]


@pytest.mark.parametrize("name", DASHES)
def test_a_command_that_is_printed_names_it_as_a_path(name: str) -> None:
    assert as_word(Path(name)) == f"./{name}"
    assert as_word("results/-x y") == "'results/-x y'"


@pytest.mark.parametrize("name", DASHES)
@pytest.mark.parametrize("command", ["analyze", "explain"])
def test_it_is_looked_for(
    name: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fencepost(monkeypatch, command, "--", name) == 64
    assert f"no run at or below {name}:" in capfd.readouterr().err
