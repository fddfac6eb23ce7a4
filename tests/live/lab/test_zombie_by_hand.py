"""The commands of docs/playground.md print what stands there, but for numbers."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cluster.nodes.sandbox import sandbox_problem
from lab.by_hand import PAGE, ByHand, commands, with_outputs

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)
_EACH = re.DOTALL | re.MULTILINE
ZOMBIE = "broker 1 still sees itself lead under epoch 0"
ANSWER = re.compile(
    r"Of [\d,]+ acknowledged records, ([\d,]+) with acks=1 and 0 with acks=all were"
)


def alike(page: str) -> list[str]:
    """The lines of a page without what differs from run to run: numbers, widths, exceptions.

    The chronicle and the verdict have more or fewer lines, as long as the fault was held.
    """
    page = re.sub(r"\$ fencepost (explain|play stop).*?(?=^\$|^```)", "", page, flags=_EACH)
    numbers = re.sub(r"\d[\d,.]*", "N", re.sub(r", \d+ exceptions", "", page))
    return [" ".join(re.sub(r"N(,? N)*", "N", line).split()) for line in numbers.splitlines()]


@pytest.mark.long
def test_each_command_prints_what_the_page_has() -> None:
    page = PAGE.read_text()
    with TemporaryDirectory() as folder:  # a short path: tables cut long ones
        by_hand = ByHand(Path(folder))
        try:
            again = with_outputs(page, by_hand)
        finally:
            by_hand.end()
    assert commands(again) == commands(page)
    assert alike(again) == alike(page)
    for text in (page, again):
        assert ZOMBIE in text
        lost = ANSWER.search(text)
        assert lost is not None
        assert lost[1] != "0"
