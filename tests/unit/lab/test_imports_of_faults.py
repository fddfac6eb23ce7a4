"""The file that scenarios import faults from."""

from lab.faults import FILE, imports


def test_a_scenario_of_a_user_has_every_fault_and_target() -> None:
    assert FILE.read_text() == imports(), "make format"
