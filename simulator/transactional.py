"""Transactions committed and aborted, a producer fenced by its successor, readers of both kinds."""

from dataclasses import dataclass, replace

from contract.terms import Isolation, Outcome
from simulator.appends import write_appends, write_failed_sends
from simulator.frames import NULL
from simulator.log import Span, micros
from simulator.metadata import register_brokers, write_metadata, write_samples
from simulator.reading import read_all, stored_rows
from simulator.stories import (
    SAMPLES_UNTIL,
    WRITES_FROM,
    WRITES_UNTIL,
    expand_log,
    rotate,
    topic_plan,
    write_phase,
)
from simulator.universe import Change, Universe, group_plan

TRANSACTIONS = 12
TAKEN_OVER = 6
"""The transaction in whose midst a successor fences the first producer."""
_ABORTED_SHARE = 0.25
_SECONDS = (WRITES_UNTIL - WRITES_FROM) / TRANSACTIONS
_WRITING_SECONDS = _SECONDS / 2
_LEADER_CHANGE_AT = 50.0
_REFUSED = 3
"""The number of sends that a fenced producer still tries."""


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One transaction; `number` counts those of its producer, `end` is commit, abort or fenced."""

    producer: str
    number: int
    producer_epoch: int
    began: int
    ended: int
    end: str


def transactional_universe(index: int, seed: int, records: int, partitions: int) -> Universe:
    """Simulate one; `records` is for each partition."""
    topic = f"u{index:05d}.transactional"
    committed = group_plan(f"{topic}.committed", topic, isolation=Isolation.READ_COMMITTED)
    universe = Universe(
        index=index,
        topic=topic,
        partitions=partitions,
        records=records,
        seed=seed,
        plan=topic_plan(topic, partitions, replication=3, min_insync=2),
        groups=[committed, group_plan(f"{topic}.uncommitted", topic)],
    )
    replicas = [rotate(universe.brokers, p) for p in range(partitions)]
    register_brokers(universe)
    for partition, ids in enumerate(replicas):
        universe.changes += [
            Change(partition, universe.at(1.0), ids[0], 0, ids),
            Change(partition, universe.at(_LEADER_CHANGE_AT), ids[1], 1, ids),
        ]
    transactions = _transactions(universe)
    each = max(2, records // TRANSACTIONS)
    for partition in range(partitions):
        universe.spans += _spans(universe, transactions, partition, each)
    expand_log(universe)
    write_appends(universe, acks="all", replicas=universe.brokers)
    _refused_sends(universe, transactions)
    _write_steps(universe, transactions)
    write_metadata(universe, replicas)
    write_samples(universe, until=SAMPLES_UNTIL)
    for number in range(len(universe.groups)):
        read_all(universe, number)
    universe.add(stored_rows(universe, universe.frame("commits")))
    write_phase(universe, "transactions, one producer fenced by its successor")
    return universe


def _transactions(universe: Universe) -> list[Transaction]:
    """Each end raises the producer epoch (transaction.version=2), and so does the take-over."""
    aborts = universe.random(0).uniform(size=TRANSACTIONS) < _ABORTED_SHARE
    made = []
    epoch = 0
    for index in range(TRANSACTIONS):
        is_successors = index > TAKEN_OVER
        began = universe.at(WRITES_FROM + index * _SECONDS)
        end = "fenced" if index == TAKEN_OVER else ("abort" if aborts[index] else "commit")
        made.append(
            Transaction(
                producer=f"{universe.topic}.{'successor' if is_successors else 'first'}",
                number=index - TAKEN_OVER - 1 if is_successors else index,
                producer_epoch=epoch,
                began=began,
                ended=began + micros(_WRITING_SECONDS + 0.5),
                end=end,
            )
        )
        epoch += 2 if end == "fenced" else 1
    return made


def _spans(
    universe: Universe, transactions: list[Transaction], partition: int, each: int
) -> list[Span]:
    spans: list[Span] = []
    offset = 0
    sequences: dict[str, int] = {}
    for transaction in transactions:
        led = universe.led_at(partition, transaction.began)
        first = sequences.get(transaction.producer, partition * 10_000_000)
        marker_at = transaction.ended + micros(0.02)
        data = Span(
            partition=partition,
            epoch=led.epoch,
            leader=led.leader,
            first_offset=offset,
            count=each,
            began=transaction.began + micros(0.1),
            ended=transaction.began + micros(_WRITING_SECONDS),
            producer=transaction.producer,
            first_sequence=first,
            producer_id=universe.first_producer_id,
            producer_epoch=transaction.producer_epoch,
            base_sequence=0,
            transaction=transaction.number,
            visible=marker_at + micros(0.012),
            is_aborted=transaction.end != "commit",
        )
        marker = replace(
            data,
            first_offset=offset + each,
            count=1,
            began=marker_at,
            ended=marker_at,
            producer_epoch=transaction.producer_epoch + 1,
            base_sequence=-1,
            control="commit" if transaction.end == "commit" else "abort",
        )
        spans += [data, marker]
        offset += each + 1
        sequences[transaction.producer] = first + each
    return spans


def _refused_sends(universe: Universe, transactions: list[Transaction]) -> None:
    """Add the refused sends of the fenced producer."""
    fenced = transactions[TAKEN_OVER]
    write_failed_sends(
        universe,
        fenced.producer,
        0,
        _REFUSED,
        error="InvalidProducerEpochException",
        intended_micros=fenced.ended + micros(0.6),
        answered_micros=fenced.ended + micros(0.61),
        transaction=fenced.number,
    )


def _write_steps(universe: Universe, transactions: list[Transaction]) -> None:
    first, fenced = transactions[0], transactions[TAKEN_OVER]
    successor = transactions[TAKEN_OVER + 1]
    _step(universe, first, "initialize", "initialized", 0, at=universe.at(2.0))
    initialized = fenced.ended + micros(0.1)
    epoch = successor.producer_epoch
    _step(universe, successor, "initialize", "initialized", epoch, at=initialized)
    for transaction in transactions:
        _step(
            universe,
            transaction,
            "begin",
            "begun",
            transaction.producer_epoch,
            at=transaction.began,
        )
        if transaction.end == "fenced":
            _step(
                universe,
                transaction,
                "commit",
                "fenced",
                transaction.producer_epoch,
                at=transaction.ended + micros(0.7),
            )
        else:
            done = {"commit": "committed", "abort": "aborted"}[transaction.end]
            at = transaction.ended + micros(0.03)
            _step(
                universe, transaction, transaction.end, done, transaction.producer_epoch + 1, at=at
            )


def _step(
    universe: Universe, of: Transaction, step: str, change: str, epoch: int, *, at: int
) -> None:
    is_fenced = change == "fenced"
    universe.write(
        "transactions",
        worker=universe.worker,
        producer=of.producer,
        transactional_id=f"{universe.topic}.id",  # both producers use it, in turn
        transaction=NULL if step == "initialize" else of.number,
        step=step,
        change=change,
        producer_id=universe.first_producer_id,
        producer_epoch=epoch,
        state="",
        outcome=Outcome.FAILED.value if is_fenced else Outcome.OK.value,
        error="ProducerFencedException" if is_fenced else None,
        began_micros=at - micros(0.02),
        at_micros=at,
    )
