"""Does each broker validate and report leader epochs on the wire as KIP-320 says?

Cluster: 3 brokers with an authorizer; one topic of one partition with 3 replicas. Its leader
         changes three times, all replicas being in sync; nothing is written in the third epoch,
         which the others skip.
Load:    50 records in each other epoch. Then requests, each at every version that the broker
         supports, to the leader and to both followers; some as of a replica, and some of principals
         with Describe on the topic, with ClusterAction on the cluster, and with neither. Both Java
         consumers and librdkafka look up offsets by time (`offsetsForTimes`).
Fault:   none but the leader changes. At the end DeleteRecords removes the first epoch.
Expect:  Fetch, ListOffsets and OffsetForLeaderEpoch with an older current leader epoch are refused
         with FENCED_LEADER_EPOCH, with a newer one with UNKNOWN_LEADER_EPOCH, by a follower too.
         Without an epoch, and at versions from before KIP-320, nothing is validated. End offsets,
         diverging epochs and reported epochs are those of the leader's log; a client returns the
         epoch of the record at the offset that it returns. OffsetForLeaderEpoch needs Describe on
         the topic or ClusterAction on the cluster.
Source:  KIP-320; KIP-595 (diverging epochs of Fetch).
"""

import time
from functools import partial
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.events import NO_EPOCH
from contract.protocol import (
    FIRST_WITH_LAST_FETCHED,
    FIRST_WITH_METADATA_EPOCH,
    FIRST_WITH_REPLICA,
)
from contract.run_folder import Consequence
from contract.software import Client, clients_of
from contract.terms import Check, Stage
from harness.faults import Elect, Reassign
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.wire.requests import (
    CLUSTER_ACTION,
    DESCRIBE,
    EARLIEST,
    LATEST,
    Request,
    fetch,
    list_offsets,
    metadata,
    of_replica,
    offset_for_leader_epoch,
)

ORDERS = replace(durable_topic("orders", partitions=1), deletes=True)
READER, REPLICA, STRANGER = "reader", "replica", "stranger"
"""Principals: with Describe on the topic, with ClusterAction on the cluster, with neither."""
PER_EPOCH = 50
LOG_START = PER_EPOCH + 10
"""Where the log starts after the deletion: within the second epoch."""


MILLISECOND = 1_000_000
"""In nanoseconds."""
LOOKUPS = 20
LOOKING_UP = (Client.JAVA, Client.JAVA_CONSUMER, Client.LIBRDKAFKA)


class Epochs(NamedTuple):
    """The leader epochs of the log; nothing is written in the third."""

    first: int
    second: int
    skipped: int
    current: int

    @property
    def unknown(self) -> int:
        """An epoch that there never was."""
        return self.current + 1

    @property
    def fetched(self) -> list[tuple[int, int]]:
        """Last fetched epochs, each with a fetch offset."""
        return [
            (self.first, PER_EPOCH),
            (self.first, PER_EPOCH + 10),
            (self.second, 2 * PER_EPOCH),
            (self.skipped, 2 * PER_EPOCH),
            (self.current, 2 * PER_EPOCH + 10),
            (self.unknown, 2 * PER_EPOCH),
        ]


def write_epochs(run: Run) -> Epochs:
    """Write the first, second and last epoch, and leave the third without a record."""
    run.phases.enter(Stage.WARM_UP, "the leader changes, and each epoch is written")
    epochs: list[int] = []
    for leader, is_skipped in ((1, False), (2, False), (3, True), (1, False)):
        if epochs:
            others = [broker for broker in (1, 2, 3) if broker != leader]
            run.inject(Reassign("orders", 0, replicas=[leader, *others]))
            run.inject(Elect("orders", 0, unclean=False))
        epochs.append(run.leader_epoch("orders", 0))
        if not is_skipped:
            run.produce("orders", count=PER_EPOCH, producer=f"epoch-{epochs[-1]}")
    return Epochs(*epochs)


class EpochProtocolScenario(Scenario):
    """A log of four epochs, and what its brokers say of them."""

    topology = Topology(brokers=3, principals=(READER, REPLICA, STRANGER))
    must_judge = (
        Check.WRONG_EPOCH_ERROR,
        Check.WRONG_EPOCH_END,
        Check.WRONG_DIVERGING_EPOCH,
        Check.WRONG_REPORTED_EPOCH,
        Check.MALFORMED_RESPONSE,
        Check.WRONG_AUTHORIZATION,
        Check.LOST_RECORD,
        Check.EPOCH_CACHE_MISMATCH,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(wrong_epoch_error.rows + wrong_epoch_end.rows + "
        "wrong_diverging_epoch.rows + wrong_reported_epoch.rows + malformed_response.rows + "
        "wrong_authorization.rows, asked='as KIP-320 says') }}: of "
        "{{ wire_calls.rows | noun('response') }} about a partition, {{ wrong_epoch_error.rows }} "
        "validated the leader epoch otherwise than KIP-320 says, "
        "{{ wrong_epoch_end.rows + wrong_diverging_epoch.rows }} had another end than the log, "
        "{{ wrong_reported_epoch.rows }} another epoch, {{ malformed_response.rows }} were "
        "malformed, and {{ wrong_authorization.rows }} refused or served the wrong principal."
    )
    follows = Consequence(
        sentence=(
            "A client should send the current leader epoch with Fetch, ListOffsets and "
            "OffsetForLeaderEpoch: a broker compares it only where it is sent, and "
            "{{ wrong_epoch_error.rows }} of {{ wire_calls.rows | noun('response') }} compared it "
            "otherwise than documented."
        ),
        document="KIP-320, Proposed Changes",
    )

    def test_epoch_protocol(self) -> None:
        with self.running(topics=[ORDERS]) as run:
            run.create(assignment=[1, 2, 3])
            run.wire.allow(1, READER, DESCRIBE, topic="orders")
            run.wire.allow(1, REPLICA, CLUSTER_ACTION)
            run.watch()
            began_ms = time.time_ns() // MILLISECOND
            epochs = write_epochs(run)
            written = range(began_ms, time.time_ns() // MILLISECOND)
            run.phases.enter(Stage.STEADY, "requests to every broker")
            run.log_ends(ORDERS)
            for broker in run.kafka.topology.broker_ids:
                self.validate(run, broker, epochs)
                self.report(run, broker)
            self.validate_replicas(run, epochs)
            self.authorize(run, epochs)
            self.ask_ends(run, epochs)
            self.look_up(run, written)
            run.phases.enter(Stage.STEADY, "requests after the first epoch was removed")
            run.observer.delete_records("orders", 0, before_offset=LOG_START)
            self.ask_ends(run, epochs)
            self.report(run, 1)
            self.look_up(run, written)
            run.settle()

    def validate(self, run: Run, broker: int, epochs: Epochs) -> None:
        """Give each current leader epoch in each API.

        The first is the broker's own: by accepting it, it shows that it has it.
        """
        fetch_by_id = partial(fetch, topic_id=run.wire.topic_id("orders"))
        first_end = partial(offset_for_leader_epoch, epoch=epochs.first)
        requests: list[Request] = [fetch_by_id, list_offsets, first_end]
        given = (epochs.current, NO_EPOCH, epochs.skipped, epochs.unknown)
        for epoch, request in product(given, requests):
            run.wire.call_each_version(broker, request, topic="orders", current_leader_epoch=epoch)

    def validate_replicas(self, run: Run, epochs: Epochs) -> None:
        """Give the leader a wrong epoch as broker 2."""
        fetch_by_id = partial(fetch, topic_id=run.wire.topic_id("orders"))
        first_end = partial(offset_for_leader_epoch, epoch=epochs.first)
        ask = partial(run.wire.call_each_version, 1, topic="orders")
        for epoch in (epochs.skipped, epochs.unknown):
            ask(of_replica(fetch_by_id, 2), current_leader_epoch=epoch)
            since = FIRST_WITH_REPLICA
            ask(of_replica(first_end, 2), since=since, current_leader_epoch=epoch)

    def authorize(self, run: Run, epochs: Epochs) -> None:
        """Ask the leader as each principal."""
        ask = partial(run.wire.call_each_version, 1, offset_for_leader_epoch, topic="orders")
        for principal in self.topology.principals:
            ask(principal=principal, epoch=epochs.first)

    def report(self, run: Run, broker: int) -> None:
        """Ask for the epochs of the leader, of the log's bounds and of the first record."""
        since = FIRST_WITH_METADATA_EPOCH
        run.wire.call_each_version(broker, metadata, since=since, topic="orders")
        for timestamp in (EARLIEST, LATEST, 0):
            run.wire.call_each_version(broker, list_offsets, topic="orders", timestamp=timestamp)

    def look_up(self, run: Run, written: range) -> None:
        """Let each client look up times from before the first record to after the last one."""
        times = [0, *written[:: max(1, len(written) // LOOKUPS)], written.stop]
        for client in clients_of(self.session.kafka):
            if client in LOOKING_UP:
                run.wire.offsets_for_times(client, topic="orders", partition=0, timestamps_ms=times)

    def ask_ends(self, run: Run, epochs: Epochs) -> None:
        """Ask the leader where epochs end, and whether fetched ones diverge."""
        current = epochs.current
        ask = partial(run.wire.call_each_version, 1, topic="orders", current_leader_epoch=current)
        for epoch in (*epochs, epochs.unknown):
            ask(offset_for_leader_epoch, epoch=epoch)
        fetch_by_id = partial(fetch, topic_id=run.wire.topic_id("orders"))
        since = FIRST_WITH_LAST_FETCHED
        for epoch, offset in epochs.fetched:
            ask(fetch_by_id, since=since, last_fetched_epoch=epoch, offset=offset)
