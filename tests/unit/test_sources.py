"""From which broker a member reads, by the bytes that it received."""

from harness.story.consumers import Window


def test_what_was_received_before_the_window_does_not_count() -> None:
    window = Window(3)
    assert not window.is_source({1: 0, 3: 900_000})
    assert not window.is_source({1: 0, 3: 910_000})
    assert window.is_source({1: 1_000, 3: 930_000})


def test_metadata_and_empty_responses_are_no_source() -> None:
    window = Window(3)
    assert not window.is_source({1: 0, 3: 0})
    assert not window.is_source({1: 500_000, 3: 15_000})


def test_a_source_that_changes_shows_in_the_next_window() -> None:
    window = Window(3)
    assert not window.is_source({1: 0, 3: 0})
    assert not window.is_source({1: 30_000, 3: 10_000})
    assert window.is_source({1: 30_000, 3: 40_000})
