"""Where does a consumer begin to read if the response of its OffsetFetch is late, or an error?

Cluster: 1 broker, whose clients reach it through a proxy; one topic of one partition.
Load:    a group of each client reads 50 records and commits 50; 50 records follow.
Fault:   one of two, for each group, whose member has no subscription.
         late     the member is assigned the partition, to be read from the commit. The response of
                  its OffsetFetch is held. The partition is assigned again, from offset 10, and the
                  response passes.
         refused  the member is assigned the partition, to be read from the commit. The response of
                  its OffsetFetch is NOT_COORDINATOR, once.
         Then the member reads to the log end, and again if a poll raised an exception. KIP-848's
         consumer is not asked for `late`: the call that asks for its position ends with the
         response, or the connection.
Expect:  late     the member reads from 10: an explicit offset holds, whatever comes later.
         refused  Java and kafka-python look for the coordinator, ask again and read from 50.
                  librdkafka 2.16.0 does not ask again: after one error it has no position, and gets
                  nothing (`rd_kafka_assignment_apply_offsets`).
Source:  librdkafka #5345, #5586.
"""

from functools import partial

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.protocol import OFFSET_FETCH
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.software import INSTALLED, Client
from contract.terms import Check, Stage
from harness.faults import Hold, Refuse
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

COMMITTED, MORE, EXPLICIT = 50, 50, 10
FAILED = "failed"
READ_SECONDS = 35
"""Longer than an error that took an instant may excuse a member."""


class LateOffsetFetchScenario(Scenario):
    """One member of each client, one after the other."""

    topology = Topology(brokers=1, is_proxied=True)
    orders = TopicPlan(
        topic="orders", partitions=1, replication=1, min_insync=1, unclean_election=False
    )
    groups = tuple(reader(client, "orders", client=client) for client in INSTALLED)
    must_judge = (
        Check.STUCK_CONSUMER,
        Check.START_MISMATCH,
        Check.UNJUSTIFIED_RESET,
        Check.SKIPPED_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "Of {{ group_events.groups(change='assigned') | noun('group') }}, "
        "{{ stuck_consumer.groups }} stood still ({{ stuck_consumer.client }}), "
        "{{ start_mismatch.groups(verdict='violation') }} began elsewhere than assigned and "
        "{{ skipped_record.groups }} skipped records."
    )
    follows = Consequence(
        sentence=(
            "After assign, check that the consumer has a position: "
            "{{ stuck_consumer.groups | noun('group') }} got nothing, without an end."
        ),
        document="Javadoc of KafkaConsumer, assign and position",
    )

    @matrix(response=["late", "refused"])
    def test_late_offset_fetch(self, response: str) -> None:
        groups = [
            group
            for group in self.groups_here(self.groups)
            if response == "refused" or group.client != Client.JAVA_CONSUMER
        ]
        stuck = Expectation(check=Check.STUCK_CONSUMER, groups=[Client.LIBRDKAFKA])
        expects = [stuck] if response == "refused" else []
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[1])
            run.watch()
            run.phases.enter(Stage.WARM_UP, "each group reads and commits")
            run.produce("orders", count=COMMITTED, producer="writer")
            members = run.open(groups, incarnation=1)
            run.consume(members)
            run.commit(groups, incarnation=1)
            run.close(members)
            run.produce("orders", count=MORE, producer="writer")
            for group in groups:
                (member,) = run.open([group], incarnation=2, is_subscribed=False)
                if response == "late":
                    self.be_late(run, group, member)
                else:
                    self.refuse(run, group, member)
                run.phases.enter(Stage.HEALED, f"{member} reads on")
                if run.consume([member], timeout_seconds=READ_SECONDS)[member] == FAILED:
                    run.consume([member], timeout_seconds=READ_SECONDS)
                run.close([member])

    def be_late(self, run: Run, group: GroupPlan, member: str) -> None:
        """Let the response come after a second assignment, which has an offset."""
        with run.fault(Hold(OFFSET_FETCH, group.group, by=partial(self.begin, run, member))):
            run.workload.stop_reading([member])
            run.calls.assign([member], offset=EXPLICIT)

    def refuse(self, run: Run, group: GroupPlan, member: str) -> None:
        """Let the response be an error, once."""
        begin = partial(self.begin, run, member)
        run.inject(Refuse(OFFSET_FETCH, group.group, error="NOT_COORDINATOR", by=begin))
        run.workload.stop_reading([member])

    def begin(self, run: Run, member: str) -> None:
        """Assign the partition, to be read from the commit, and poll."""
        run.calls.assign([member])
        run.workload.start_reading([member])
