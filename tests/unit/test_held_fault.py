"""When a fault's four times are stamped."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from contract.errors import FaultError, NotLandedError, WaitTimeoutError
from contract.terms import FaultTarget, TargetKind
from harness.clients.history import HistoryWriter
from harness.faults.fault import Evidence, Fault, Field, HeldFault

SECOND = 1_000_000


class Recorded(Fault):
    """A fault that writes down which of its steps were taken, among the events of the history."""

    verb = "kill"
    target = FaultTarget(target_kind=TargetKind.LEADER)

    def __init__(self, events: Callable[[], list[str]], *, fails_in: str = "") -> None:
        self.steps: list[tuple[str, list[str]]] = []
        self._events, self._fails_in = events, fails_in

    def prepare(self, field: Field) -> None:  # noqa: ARG002
        self.target = FaultTarget(target_kind=TargetKind.LEADER, brokers=(1,))
        self._step("prepare")

    def inject(self, field: Field) -> None:  # noqa: ARG002
        self._step("inject")

    def prove(self, field: Field) -> Evidence:  # noqa: ARG002
        self._step("prove")
        return Evidence(landed=True, facts={})

    def heal(self, field: Field) -> None:  # noqa: ARG002
        self._step("heal")

    def _step(self, name: str) -> None:
        self.steps.append((name, self._events()))
        if name == self._fails_in:
            raise FaultError(name)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "driver.jsonl"


def lines(history: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in history.read_text().splitlines()]


def field(history: Path) -> Field:
    unused = cast("Any", SimpleNamespace())
    return Field(
        kafka=unused, observer=unused, history=HistoryWriter(history), clients={}, kept=history
    )


def reported(history: Path, *, fails_in: str = "") -> Recorded:
    return Recorded(lambda: [line["change"] for line in lines(history)], fails_in=fails_in)


def test_a_fault_is_injected_after_its_preparation_and_proved_after_its_injection(
    history: Path,
) -> None:
    on, fault = field(history), reported(history)
    held = HeldFault.inject(fault, on)
    held.prove()
    held.heal()
    held.heal()
    assert fault.steps == [
        ("prepare", []),
        ("inject", ["injected"]),
        ("prove", ["injected"]),
        ("heal", ["injected", "proved", "heal_began"]),
    ]
    assert [line["change"] for line in lines(history)] == [
        "injected",
        "proved",
        "heal_began",
        "healed",
    ]
    assert [line["target"]["brokers"] for line in lines(history)] == [[1]] * 4
    assert HeldFault.inject(reported(history), on).number == held.number + 1


def test_what_cannot_be_prepared_is_no_fault_of_the_run(history: Path) -> None:
    fault = reported(history, fails_in="prepare")
    with pytest.raises(FaultError):
        HeldFault.inject(fault, field(history))
    assert [step for step, _ in fault.steps] == ["prepare"]
    assert lines(history) == []


@pytest.mark.parametrize("step", ["inject", "prove"])
def test_what_fails_once_it_is_injected_is_healed_and_said_to_be(history: Path, step: str) -> None:
    fault = reported(history, fails_in=step)
    with pytest.raises(FaultError):
        HeldFault.inject(fault, field(history)).prove()
    assert fault.steps[-1][0] == "heal"
    assert [line["change"] for line in lines(history)] == ["injected", "heal_began", "healed"]


def test_an_effect_that_does_not_show_in_time_is_recorded_as_not_landed(history: Path) -> None:
    fault = reported(history)
    held = HeldFault.inject(fault, field(history))
    fails = patch.object(fault, "prove", side_effect=WaitTimeoutError("no broker was fenced"))
    with fails, pytest.raises(NotLandedError):
        held.prove()
    assert [line["change"] for line in lines(history)] == [
        "injected",
        "proved",
        "heal_began",
        "healed",
    ]
    proved = lines(history)[1]
    assert proved.get("landed", False) is False
    assert proved["evidence"] == {"not_seen": "no broker was fenced"}
