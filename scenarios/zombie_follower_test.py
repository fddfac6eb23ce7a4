"""Does a fenced or stale replica stay out of the ISR until it has caught up?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer, and a group that reads and commits, throughout.
Fault:   a follower of orders-0 falls behind, by one of six recipes.
         pause   its node is paused until it is fenced, then resumes.
         controllers   it is partitioned from the controller only, and continues to fetch.
         stale   as before; then the leader changes, while the old one is alive: the follower
                 continues to fetch from it under its stale epoch, until its log shows that it was
                 refused. Then the observer fetches as this follower from both leaders.
         both    it is partitioned from every server.
         wipe    it loses its disk.
         fill    its disk is full, so that its server shuts down.
Expect:  no fenced broker is in an ISR of a partition that is led, though it may fetch throughout
         (KIP-841). A fetch under a stale epoch is refused with FENCED_LEADER_EPOCH, and the
         follower waits for the new leader and epoch. Nothing is lost, and every reset has a cause.
Source:  KAFKA-6880, KIP-320, KIP-841, KIP-903.
"""

from functools import partial

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.protocol import VALIDATED
from contract.run_folder import Consequence
from contract.terms import Check, Stage
from harness.clients.views import PartitionState
from harness.faults import (
    Broker,
    BrokerFault,
    Cut,
    Elect,
    Fill,
    FollowerOf,
    LeaderOf,
    Links,
    Pause,
    Stop,
    Wipe,
)
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer
from harness.wire.requests import fetch, list_offsets, of_replica

RECORDS_PER_SECOND = 2000
WITHOUT_IT = 500
FOLLOWER = FollowerOf("orders", 0)
LAST_REPLICA = Broker(3)
RECIPES: dict[str, BrokerFault] = {
    "pause": Pause(FOLLOWER),
    "controllers": Cut(FOLLOWER, Links.CONTROLLERS),
    "stale": Cut(LAST_REPLICA, Links.CONTROLLERS),
    "both": Cut(FOLLOWER, Links.BOTH),
    "wipe": Wipe(FOLLOWER),
    "fill": Fill(FOLLOWER),
}
REFUSED_SECONDS = 30
_LIST_VERSION = 9
"""Of a request that every release supports."""


class ZombieFollowerScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(brokers=3, controllers=1)
    orders = durable_topic("orders", partitions=6)
    producers = (writer("writer", "orders"),)
    groups = (reader("readers", "orders"),)
    must_judge = (
        Check.LOST_RECORD,
        Check.FENCED_IN_ISR,
        Check.ISR_INCOMPLETE,
        Check.LOG_DIVERGENCE,
        Check.NEVER_CAUGHT_UP,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.UNJUSTIFIED_RESET,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_none(fenced_in_isr.rows + isr_incomplete.rows(verdict='violation'), "
        "asked='stay out of the ISR') }}: in {{ leaderships.rows | noun('change') }} of "
        "partitions, a fenced broker was in the ISR {{ fenced_in_isr.rows | noun('time') }}, and "
        "{{ isr_incomplete.rows | noun('member') }} of the last ISRs lacked committed records. "
        "{{ lost_record.records }} of {{ sends.records(outcome='ok') }} acknowledged records were "
        "lost."
    )
    follows = Consequence(
        sentence=(
            "Watch the ISR, not whether brokers run: a replica that runs, and even fetches, may "
            "be out of it, and only replicas in sync keep an acknowledged write ("
            "{{ lost_record.records }} were lost here)."
        ),
        document="KIP-841; Kafka documentation, Design: Replication",
    )

    @matrix(recipe=list(RECIPES))
    def test_zombie_follower(self, recipe: str) -> None:
        fault = RECIPES[recipe]
        with self.running(topics=[self.orders], groups=self.groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=RECORDS_PER_SECOND)
            load.await_acknowledged(["writer"], WITHOUT_IT)
            if recipe == "stale":
                self.lead_by_second(run)
            with run.fault(fault):
                run.await_out_of_isr("orders", 0, fault.broker)
                if recipe == "stale":
                    self.change_leader(run, fault.broker)
                run.phases.enter(Stage.HELD, "the other replicas continue")
                load.await_acknowledged(["writer"], WITHOUT_IT)
            run.phases.enter(Stage.HEALED, "the follower catches up")
            load.await_acknowledged(["writer"], WITHOUT_IT)
            run.settle()
            run.read_to_end(self.groups)

    def lead_by_second(self, run: Run) -> None:
        """Make the second replica the leader, so that the first can be elected again."""
        with run.fault(Stop(LeaderOf("orders", 0))):
            run.await_leader("orders", 0, 2)
        run.settle()

    def change_leader(self, run: Run, follower: int) -> None:
        """Elect the preferred leader, and wait until the old leader has refused the follower.

        The old leader logs that it follows under the new epoch, the follower that its fetch from
        the old leader was answered with FENCED_LEADER_EPOCH.

        Raises:
            WaitTimeoutError: one of them did not log it in time: the run can't answer its question.
        """
        before = run.observer.await_state("orders", 0, lambda _: True, what="any view of orders-0")
        run.inject(Elect("orders", 0, unclean=False))
        epoch = run.leader_epoch("orders", 0)
        deposed = f"Follower orders-0 starts at leader epoch {epoch} "
        refused = (
            f"[ReplicaFetcher replicaId={follower}, leaderId={before.leader}, fetcherId=0] "
            f"Partition orders-0 has an older epoch ({before.leader_epoch})"
        )
        run.observer.await_that(
            lambda: deposed in self.log(run, before.leader) and refused in self.log(run, follower),
            what=f"broker {before.leader} to refuse fetches of broker {follower} under epoch "
            f"{before.leader_epoch}",
            timeout_seconds=REFUSED_SECONDS,
            recent=lambda: run.kafka.log_tail(follower),
        )
        self.fetch_as(run, follower, epoch, before)

    def fetch_as(self, run: Run, follower: int, epoch: int, before: PartitionState) -> None:
        """Fetch as the follower from the new leader and from the old one, with its stale epoch.

        By accepting their own epoch first, both show that they have it.
        """
        seen = run.observer.await_state(
            "orders",
            0,
            lambda partition: partition.leader_epoch == epoch,
            what="the new leader of orders-0",
        )
        own = list_offsets(topic="orders", version=_LIST_VERSION, current_leader_epoch=epoch)
        stale = of_replica(partial(fetch, topic_id=run.wire.topic_id("orders")), follower)
        for broker in (seen.leader, before.leader):
            run.wire.call(broker, [own])
            for current in (before.leader_epoch, epoch + 1):
                run.wire.call_each_version(
                    broker,
                    stale,
                    topic="orders",
                    since=VALIDATED["FETCH"],
                    current_leader_epoch=current,
                )

    def log(self, run: Run, broker: int) -> str:
        """Return a broker's log so far."""
        return run.kafka.host(broker).read(run.kafka.log_file(broker)).decode(errors="replace")
