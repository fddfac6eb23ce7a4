"""The program that keeps what the commands of docs/playground.md print."""

from pathlib import Path

from harness.cli import every_command
from lab.by_hand import PAGE, commands, with_outputs, without_places

PAGE_OF_TWO = """Text.

```console
$ fencepost one
old
$ fencepost two --acks 1
```

```
$ fencepost three
```
"""


def test_each_command_has_its_output_below_it_and_older_ones_are_replaced() -> None:
    asked: list[str] = []

    def carry_out(command: str) -> str:
        asked.append(command)
        return f"\n{command}:  \n  {len(asked)}\n\n"

    once = with_outputs(PAGE_OF_TWO, carry_out)
    assert asked == commands(PAGE_OF_TWO) == ["fencepost one", "fencepost two --acks 1"]
    assert once.count("old") == 0
    assert "$ fencepost one\nfencepost one:\n  1\n$ fencepost two" in once
    assert with_outputs(once, lambda _: "").count("fencepost one:") == 0
    assert commands(once) == commands(PAGE_OF_TWO)


def test_the_page_has_commands_of_the_program_each_with_its_output() -> None:
    page = PAGE.read_text()
    assert {command.split()[1] for command in commands(page)} <= set(every_command())
    assert "\n$ fencepost play status\n$" not in page


def test_no_place_of_this_machine_is_printed(tmp_path: Path) -> None:
    printed = f"log {tmp_path}/.nodes/a/b\n/opt/x/bin/fencepost explain {Path.home()}/k\n"
    assert without_places(printed, tmp_path) == "log results/...\nfencepost explain ~/k\n"
