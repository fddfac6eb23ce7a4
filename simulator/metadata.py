"""The rows of the metadata log and the observer about a universe."""

from collections.abc import Sequence

import numpy as np

from simulator.frames import Frame
from simulator.log import REPLICATION_MICROS
from simulator.universe import BrokerChange, Change, Universe

_SAMPLE_SECONDS = 10
_METADATA_EPOCH = 1
_ASKING_MICROS = 50
"""Time from the observer's request to the response."""


def register_brokers(universe: Universe) -> None:
    """Its brokers register, and are unfenced."""
    for number, broker in enumerate(universe.brokers):
        for seconds, is_start in ((0.1, True), (0.5, False)):
            at = universe.at(seconds + number / 100)
            change = BrokerChange(broker, at, is_fenced=is_start, is_start=is_start)
            universe.broker_changes.append(change)


def write_metadata(universe: Universe, replicas: Sequence[tuple[int, ...]]) -> None:
    """Add leaderships and broker_states; their metadata offsets only order what is simultaneous.

    Args:
        universe: with changes and broker_changes.
        replicas: of each partition, the preferred leader first.
    """
    for change in universe.changes:
        universe.add(leadership(universe, change, replicas[change.partition]))
    epochs: dict[int, int] = {}
    for state in universe.broker_changes:
        universe.add(broker_state(state, epochs))


def leadership(universe: Universe, change: Change, replicas: tuple[int, ...]) -> Frame:
    """A change of a partition; within its moment it comes after a shutdown, before fencing."""
    return Frame.of(
        "leaderships",
        topic=universe.topic,
        partition=change.partition,
        leader=change.leader,
        leader_epoch=change.epoch,
        replicas=replicas,
        isr=change.isr,
        metadata_offset=1,
        metadata_epoch=_METADATA_EPOCH,
        at_micros=change.at // 1000 * 1000,
    )


def broker_state(state: BrokerChange, epochs: dict[int, int]) -> Frame:
    """A change of a broker; who registers again gets a new broker epoch."""
    epochs[state.broker] = epochs.get(state.broker, 0) + state.is_start
    return Frame.of(
        "broker_states",
        broker=state.broker,
        broker_epoch=epochs[state.broker],
        is_fenced=state.is_fenced,
        in_controlled_shutdown=state.in_controlled_shutdown,
        metadata_offset=2 if state.is_fenced else 0,
        at_micros=state.at // 1000 * 1000,
    )


def write_samples(universe: Universe, *, until: float) -> None:
    """Add the observer's samples every ten seconds, of leaders with the log's bounds."""
    log = universe.the_log()
    for seconds in np.arange(2, until, _SAMPLE_SECONDS):
        for partition in range(universe.partitions):
            at = universe.at(float(seconds)) + partition * 100
            led = universe.led_at(partition, at)
            if led.leader < 0:
                continue
            readable = (log.partition == partition) & (log.at + REPLICATION_MICROS <= at)
            branch = readable & (log.epoch <= led.epoch)
            branch &= ~log.is_cut | (log.epoch == led.epoch)
            end = int(log.offset[branch].max()) + 1 if branch.any() else 0
            for number, broker in enumerate(universe.brokers):
                if not _is_up(universe, broker, at):
                    continue
                leads = broker == led.leader
                universe.write(
                    "samples",
                    broker=broker,
                    topic=universe.topic,
                    partition=partition,
                    leader=led.leader,
                    leader_epoch=led.epoch,
                    isr=led.isr,
                    log_start_offset=0 if leads else -1,
                    log_end_offset=end if leads else -1,
                    at_micros=at + number,
                    asked_micros=at + number - _ASKING_MICROS,
                )


def _is_up(universe: Universe, broker: int, at: int) -> bool:
    states = [c for c in universe.broker_changes if c.broker == broker and c.at <= at]
    return bool(states) and not states[-1].is_fenced
