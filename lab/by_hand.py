"""Keeps what the commands of docs/playground.md print: `python -m lab.by_hand`.

Carries out each command of the page on a playground, and writes its output below it.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from contract.waiting import wait_until
from harness.playground.serve import Views
from harness.playground.state import find, look

_ROOT = Path(__file__).resolve().parents[1]
PAGE = _ROOT / "docs" / "playground.md"
_WIDTH = "110"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PROMPT = "$ "
_MORE = 500
"""Values that are acknowledged before a look at the cluster, so that there is something to see."""
_SECONDS = 60


def commands(page: str) -> list[str]:
    """Return the commands of a page, in order."""
    return [
        line.removeprefix(_PROMPT)
        for block in _BLOCK.findall(page)
        for line in block.splitlines()
        if line.startswith(_PROMPT)
    ]


def with_outputs(page: str, carry_out: Callable[[str], str]) -> str:
    """Return a page with the outputs of its commands, each carried out in order."""

    def fill(block: re.Match[str]) -> str:
        return f"```console\n{''.join(_lines(block[1], carry_out))}```"

    return _BLOCK.sub(fill, page)


def _lines(block: str, carry_out: Callable[[str], str]) -> Iterator[str]:
    for command in commands(f"```console\n{block}```"):
        output = "\n".join(line.rstrip() for line in carry_out(command).strip().splitlines())
        yield f"{_PROMPT}{command}\n"
        yield f"{output}\n" if output else ""


class ByHand:
    """Carries out commands as a person does, who waits until there is something to see."""

    def __init__(self, results: Path) -> None:
        """The playground is below `results`."""
        self._results = results

    def __call__(self, command: str) -> str:
        """Carry out a command; returns what it printed, without names of this machine."""
        _, *words = command.split()
        if "status" in words:
            self._await_more()
        ended = subprocess.run(
            [sys.executable, "-m", "harness", *words, "--results", str(self._results)],
            cwd=_ROOT,
            env={**os.environ, "COLUMNS": _WIDTH},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return without_places(ended.stdout, self._results)

    def end(self) -> None:
        """End the playground if it still runs."""
        self("fencepost play stop")

    def _await_more(self) -> None:
        before = self._count_acknowledged()
        wait_until(
            lambda: self._count_acknowledged() >= before + _MORE,
            what=f"{_MORE} more values to be acknowledged",
            timeout_seconds=_SECONDS,
        )

    def _count_acknowledged(self) -> int:
        return sum(producer.ok for producer in look(find(self._results), Views.status()).producers)


def without_places(text: str, results: Path) -> str:
    """Return what is printed, without where this machine has things."""
    text = re.sub(rf"{re.escape(str(results))}\S*", "results/...", text)
    text = re.sub(r"\S*/bin/fencepost", "fencepost", text)
    return text.replace(str(Path.home()), "~")


def main() -> None:
    """Carry out the page's commands, and write what they printed."""
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
        by_hand = ByHand(Path(folder))
        try:
            PAGE.write_text(with_outputs(PAGE.read_text(), by_hand))
        finally:
            by_hand.end()


if __name__ == "__main__":
    main()
