"""A wait ends with its own limit, or with that of the block that it is in."""

import threading

import pytest

from contract.errors import WaitTimeoutError
from contract.waiting import limited, wait_until

NEVER = 3600


def waits(seconds: float = NEVER) -> str:
    looks: list[int] = []

    def probe() -> None:
        looks.append(1)

    with pytest.raises(WaitTimeoutError) as ended:
        wait_until(probe, what="a state", timeout_seconds=seconds)
    assert looks
    return str(ended.value)


def test_a_block_ends_the_waits_in_it() -> None:
    with limited(0.1):
        assert "waited 0.1 s for a state" in waits()
        assert "waited 0 s" in waits(), "one that begins after the end looks once"
    assert "waited 0.2 s" in waits(0.2)


def test_the_earlier_end_holds() -> None:
    with limited(0.1), limited(NEVER):
        waits()
    with limited(NEVER):
        with limited(0):
            waits()
        assert wait_until(lambda: 7, what="seven", timeout_seconds=NEVER) == 7


def test_a_block_that_has_no_time_left_still_looks() -> None:
    with limited(-5):
        assert wait_until(lambda: 7, what="seven", timeout_seconds=NEVER) == 7


def test_a_block_ends_the_waits_of_other_threads() -> None:
    told: list[str] = []
    with limited(0.1):
        waiting = threading.Thread(target=lambda: told.append(waits()))
        waiting.start()
        waiting.join()
    assert "a state" in told[0]
