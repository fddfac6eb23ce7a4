"""Plants of transactions (family C, A8 and G13)."""

from itertools import pairwise

import numpy as np

from contract.outcomes import Outcome
from simulator.frames import NULL, Array
from simulator.log import NEVER, micros
from simulator.plants.tails import append_behind, deliver_behind
from simulator.plants.tools import (
    TRANSACTIONAL,
    Plant,
    Random,
    any_partition,
    copy_of,
    deliveries,
    drop_commits,
    events_of,
    follows,
    groups,
)
from simulator.reading import POLL_MICROS
from simulator.transactional import TAKEN_OVER
from simulator.universe import Place, Universe

COMMITTED, UNCOMMITTED = 0, 1
"""The groups, by what they read."""


def _span_of(universe: Universe, random: Random, partition: int, *, is_aborted: bool) -> int:
    """The number of a data span of a transaction that ended so, not the first nor the last."""
    found = [
        number
        for number, span in enumerate(universe.spans)
        if span.partition == partition
        and span.control is None
        and span.is_aborted == is_aborted
        and span.first_offset > 0
    ]
    return int(random.choice(found[:-1] if len(found) > 1 else found))


def _records(universe: Universe, span: int) -> Array:
    return np.flatnonzero(universe.the_log().span == span)


def aborted_read(universe: Universe, random: Random) -> list[Place]:
    """A reader of committed values gets those of an aborted transaction."""
    partition, group = any_partition(universe, random), groups(universe)[COMMITTED]
    log = universe.the_log()
    index = _records(universe, _span_of(universe, random, partition, is_aborted=True))
    index = index[: int(random.integers(1, len(index) + 1))]
    polls = universe.frame("polls")
    (model,) = np.flatnonzero(deliveries(universe, partition, group))[:1]
    tick = -(-(int(log.visible[index[0]]) - universe.began) // POLL_MICROS) * POLL_MICROS
    at = universe.began + tick + partition * 10
    for number, one in enumerate(index):
        universe.add(
            copy_of(polls, int(model)).but(
                offset=int(log.offset[one]),
                leader_epoch=int(log.epoch[one]),
                value=log.value[one],
                position_in_poll=number,
                polled_micros=at,
            )
        )
    follows(
        universe, partition, group, "precommitted_read", "nonmonotonic_poll", "torn_transaction"
    )
    return [Place("aborted_read", "violation", partition, group, int(log.offset[index[0]]))]


def torn_transaction(universe: Universe, random: Random) -> list[Place]:
    """A reader of committed values misses some of a committed transaction."""
    partition, group = any_partition(universe, random), groups(universe)[COMMITTED]
    log = universe.the_log()
    index = _records(universe, _span_of(universe, random, partition, is_aborted=False))
    gone = log.offset[index[: int(random.integers(1, len(index)))]]
    universe.keep("polls", ~deliveries(universe, partition, group, gone))
    follows(
        universe,
        partition,
        group,
        "poll_skip",
        "skipped_record",
        "commit_beyond_processed",
        "hanging_transaction",
    )
    return [Place("torn_transaction", "violation", partition, group, int(gone[0]))]


def precommitted_read(universe: Universe, random: Random) -> list[Place]:
    """A reader of committed values gets them before the transaction was committed."""
    partition, group = any_partition(universe, random), groups(universe)[COMMITTED]
    log = universe.the_log()
    span = _span_of(universe, random, partition, is_aborted=False)
    offsets = log.offset[_records(universe, span)]
    ended = universe.spans[span + 1].began
    polls = universe.frame("polls")
    rows = deliveries(universe, partition, group, offsets)
    polls["polled_micros"][rows] = ended - micros(0.3)
    return [Place("precommitted_read", "violation", partition, group)]


def hanging_transaction(universe: Universe, random: Random) -> list[Place]:
    """The last transaction never ends: readers of committed values stop before it."""
    group = groups(universe)[COMMITTED]
    log = universe.the_log()
    last_numbers = {}
    for number, span in enumerate(universe.spans):
        if span.control is None:
            last_numbers[span.partition] = number
    steps = universe.frame("transactions")
    ends = np.flatnonzero(np.isin(steps["step"], ["commit", "abort"]))
    universe.drop("transactions", ends[np.argmax(steps["at_micros"][ends])])
    for partition, number in last_numbers.items():
        first = int(log.offset[_records(universe, number)[0]])
        marker = int(log.offset[_records(universe, number + 1)[0]])
        batches = universe.frame("replica_batches")
        gone = (batches["partition"] == partition) & (batches["base_offset"] == marker)
        universe.keep("replica_batches", ~gone)
        bounds = universe.frame("log_starts")
        bounds["log_end_offset"][bounds["partition"] == partition] = marker
        samples = universe.frame("samples")
        samples["log_end_offset"][samples["partition"] == partition] = np.minimum(
            samples["log_end_offset"][samples["partition"] == partition], marker
        )
        polls = universe.frame("polls")
        late = deliveries(universe, partition, group) & (polls["offset"] >= first)
        universe.keep("polls", ~late)
        for other, end in zip(groups(universe), (first, marker), strict=True):
            commits = universe.frame("commits")
            beyond = commits.where(partition=partition, group=other) & (commits["offset"] > end)
            drop_commits(universe, np.flatnonzero(beyond))
            events = universe.frame("group_events")
            events["position"][events_of(universe, partition, other, "caught_up")] = end
            follows(universe, partition, other, "unseen_record")
        universe.log.visible[_records(universe, number)] = NEVER  # type: ignore[union-attr]
        follows(universe, partition, None, "unseen_record")
    del random
    return [Place("hanging_transaction", None)]


def misapplied_marker(universe: Universe, random: Random) -> list[Place]:
    """The log aborts a transaction that the client reported as committed."""
    partition, group = any_partition(universe, random), groups(universe)[COMMITTED]
    log = universe.the_log()
    span = _span_of(universe, random, partition, is_aborted=False)
    offsets = log.offset[_records(universe, span)]
    marker = log.offset[_records(universe, span + 1)[0]]
    batches = universe.frame("replica_batches")
    mine = (batches["partition"] == partition) & (batches["base_offset"] == marker)
    batches["control_type"][mine] = "abort"
    universe.keep("polls", ~deliveries(universe, partition, group, offsets))
    follows(universe, partition, group, "torn_transaction", "poll_skip", "skipped_record")
    return [Place("misapplied_marker", "violation")]


def zombie_producer_accepted(universe: Universe, random: Random) -> list[Place]:
    """A fenced producer's sends are acknowledged, and lie behind its successor's."""
    partition = 0
    fenced = [span for span in universe.spans if span.control is None][TAKEN_OVER]
    sends = universe.frame("sends")
    failed = sends["outcome"] == Outcome.FAILED.value
    mine = np.flatnonzero(failed & (sends["transaction"] != NULL))
    mine = mine[: int(random.integers(1, len(mine) + 1))]
    first = append_behind(
        universe,
        partition,
        sends["value"][mine],
        producer_id=fenced.producer_id,
        producer_epoch=fenced.producer_epoch,
        base_sequence=fenced.count,
    )
    sends["outcome"][mine] = Outcome.OK.value
    sends["error"][mine] = None
    sends["offset"][mine] = first + np.arange(len(mine))
    for column in ("intended_micros", "answered_micros"):
        sends[column][mine] = universe.at(76.0)
    deliver_behind(universe, partition, groups(universe)[UNCOMMITTED], first, sends["value"][mine])
    for group in groups(universe):
        follows(universe, partition, group, "nonmonotonic_poll", "unseen_record")
    follows(universe, partition, None, "hanging_transaction", "nonmonotonic_send", "unseen_record")
    return [Place("zombie_producer_accepted", "violation", partition, None, first)]


def _send_offsets(universe: Universe, number: int, marker: str | None, offset: int) -> None:
    """Let the transaction of a data span commit an offset of the group that reads all.

    marker: of the stored commit; None: it is not stored.
    """
    span, group = universe.spans[number], groups(universe)[UNCOMMITTED]
    at = universe.spans[number + 1].began - micros(0.3)
    steps = universe.frame("transactions")
    begun = steps.where(producer=span.producer, transaction=span.transaction, step="begin")
    model = copy_of(steps, int(np.flatnonzero(begun)[0]))
    universe.add(
        model.but(step="send_offsets", change="offsets_sent", began_micros=at - 1000, at_micros=at)
    )
    if marker is not None:
        stored = universe.frame("committed_offsets")
        mine = np.flatnonzero(stored.where(partition=span.partition, group=group))
        known = stored["committed_micros"][mine] <= at
        row = copy_of(stored, int(mine[known][-1] if known.any() else mine[0]))
        universe.add(
            row.but(
                offset=offset,
                committed_epoch=span.epoch,
                committed_micros=at // 1000 * 1000,
                producer_id=span.producer_id,
                producer_epoch=span.producer_epoch,
                marker=marker,
            )
        )
    follows(
        universe,
        span.partition,
        group,
        "commit_regressed",
        "commit_beyond_processed",
        "committed_epoch_behind_leader",
        "commit_from_old_generation",
    )


def offsets_without_output(universe: Universe, random: Random) -> list[Place]:
    """A transaction's offsets are committed, its writes aborted."""
    partition = any_partition(universe, random)
    number = _span_of(universe, random, partition, is_aborted=True)
    _send_offsets(universe, number, "commit", universe.spans[number].first_offset)
    return [Place("offsets_without_output", "violation")]


def output_without_offsets(universe: Universe, random: Random) -> list[Place]:
    """A transaction's writes are committed, the offsets that it sent along are not stored."""
    partition = any_partition(universe, random)
    number = _span_of(universe, random, partition, is_aborted=False)
    _send_offsets(universe, number, None, universe.spans[number].first_offset)
    return [Place("output_without_offsets", "violation")]


def circular_information(universe: Universe, random: Random) -> list[Place]:
    """A transaction commits offsets of its own writes."""
    partition = any_partition(universe, random)
    number = _span_of(universe, random, partition, is_aborted=False)
    span = universe.spans[number]
    _send_offsets(universe, number, "commit", span.first_offset + span.count)
    return [Place("circular_information", None)]


def write_cycle(universe: Universe, random: Random) -> list[Place]:
    """Two committed transactions wrote to one partition in one order, to the other in the other."""
    data = [span for span in universe.spans if span.control is None and span.partition == 0]
    pairs = [
        (one, other)
        for one, other in pairwise(data)
        if not one.is_aborted and not other.is_aborted and one.producer == other.producer
    ]
    one, other = pairs[int(random.integers(len(pairs)))]
    sends = universe.frame("sends")
    last = universe.partitions - 1
    for first, second in ((one, other), (other, one)):
        number = next(
            n
            for n, span in enumerate(universe.spans)
            if (span.partition, span.producer, span.transaction, span.control)
            == (last, first.producer, first.transaction, None)
        )
        offsets = universe.the_log().offset[_records(universe, number)]
        rows = (sends["partition"] == last) & np.isin(sends["offset"], offsets)
        sends["transaction"][rows] = second.transaction
    checks = (
        "precommitted_read",
        "zombie_producer_accepted",
        "misapplied_marker",
        "circular_information",
        "hanging_transaction",
    )
    follows(universe, None, None, *checks)
    return [Place("write_cycle", None)]


PLANTS = {
    "offsets_without_output": Plant(TRANSACTIONAL, offsets_without_output),
    "output_without_offsets": Plant(TRANSACTIONAL, output_without_offsets),
    "circular_information": Plant(TRANSACTIONAL, circular_information),
    "write_cycle": Plant(TRANSACTIONAL, write_cycle),
    "aborted_read": Plant(TRANSACTIONAL, aborted_read),
    "torn_transaction": Plant(TRANSACTIONAL, torn_transaction),
    "precommitted_read": Plant(TRANSACTIONAL, precommitted_read),
    "hanging_transaction": Plant(TRANSACTIONAL, hanging_transaction),
    "misapplied_marker": Plant(TRANSACTIONAL, misapplied_marker),
    "zombie_producer_accepted": Plant(TRANSACTIONAL, zombie_producer_accepted),
}
