"""Elections in histories of a few changes: their kind, and which losses they permit."""

from typing import Any

import pytest
from conftest import TraceMaker
from micro import Row, asked, epoch_started, led, registered

SECOND = 1_000_000
ELECTIONS = "select * from elections order by metadata_offset"


def state(epoch: int, *, at: int, leader: int, isr: list[int], **fields: Any) -> Row:
    """A partition of three replicas at a second; each change raises the partition epoch."""
    return {
        **led(epoch, at=at * SECOND, leader=leader),
        "replicas": [1, 2, 3],
        "isr": isr,
        "partition_epoch": at,
        **fields,
    }


def fault(verb: str, target: Row, *, injected: int, healed: int | None = None) -> Row:
    return {
        "fault": verb,
        **target,
        "landed": True,
        "injected_micros": injected * SECOND,
        "proved_micros": injected * SECOND,
        "heal_began_micros": None if healed is None else healed * SECOND,
        "healed_micros": None if healed is None else healed * SECOND,
        "evidence": "{}",
    }


def on_brokers(*brokers: int) -> Row:
    return {"target_kind": "all", "brokers": list(brokers)}


ON_0 = {"target_kind": "partition", "topic": "t", "partition": 0}
REPLICAS = ON_0 | {"target_kind": "replicas"}
CREATED = state(0, at=0, leader=1, isr=[1, 2])
ALONE = state(0, at=5, leader=1, isr=[1])
UNCLEAN = [CREATED, ALONE, state(1, at=10, leader=2, isr=[2])]
CLEAN = [CREATED, state(1, at=10, leader=2, isr=[2])]
ORDER = "elect unclean"
LEADERLESS = state(1, at=8, leader=-1, isr=[])
BACK = state(2, at=10, leader=1, isr=[1])
OUT_AND_BACK = [
    CREATED,
    state(0, at=5, leader=1, isr=[1]),
    state(0, at=8, leader=1, isr=[1, 2]),
    state(1, at=10, leader=2, isr=[2]),
]


@pytest.mark.parametrize(
    ("leaderships", "faults", "is_allowed", "kind", "permits"),
    [
        (CLEAN, [], True, "clean", None),
        ([CREATED, {**ALONE, "elr": [2]}, *UNCLEAN[2:]], [], True, "eligible", None),
        (UNCLEAN, [], True, "configured", "unclean election by configuration"),
        (UNCLEAN, [], False, "unconfigured", None),
        (
            UNCLEAN,
            [fault(ORDER, ON_0, injected=9)],
            False,
            "ordered",
            "unclean election on request",
        ),
        # The order came later, was over before, or named another partition.
        (UNCLEAN, [fault(ORDER, ON_0, injected=11)], False, "unconfigured", None),
        (
            UNCLEAN,
            [fault(ORDER, ON_0, injected=6, healed=7)],
            False,
            "unconfigured",
            None,
        ),
        (UNCLEAN, [fault(ORDER, ON_0 | {"partition": 1}, injected=9)], False, "unconfigured", None),
        # It was in sync, but its disk was wiped since; another broker's proves nothing.
        (
            CLEAN,
            [fault("wipe", on_brokers(2), injected=6, healed=9)],
            False,
            "clean",
            "election of a broker whose disk was wiped",
        ),
        (
            CLEAN,
            [fault("wipe", on_brokers(12, 2), injected=6, healed=9)],
            False,
            "clean",
            "election of a broker whose disk was wiped",
        ),
        (CLEAN, [fault("wipe", on_brokers(12), injected=6)], False, "clean", None),
        # After its disk was wiped it caught up, and came into the ISR again.
        (
            OUT_AND_BACK,
            [fault("wipe", on_brokers(2), injected=4, healed=6)],
            False,
            "clean",
            None,
        ),
        (
            CLEAN,
            [fault("cut tails", REPLICAS, injected=6, healed=9)],
            False,
            "clean",
            "election after the tails of all replicas were truncated",
        ),
        # The election after the next one lacks nothing any more.
        (
            [*CLEAN, state(2, at=20, leader=1, isr=[1])],
            [fault("cut tails", REPLICAS, injected=6, healed=9)],
            False,
            "reassigned",
            None,
        ),
        ([{**UNCLEAN[2], "leader_epoch": 7}], [], True, "unknown", None),
        ([*CLEAN, {**CREATED, "metadata_offset": 20 * SECOND}], [], True, "first", None),
    ],
)
def test_an_election_is_of_a_kind(
    make_trace: TraceMaker,
    *,
    leaderships: list[Row],
    faults: list[Row],
    is_allowed: bool,
    kind: str,
    permits: str | None,
) -> None:
    if kind == "reassigned":
        leaderships = [*leaderships[:-1], {**leaderships[-1], "replicas": [1, 4]}]
    trace = make_trace({"leaderships": leaderships, "faults": faults}, unclean_election=is_allowed)
    last = trace.ask(ELECTIONS)[-1]
    assert (last["kind"], last["permits"]) == (kind, permits)


@pytest.mark.parametrize(
    ("eligible", "is_fenced", "kind"),
    [
        ([], True, "last known leader"),
        # Broker 2 registers after an unclean shutdown, and loses its eligibility by this change.
        ([2], True, "last known leader"),
        ([2], False, "unconfigured"),
    ],
)
def test_the_last_known_leader_may_lead_but_lose_nothing(
    make_trace: TraceMaker, *, eligible: list[int], is_fenced: bool, kind: str
) -> None:
    rows = {
        "leaderships": [CREATED, ALONE, {**LEADERLESS, "elr": eligible}, BACK],
        "broker_states": [
            registered(fenced=False, at=1, broker=2),
            registered(fenced=is_fenced, at=9 * SECOND, broker=2),
        ],
    }
    trace = make_trace(rows, unclean_election=False)
    last = trace.ask(ELECTIONS)[-1]
    assert (last["kind"], last["permits"]) == (kind, None)


def test_another_topic_id_is_another_creation(make_trace: TraceMaker) -> None:
    ids = [{**CREATED, "topic_id": "a"}, {**CREATED, "topic_id": "b", "metadata_offset": 9}]
    found = make_trace({"leaderships": ids}).ask(ELECTIONS)
    assert [(row["creation"], row["topic_id"], row["kind"]) for row in found] == [
        (0, "a", "first"),
        (1, "b", "first"),
    ]


@pytest.mark.parametrize(
    ("leaderships", "start", "offset", "permitted", "is_unreported"),
    [
        (UNCLEAN, 100, 100, True, False),
        # It is not known where it started.
        (UNCLEAN, None, 100, True, False),
        # The record lies below where the unclean leader started: it did not lose it.
        (UNCLEAN, 101, 100, False, False),
        (CLEAN, 100, 100, False, False),
        ([{**UNCLEAN[2], "partition_epoch": 7}], 100, 100, False, True),
        ([CREATED], 100, 100, False, True),
    ],
)
def test_a_loss_is_permitted_by_an_election(
    make_trace: TraceMaker,
    *,
    leaderships: list[Row],
    start: int | None,
    offset: int,
    permitted: bool,
    is_unreported: bool,
) -> None:
    started = [] if start is None else [epoch_started(1, start, at=10 * SECOND)]
    trace = make_trace({"leaderships": leaderships, "leader_epoch_starts": started})
    (row,) = asked(
        trace,
        f"""
        with lost as (
          select distinct topic, partition, {offset} as offset, timeline
          from leaderships left join timelines using (topic, partition)
        )
        select permit is not null as is_permitted, is_unreported, permit.words as words
        from {{{{ with_permit("lost", "0", "1", "offset") }}}}
        """,
    )
    assert (row["is_permitted"], row["is_unreported"]) == (permitted, is_unreported)
    if permitted:
        assert row["words"] == (
            "unclean election by configuration: broker 2, epoch 1, metadata offset 10000000"
        )
