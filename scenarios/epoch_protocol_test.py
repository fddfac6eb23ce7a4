"""Does each broker validate and report leader epochs on the wire as KIP-320 says?

Cluster: 3 brokers; one topic of one partition with 3 replicas. Its leader changes three times, all
         replicas being in sync; nothing is written in the third epoch, which the others skip.
Load:    50 records in each other epoch. Then requests, each at every version that the broker
         supports, to the leader and to a follower.
Fault:   none but the leader changes. At the end DeleteRecords removes the first epoch.
Expect:  Fetch, ListOffsets and OffsetForLeaderEpoch with an older current leader epoch are refused
         with FENCED_LEADER_EPOCH, with a newer one with UNKNOWN_LEADER_EPOCH, by a follower too.
         Without an epoch, and at versions from before KIP-320, nothing is validated. End offsets,
         diverging epochs and reported epochs are those of the leader's log.
Source:  KIP-320; KIP-595 (diverging epochs of Fetch).
"""

from functools import partial
from itertools import product

from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.checks import Check
from contract.events import NO_EPOCH
from contract.stages import Stage
from harness.faults.elect import Elect
from harness.faults.reassign import Reassign
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.wire.requests import (
    EARLIEST,
    LATEST,
    Request,
    fetch,
    list_offsets,
    metadata,
    offset_for_leader_epoch,
)

PER_EPOCH = 50
FIRST, SECOND, SKIPPED, CURRENT = 0, 1, 2, 3
EPOCHS = (FIRST, SECOND, SKIPPED, CURRENT, CURRENT + 1)
CURRENT_EPOCHS = (CURRENT, NO_EPOCH, SKIPPED, CURRENT + 1)
"""As clients give them: the broker's, which shows that it has it; none; an older, a newer one."""
FETCHED = (
    (FIRST, PER_EPOCH),
    (FIRST, PER_EPOCH + 10),
    (SECOND, 2 * PER_EPOCH),
    (SKIPPED, 2 * PER_EPOCH),
    (CURRENT, 2 * PER_EPOCH + 10),
    (CURRENT + 1, 2 * PER_EPOCH),
)
"""Last fetched epochs, each with the fetch offset."""
LOG_START = PER_EPOCH + 10
FIRST_WITH_LAST_FETCHED = 12
FIRST_WITH_METADATA_EPOCH = 7


class EpochProtocolScenario(Scenario):
    """A log of four epochs, and what its brokers say of them."""

    topology = Topology(brokers=3)
    orders = replace(durable_topic("orders", partitions=1), deletes=True)
    must_judge = (
        Check.WRONG_EPOCH_ERROR,
        Check.WRONG_EPOCH_END,
        Check.WRONG_DIVERGING_EPOCH,
        Check.WRONG_REPORTED_EPOCH,
        Check.MALFORMED_RESPONSE,
        Check.LOST_RECORD,
        Check.EPOCH_CACHE_MISMATCH,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )

    def test_epoch_protocol(self) -> None:
        with self.running(topics=[self.orders]) as run:
            run.create(assignment=[1, 2, 3])
            run.watch()
            self.write_epochs(run)
            run.phases.enter(Stage.STEADY, "requests to every broker")
            run.log_ends(self.orders)
            for broker in run.kafka.topology.broker_ids:
                self.validate(run, broker)
                self.report(run, broker)
            self.ask_ends(run)
            run.phases.enter(Stage.STEADY, "requests after the first epoch was removed")
            run.observer.delete_records("orders", 0, before_offset=LOG_START)
            self.ask_ends(run)
            self.report(run, 1)
            run.settle()

    def write_epochs(self, run: Run) -> None:
        """Write the first, second and last epoch, and leave the third without a record."""
        run.phases.enter(Stage.WARM_UP, "the leader changes, and each epoch is written")
        for epoch, leader in ((FIRST, 1), (SECOND, 2), (SKIPPED, 3), (CURRENT, 1)):
            if epoch > FIRST:
                others = [broker for broker in (1, 2, 3) if broker != leader]
                run.inject(Reassign("orders", 0, replicas=[leader, *others]))
                run.inject(Elect("orders", 0, unclean=False))
            if epoch != SKIPPED:
                run.produce("orders", count=PER_EPOCH, producer=f"epoch-{epoch}")

    def validate(self, run: Run, broker: int) -> None:
        """Give each current leader epoch in each API."""
        fetch_by_id = partial(fetch, topic_id=run.wire.topic_id("orders"))
        first_end = partial(offset_for_leader_epoch, epoch=FIRST)
        requests: list[Request] = [fetch_by_id, list_offsets, first_end]
        for epoch, request in product(CURRENT_EPOCHS, requests):
            run.wire.call_each_version(broker, request, topic="orders", current_leader_epoch=epoch)

    def report(self, run: Run, broker: int) -> None:
        """Ask for the epochs of the leader, of the log's bounds and of the first record."""
        since = FIRST_WITH_METADATA_EPOCH
        run.wire.call_each_version(broker, metadata, since=since, topic="orders")
        for timestamp in (EARLIEST, LATEST, 0):
            run.wire.call_each_version(broker, list_offsets, topic="orders", timestamp=timestamp)

    def ask_ends(self, run: Run) -> None:
        """Ask the leader where epochs end, and whether fetched ones diverge."""
        ask = partial(run.wire.call_each_version, 1, topic="orders", current_leader_epoch=CURRENT)
        for epoch in EPOCHS:
            ask(offset_for_leader_epoch, epoch=epoch)
        fetch_by_id = partial(fetch, topic_id=run.wire.topic_id("orders"))
        since = FIRST_WITH_LAST_FETCHED
        for epoch, offset in FETCHED:
            ask(fetch_by_id, since=since, last_fetched_epoch=epoch, offset=offset)
