"""How many nodes a scenario's file needs, by importing it."""

from pathlib import Path

import pytest

from contract.builds import released
from contract.errors import UsageError
from harness.session.pool_size import pool_size

SCENARIO = '''"""A question?"""
from cluster.kafka.topology import Topology
from contract.clients import Client
from harness.story.scenario import Scenario
from harness.story.workload import reader
from shapes import CONTROLLERS


class Small(Scenario):
    topology = Topology(brokers=1)
    must_judge = ()

    def test_it(self): ...


class Large(Scenario):
    topology = Topology(brokers=3, controllers=CONTROLLERS)
    groups = (
        reader("java", "t", members=2),
        reader("other", "t"),
        reader("python", "t", client=Client.KAFKA_PYTHON),
    )
    must_judge = ()

    def test_it(self): ...
'''


def written(folder: Path, text: str) -> Path:
    (folder / "shapes.py").write_text("CONTROLLERS = 1\n")
    file = folder / "own_test.py"
    file.write_text(text)
    return file


def test_servers_workers_and_the_observer_are_counted(tmp_path: Path) -> None:
    """Of the larger scenario: four servers, two Java workers, one of kafka-python, the observer."""
    file = written(tmp_path, SCENARIO)
    assert pool_size([file, file], released("4.4.0")) == 4 + 2 + 1 + 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"""Why?"""\n', "holds no subclass of Scenario"),
        ("\nimport nothing_of_that_name\n", "own_test.py:2 does not import: ModuleNotFoundError"),
        ("import sys\nsys.exit(0)\n", "own_test.py:2 does not import: SystemExit: 0"),
        ("def f():\n    1 / 0\n\nf()\n", "own_test.py:2 does not import: ZeroDivisionError"),
        ("class C(\n", "own_test.py.* line 1"),
        (
            SCENARIO.replace("brokers=1)", 'brokers=1)\n    answer = "{sends.recrods}"'),
            "own_test.py:11: answer: sends: there is no measure recrods",
        ),
        (
            SCENARIO.replace("brokers=1", "brokers=4000"),
            "own_test.py:10: topology: brokers=4000 has to be a number, 1 to 244",
        ),
        (
            SCENARIO.replace("brokers=1", "brokers=244"),
            "needs 246 nodes for its servers, workers and observer, and a pool has at most 244",
        ),
        (
            SCENARIO.replace("brokers=1", "brokers=-3"),
            "own_test.py:10: topology: brokers=-3 has to be a number, 1 to 244",
        ),
    ],
)
def test_a_file_that_can_not_be_counted_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        pool_size([written(tmp_path, text)], released("4.4.0"))
