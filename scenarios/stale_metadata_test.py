"""Does a consumer with old metadata go back in time, or wait until it knows the committed epoch?

Cluster: 2 brokers, 1 controller; topics `short` and `long`, one partition each, on both brokers.
Fault:   their leader is partitioned from the controller. It stays a zombie of epoch E and returns
         its old metadata to all clients. The other broker, which also coordinates all groups, leads
         under E+1 and appends 100 records. Every group reads them, commits (200, epoch E+1) and
         is closed; 50 records follow. In `short` the zombie's log ends at 100, below the committed
         offset; in `long` it acknowledges 250 records of its own, up to 350. Each group is opened
         again with the zombie as its only bootstrap server. A group that does not reach the log
         end while the zombie is partitioned continues after the heal.
Expect:  no group fetches before its metadata is as new as the committed epoch: each resumes at
         200 and reads each record once. Java 4.4.0 waits, but a second response of the zombie ends
         its refreshes: it makes no progress after the heal either. kafka-python 3.0.12 drops the
         committed epoch and fetches from the zombie. Out of range in `short` it resets by its
         policy, though its position is valid. In `long` it makes no progress until the heal.
         librdkafka 2.16.0 may lose its metadata request to the zombie, and then does not join
         while the others read. Each client chooses the broker for its request, so that only some
         groups are affected.
Source:  KIP-232, KIP-320; runs and the clients' source: docs/stale-metadata.md.
"""

from itertools import product

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.software import INSTALLED, Client
from contract.terms import Check, ResetPolicy, Stage
from harness.faults import Cut, LeaderOf, Links
from harness.story.run import Run
from harness.story.scenario import Scenario
from harness.story.workload import reader

REPLICATED, NEW, ORPHANED, LATER = 100, 100, 250, 50
STALE_SECONDS, HEALED_SECONDS = 10, 15
SHORT, LONG = "short", "long"
COPIES = {(Client.KAFKA_PYTHON, SHORT): 9, (Client.KAFKA_PYTHON, LONG): 2} | {
    (Client.JAVA, topic): 2 for topic in (SHORT, LONG)
}
"""The number of groups for each kind of several: enough that some of them query the zombie."""


def _groups() -> tuple[GroupPlan, ...]:
    return tuple(
        reader(f"{client}.{reset}.{topic}.{copy}", topic, client=client, reset=reset)
        for client, reset, topic in product(INSTALLED, ResetPolicy, (SHORT, LONG))
        for copy in range(COPIES.get((client, topic), 1))
    )


class StaleMetadataScenario(Scenario):
    """One zombie for all: each combination of client, policy and topic is one group or several."""

    topology = Topology(brokers=2, controllers=1, settings={"offsets.topic.num.partitions": "1"})
    topics = tuple(
        TopicPlan(topic=topic, partitions=1, replication=2, min_insync=1, unclean_election=False)
        for topic in (SHORT, LONG)
    )
    groups = _groups()
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.STALE_READ,
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.STUCK_CONSUMER,
        Check.LOST_RECORD,
        Check.SERVED_UNDER_FENCED_EPOCH,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ resumption.groups(resumed_at=200) }} of {{ resumption.groups | noun('group') }} "
        "resumed at the committed offset 200. {{ unjustified_reset.groups | noun('group') }} "
        "reset though the position was valid ({{ unjustified_reset.client }}); "
        "{{ stuck_consumer.groups(verdict='violation') }} made no progress even after the heal ("
        "{{ stuck_consumer.client(verdict='violation') }})."
    )
    follows = Consequence(
        sentence=(
            "Give a client more than one bootstrap server: with a deposed leader as the only one, "
            "{{ resumption.groups(resumed_at=200) }} of {{ resumption.groups | noun('group') }} "
            "resumed where they had committed, {{ unjustified_reset.groups }} were reset, and "
            "{{ stuck_consumer.groups(verdict='violation') }} still waited after the heal."
        ),
        document="KIP-232; Kafka documentation, consumer configuration bootstrap.servers",
    )

    def test_stale_metadata(self) -> None:
        groups = self.groups_here(self.groups)
        expects = _expectations(groups)
        with self.running(topics=self.topics, groups=groups, expects=expects) as run:
            successor = run.observer.coordinator("any")
            (zombie,) = set(run.kafka.topology.broker_ids) - {successor}
            run.create(assignment=[zombie, successor])
            run.watch()
            for topic in self.topics:
                run.produce(topic.topic, count=REPLICATED, producer="replicated")
            with run.fault(Cut(LeaderOf(SHORT, 0), Links.CONTROLLERS)):
                for topic in self.topics:
                    run.await_leader(topic.topic, 0, successor)
                    run.produce(topic.topic, count=NEW, producer="new", through=successor)
                run.produce(LONG, count=ORPHANED, producer="orphaned", acks="1", through=zombie)
                run.phases.enter(
                    Stage.HELD, f"{len(groups)} groups read to {REPLICATED + NEW} and commit"
                )
                first = run.open(groups, incarnation=1, through=successor)
                run.consume(first)
                run.commit(groups, incarnation=1)
                run.close(first)
                for topic in self.topics:
                    run.produce(topic.topic, count=LATER, producer="later", through=successor)

                self.require_stale(run, zombie)
                run.phases.enter(Stage.HELD, "groups are opened again through the zombie")
                members = run.open(groups, incarnation=2, through=zombie)
                with run.observer.awaiting("groups to get past the zombie's old metadata"):
                    ended = run.consume(members, timeout_seconds=STALE_SECONDS)
                self.require_stale(run, zombie)
            run.settle()
            run.phases.enter(Stage.FINAL_READ, "stalled groups continue")
            stalled = [member for member, how in ended.items() if how == "stalled"]
            run.consume(stalled, timeout_seconds=HEALED_SECONDS)
            run.close(members)

    def require_stale(self, run: Run, zombie: int) -> None:
        """Check that the zombie still reports itself as leader, under an older epoch than now.

        Raises:
            WaitTimeoutError: it does not, so that the run can't answer its question.
        """
        for topic in self.topics:
            epoch = run.leader_epoch(topic.topic, 0)

            def is_stale(name: str = topic.topic, epoch: int = epoch) -> bool:
                view = run.observer.view(zombie, name, 0)
                return view is not None and view.leader == zombie and view.leader_epoch < epoch

            run.observer.await_that(
                is_stale,
                what=f"broker {zombie} to return old metadata of {topic.topic}",
                timeout_seconds=STALE_SECONDS,
            )


def _expectations(groups: list[GroupPlan]) -> tuple[Expectation, ...]:
    """The findings on those groups of a kind that query the zombie."""
    waiting = [group.group for group in groups if group.client != Client.KAFKA_PYTHON]
    python = [group.group for group in groups if group.client == Client.KAFKA_PYTHON]
    short = [group for group in python if f".{SHORT}." in group]
    return (
        Expectation(check=Check.STUCK_CONSUMER, groups=waiting, in_each=False),
        Expectation(check=Check.UNJUSTIFIED_RESET, groups=short, in_each=False),
        Expectation(check=Check.STUCK_CONSUMER, groups=python, in_each=False, verdict="permitted"),
        Expectation(check=Check.LOST_RECORD, verdict="permitted"),
        Expectation(check=Check.SERVED_UNDER_FENCED_EPOCH, verdict="permitted"),
    )
