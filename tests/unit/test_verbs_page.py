"""The page of the verbs of a scenario."""

import re
from pathlib import Path
from textwrap import indent

import pytest

from harness.story.calls import Calls
from harness.story.consumers import Groups, Sources
from harness.story.run import Run
from harness.story.transactions import Transactions
from harness.story.wire import Wire
from harness.story.workload import Workload

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "verbs.md").read_text()
FIRST_CELLS = "".join(re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("speaker", [Run, Workload, Calls, Groups, Sources, Transactions, Wire])
def test_every_verb_of_a_story_has_its_row(speaker: type) -> None:
    verbs = {name for name, found in vars(speaker).items() if callable(found) and name[0] != "_"}
    assert {verb for verb in verbs if f"`{verb}`" not in FIRST_CELLS} == set()


def test_the_example_is_as_in_its_scenario() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (named,) = re.findall(r"## An example\n\n`(\S+)`", PAGE)
    assert indent(example, " " * 8) in (ROOT / named).read_text()
