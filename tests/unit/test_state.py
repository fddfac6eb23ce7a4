"""Where a log and its epochs started at a time, in histories of a few events."""

import pytest
from conftest import Rows, TraceMaker
from micro import epoch_started, epochs, led, log_bounds, log_started, polled, query_rows, sampled

MS = 1000
MOMENT_MICROS = 500 * MS
ENDED_AT_400: Rows = {"log_starts": log_bounds(400, 600), "leaderships": [led(0, at=10)]}
ANEW = {**led(0, at=700 * MS), "metadata_offset": 900, "topic_id": "second"}


@pytest.mark.parametrize(
    ("rows", "bounds"),
    [
        ({}, (0, 400)),
        ({"samples": [sampled(600, start=210, at=300 * MS)]}, (210, 400)),
        (
            {
                "samples": [
                    sampled(600, start=210, at=300 * MS),
                    sampled(600, start=250, at=700 * MS),
                ]
            },
            (210, 250),
        ),
        # A follower's answer, or one that is too close to the moment to come after it.
        ({"samples": [sampled(600, start=210, at=300 * MS, broker=2)]}, (0, 400)),
        ({"samples": [sampled(600, start=250, at=520 * MS)]}, (0, 400)),
        # The servers' logs have every advance: nothing else happened in between.
        (
            {"log_start_changes": [log_started(210, at=300 * MS), log_started(400, at=900 * MS)]},
            (210, 210),
        ),
        ({"log_start_changes": [log_started(400, at=900 * MS)]}, (0, 0)),
        # They lack the last advance, so they may lack others.
        ({"log_start_changes": [log_started(210, at=300 * MS)]}, (210, 400)),
        # A follower that deletes by itself does not move the leader's log start.
        (
            {
                "log_start_changes": [
                    log_started(210, at=300 * MS, broker=2),
                    log_started(400, at=900 * MS),
                ]
            },
            (0, 210),
        ),
        (
            {
                "log_start_changes": [
                    log_started(210, at=300 * MS, broker=2, reason="leader offset increment"),
                    log_started(400, at=900 * MS),
                ]
            },
            (210, 210),
        ),
        # The topic that had the name before.
        (
            {
                "leaderships": [led(0, at=10), ANEW],
                "log_start_changes": [log_started(450, at=300 * MS)],
            },
            (0, 400),
        ),
    ],
)
def test_the_log_start_at_a_time_has_two_bounds(
    make_trace: TraceMaker, rows: Rows, bounds: tuple[int, int]
) -> None:
    (row,) = query_rows(
        make_trace({**ENDED_AT_400, **rows}),
        f"""
        with moments as (
          select topic, partition, {MOMENT_MICROS}L as at_micros from log_bounds
        )
        select * from {{{{ with_log_starts("moments") }}}}
        """,
    )
    assert (row["start_low"], row["start_high"]) == bounds


CACHED: Rows = {
    "log_starts": log_bounds(0, 600),
    "epoch_checkpoints": epochs((0, 0), (1, 200)),
    "leaderships": [led(0, at=10), led(1, at=100 * MS)],
}
EVICTED: Rows = {
    "log_starts": log_bounds(400, 600),
    "epoch_checkpoints": epochs((2, 400)),
    "leaderships": [led(0, at=10), led(1, at=100 * MS), led(2, at=200 * MS)],
}


@pytest.mark.parametrize(
    ("rows", "epoch", "offset", "overwritten"),
    [
        (CACHED, 0, 200, (False, False)),
        (CACHED, 0, 201, (True, True)),
        (CACHED, 1, 350, (False, False)),
        # It began only after the moment.
        ({**CACHED, "leaderships": [led(0, at=10), led(1, at=900 * MS)]}, 0, 201, (False, False)),
        # Nobody tells where epoch 1 started, nor where epoch 2 did, which retention raised to 400.
        (EVICTED, 0, 350, (False, True)),
        (EVICTED, 1, 350, (False, True)),
        (EVICTED, 1, 450, (True, True)),
        (EVICTED, 2, 350, (False, False)),
        ({**EVICTED, "polls": polled(210, epoch=1)}, 0, 350, (True, True)),
        (
            {**EVICTED, "leader_epoch_starts": [epoch_started(1, 200, at=100 * MS)]},
            0,
            350,
            (True, True),
        ),
        (
            {**EVICTED, "leader_epoch_starts": [epoch_started(2, 380, at=200 * MS)]},
            1,
            350,
            (False, False),
        ),
        # An epoch without records starts where the next one does.
        (
            {
                **CACHED,
                "epoch_checkpoints": epochs((0, 0), (2, 200)),
                "leaderships": [*CACHED["leaderships"], led(2, at=200 * MS)],
            },
            0,
            200,
            (False, False),
        ),
        # An epoch that an unclean election abandoned later was in force then.
        (
            {
                **CACHED,
                "epoch_checkpoints": epochs((0, 0), (2, 300)),
                "leaderships": [*CACHED["leaderships"], led(2, at=900 * MS)],
                "leader_epoch_starts": [epoch_started(1, 200, at=100 * MS)],
            },
            0,
            250,
            (True, True),
        ),
    ],
)
def test_a_position_is_overwritten_where_a_newer_epoch_starts_below_it(
    make_trace: TraceMaker, rows: Rows, epoch: int, offset: int, overwritten: tuple[bool, bool]
) -> None:
    position = f"({epoch}, {offset}, {MOMENT_MICROS})"
    (row,) = query_rows(
        make_trace(rows),
        f"""
        select {{{{ is_overwritten{position} }}}} as surely,
          {{{{ may_be_overwritten{position} }}}} as perhaps
        from timelines
        """,
    )
    assert (row["surely"], row["perhaps"]) == overwritten


@pytest.mark.parametrize(
    ("leaderships", "rows"),
    [
        ([led(0, at=10), led(1, at=800)], 2),
        ([led(0, at=10), {**led(0, at=500), "partition_epoch": 0}], 1),
        ([{**led(3, at=10), "topic_id": "a"}, {**led(3, at=500), "topic_id": "b"}], 1),
        (
            [
                {**led(0, at=10), "topic_id": "a"},
                {**led(0, at=500), "topic_id": "b", "partition_epoch": 4},
            ],
            1,
        ),
    ],
)
def test_only_rows_of_the_present_topic_are_kept(
    make_trace: TraceMaker, leaderships: list[dict[str, object]], rows: int
) -> None:
    trace = make_trace(
        {"leaderships": leaderships, "samples": [sampled(1, at=400), sampled(1, at=600)]}
    )
    present = query_rows(trace, 'select * from {{ of_present_topic("samples", "at_micros") }}')
    assert len(present) == rows
