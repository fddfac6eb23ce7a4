"""Files of histories are read strictly: an error names the file, the history and the line."""

import re
from pathlib import Path

import pytest

from tests.exam.files import WrongLineError, read
from tests.exam.history import History
from tests.exam.lines import carry_out, verbs, words
from tests.exam.world import Place
from tests.unit.test_tidy import ROOT

FILE = """
scenes:
- scene: led_by
  given: {{leader: 1, later: null}}
  events: |
    for broker in 1..2: registered $broker at=0.2 is_fenced=false
    led $leader 0 at=0.5 isr=1,2
    if later: led 2 1 at=$later+0.5 isr=2
histories:
- history: a-b
  asks: Is it?
  source: KIP-320
  finds: {{lost_record: none}}
  events: |
    {line}
"""


def read_line(tmp_path: Path, line: str, more: str = "") -> History:
    """The history whose only line this is."""
    file = tmp_path / "of_leaders.yml"
    file.write_text(FILE.format(line=line) + more)
    return read(file)[-1].history()


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("lead 1 0 at=0.5 isr=1,2", "lead 1 0 at=0.5 isr=1,2: no verb 'lead'; perhaps 'led'"),
        ("led 1 0 at=0.5 isr=1,2 epoch=3", "multiple values for argument 'epoch'"),
        ("led 1 0 at=0.5 irs=1,2", "missing a required argument: 'isr'"),
        ("led 1 0 at=soon isr=1,2", "Expected `float`, got `str`"),
        ("led 1 0 at=0.5 isr=1,2 start=4", "got an unexpected keyword argument 'start'"),
        ("add leaderships lead=1", "table leaderships has no columns ['lead']"),
        ("fault kill brocker:1 injected=4", "no attribute 'on_brocker'"),
        ('group "g', "a quote or a parenthesis is not closed"),
        ("led_by term=2", "there is no term to be given"),
        ("led_by 1 null 7", "there is no 7 to be given"),
        ("led $leader 0 at=0.5 isr=1,2", "'leader'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, error: str) -> None:
    with pytest.raises(WrongLineError, match=re.escape(error)) as raised:
        read_line(tmp_path, line)
    assert str(raised.value).startswith("of_leaders.yml, a-b: ")


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("- {history: a-b, asks: '', source: '', events: ''}", "two histories are called a-b"),
        ("variants:\n- {of: b, why: '', events: '', finds: {}}", "no history b to vary"),
        ("- {history: c, ask: '', source: '', events: ''}", "yml: .* unknown field `ask`"),
    ],
)
def test_a_wrong_history_is_named(tmp_path: Path, more: str, error: str) -> None:
    with pytest.raises(WrongLineError, match=error):
        read_line(tmp_path, "topic", more)


def test_a_scene_loops_and_has_lines_that_depend_on_what_it_is_given(tmp_path: Path) -> None:
    once, twice = read_line(tmp_path, "led_by"), read_line(tmp_path, "led_by 2 later=7")
    assert len(once.rows["broker_states"]) == 2
    assert [row["leader"] for row in once.rows["leaderships"]] == [1]
    assert [row["at_micros"] for row in twice.rows["leaderships"]] == [once.at(0.5), once.at(7.5)]


@pytest.mark.parametrize(
    ("line", "table", "columns"),
    [
        ("led -1 3 at=4 isr=() elr=2", "leaderships", {"leader": -1, "isr": [], "elr": [3002]}),
        ("sent 4 at=1 acks=1", "sends", {"acks": "1", "producer": "n.p"}),
        ('add truncations broker=1 log_line="a b" at_micros=1', "truncations", {"log_line": "a b"}),
        ("stored 4 0 at=1 offsets_partition=@5", "committed_offsets", {"offsets_partition": 3005}),
        ("add polls value=p,7 member=m", "polls", {"member": "n.m"}),
        ("fault kill client:w injected=1 # by hand", "faults", {"worker": "n.w"}),
    ],
)
def test_values_are_read_as_the_verb_says(line: str, table: str, columns: dict[str, str]) -> None:
    history = History(Place("n", 3))
    verb, *found = words(line)
    carry_out(history, verb, found)
    assert history.rows[table][0].items() >= columns.items()


def test_each_verb_says_what_it_is() -> None:
    assert [name for name, verb in verbs().items() if not verb.__doc__] == []


def test_the_example_of_contributing_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"```yaml\n(histories:\n.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL
    )
    file = tmp_path / "example.yml"
    file.write_text(text)
    first, varied = [question.history() for question in read(file)]
    assert [row["outcome"] for row in first.rows["commits"]] == ["ok", "ok"]
    assert [row["outcome"] for row in varied.rows["commits"]] == ["ok", "failed"]
