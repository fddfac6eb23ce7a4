"""Can a consumer that was paused beyond its session still commit, or keep its partitions?

Cluster: 3 brokers, 1 controller; one topic of 6 partitions with 3 replicas, 2 of them in sync.
Load:    an acks=all producer throughout; two groups, one of the classic group protocol and one of
         KIP-848's, with two members each, in two processes.
Fault:   the process with the second member of each group is paused until its session has expired
         and the first member owns its partitions and has committed beyond it. By recipe, the
         second member `reads on`, so that it is paused between polls and commits, or it `commits`:
         it has stopped polling with an uncommitted position, and its first call after it
         resumes is a commit.
Expect:  the commit of an expired member fails, at the coordinator or in its client, or it has
         nothing to commit any more. No commit goes back. Records that the member had read beyond
         its last commit are redelivered to its successor. It may consider itself the owner of its
         partitions until it polls. Then it rejoins its group.
Source:  KIP-62, KIP-848, KIP-1251.
"""

from ducktape.mark import matrix

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation
from contract.software import Client
from contract.terms import Check, Stage
from harness.clients.process import JAVA_WORKER
from harness.faults import PauseClient
from harness.story.consumers import members_of
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from harness.story.workload import reader, writer

RECORDS_PER_SECOND = 1000
BEFORE, AFTERWARDS = 1500, 1500
SURVIVOR, ZOMBIE = 1, 2
SESSION_MS, HEARTBEAT_MS = "6000", "1000"


class ZombieConsumerScenario(Scenario):
    """The same story for each recipe."""

    topology = Topology(
        brokers=3,
        controllers=1,
        settings={
            "group.consumer.min.session.timeout.ms": SESSION_MS,
            "group.consumer.session.timeout.ms": SESSION_MS,
            "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
            "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
        },
    )
    orders = durable_topic("orders", partitions=6)
    producers = (writer("writer", "orders"),)
    groups = (
        reader(
            "classic",
            "orders",
            members=2,
            settings={"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS},
        ),
        reader("consumer", "orders", client=Client.JAVA_CONSUMER, members=2),
    )
    must_judge = (
        Check.COMMIT_FROM_OLD_GENERATION,
        Check.DOUBLE_OWNERSHIP,
        Check.START_MISMATCH,
        Check.COMMIT_REGRESSED,
        Check.COMMIT_BEYOND_PROCESSED,
        Check.LOST_COMMIT,
        Check.SKIPPED_RECORD,
        Check.DUPLICATE_DELIVERY,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(commit_from_old_generation.rows(verdict='violation') + "
        "commit_regressed.rows(verdict='violation') + double_ownership.rows(verdict='violation'), "
        "asked='still commit, or keep its partitions') }}: "
        "{{ commit_from_old_generation.rows(verdict='violation') | noun('commit') }} of an "
        "expired member stored, "
        "{{ double_ownership.rows(verdict='violation') | noun('partition') }} owned twice. "
        "{{ duplicate_delivery.records | noun('record') }} were delivered again to the successor."
    )
    follows = Consequence(
        sentence=(
            "Take a CommitFailedException as the loss of the partitions, since only active "
            "members may commit: "
            "{{ commit_from_old_generation.rows(verdict='violation') | noun('commit') }} of an "
            "expired member were stored, and {{ duplicate_delivery.records | noun('record') }} "
            "were delivered again to its successor."
        ),
        document="Javadoc of KafkaConsumer, Detecting Consumer Failures",
    )

    @matrix(recipe=["reads on", "commits"])
    def test_zombie_consumer(self, recipe: str) -> None:
        groups = self.groups_here(self.groups)
        expects = [
            Expectation(
                check=Check.DUPLICATE_DELIVERY,
                groups=[group.group for group in groups],
                verdict="permitted",
            )
        ]
        zombies = list(members_of(groups, incarnation=1, number=ZOMBIE))
        with self.running(topics=[self.orders], groups=groups, expects=expects) as run:
            run.create(assignment=[1, 2, 3], is_spread=True)
            run.watch()
            load = run.start_load(self.orders, groups, records_per_second=RECORDS_PER_SECOND)
            for group in groups:
                run.groups.await_members(group.group, 2)
            load.await_acknowledged(["writer"], BEFORE)
            if recipe == "commits":
                load.stop_reading(zombies)

            with run.fault(PauseClient(JAVA_WORKER.copy(ZOMBIE).worker)):
                ends = run.log_ends(self.orders)
                run.phases.enter(Stage.HELD, "the first members take over")
                for group in groups:
                    run.groups.await_members(group.group, 1)
                    run.groups.await_committed_above(
                        group.group, {f"orders-{number}": end for number, end in ends.items()}
                    )
            run.phases.enter(Stage.HEALED, "the second members are back")
            if recipe == "commits":
                run.commit(groups, incarnation=1, number=ZOMBIE)
                load.start_reading(zombies)
            for group in groups:
                run.groups.await_members(group.group, 2)
            load.await_acknowledged(["writer"], AFTERWARDS)
            run.settle()
            run.read_to_end(groups)
