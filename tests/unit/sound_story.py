"""Does an acknowledged record survive when its leader is killed?

Cluster: 3 brokers; one topic of 3 partitions with 3 replicas, 2 of them in sync.
Load:    one producer with acks=all, and a group that reads and commits, throughout.
Fault:   the leader of orders-0 is killed, and starts again once another broker leads.
Expect:  no acknowledged record is lost, skipped or damaged.
Source:  Kafka documentation, producer configuration acks.
"""

from collections.abc import Sequence

from fencepost.scenario import (
    Check,
    Expectation,
    Kill,
    LeaderOf,
    Scenario,
    Stage,
    Topology,
    durable_topic,
    reader,
    writer,
)


class OwnScenario(Scenario):
    """A leader is killed while clients write and read."""

    # The cluster: its size, and `settings` of its servers.
    topology = Topology(brokers=3)
    # The topic. A TopicPlan(...) has all that a topic may have.
    orders = durable_topic("orders", partitions=3)
    # The producers: their client, acks, rate, and settings by the client's own names.
    producers = (writer("writer", "orders", settings={"linger.ms": 5}),)
    # The groups: their client, members, reset policy, and settings by the client's own names.
    groups = (reader("readers", "orders", settings={"max.poll.records": "500"}),)
    # The checks that the question is about. All others are judged, too.
    must_judge = (Check.LOST_RECORD, Check.SKIPPED_RECORD, Check.FAULT_LANDED)
    # What has to be found, such as Expectation(check=Check.LOST_RECORD). A violation that is not
    # expected fails the run.
    expects: Sequence[Expectation] = ()
    # The first sentence of the report. Its figures are counted in the run.
    answer = (
        "{{ yes_if_none(lost_record.records, asked='survive') }}: of "
        "{{ sends.records(outcome='ok') | noun('acknowledged record') }}, "
        "{{ lost_record.records }} were lost."
    )

    def test_own(self) -> None:
        """The story, in the verbs of docs/verbs.md."""
        with self.running(topics=[self.orders], groups=self.groups, expects=self.expects) as run:
            # Settings of the topic: run.create(..., settings={"segment.bytes": "1048576"}).
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, self.groups, records_per_second=500)
            load.await_acknowledged(["writer"], 500)
            epoch = run.leader_epoch("orders", 0)

            # The fault: docs/faults.md has all. It holds until the end of the block.
            with run.fault(Kill(LeaderOf("orders", 0))):
                run.await_epoch_above(self.orders, [0], epoch)
                run.note("another broker leads orders-0")
                load.await_acknowledged(["writer"], 500)
            run.phases.enter(Stage.HEALED, "the killed broker follows")
            load.await_acknowledged(["writer"], 500)
            run.settle()
            run.read_to_end(self.groups)
