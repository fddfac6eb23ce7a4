"""Which leader epoch may a consumer commit, so that it neither resets for nothing nor skips any?

Cluster: 3 brokers; two topics with replicas on brokers 1 and 2, unclean leader election allowed.
Fault:   the follower is killed; the leader acknowledges 100 more records alone, and every group
         reads them; then the leader is killed and the follower, without these records, is elected.
         New records take over their offsets: in topic `above` past the groups' position, in `below`
         not so far. Only now each group commits its old position, with the leader epoch that its
         kind chooses, like a consumer that was busy with a batch while the leader changed; then it
         is closed and opened again.
Expect:  record   resumes at the divergence, or raises there if it may not reset; skips nothing.
         current, max   the new leader takes the position for its own: with the log end above, 100
         new records are skipped in silence; below, the truncation is seen too high, and 50 are.
         none     can't be validated: skipped in silence above, an out-of-range reset below.
Source:  KAFKA-19902, KAFKA-20507, KIP-320.
"""

from itertools import product

from ducktape.mark.resource import cluster

from cluster.kafka.topology import Topology
from harness.contract.checks import OF_REPEATED_COMMITS, OF_SOME_STORIES, OF_TRANSACTIONS, Check
from harness.contract.outcomes import CommitEpoch, ResetPolicy
from harness.contract.run_folder import Expectation, GroupPlan, TopicPlan
from harness.contract.stages import Stage
from harness.faults.kill import Kill
from harness.faults.targets import FollowerOf, LeaderOf
from harness.run import Run
from harness.scenario import Scenario

REPLICATED, LOST = 100, 100
NEW = {"above": 250, "below": 50}
HIDDEN_BY = {CommitEpoch.FORCED}


class CommitEpochScenario(Scenario):
    """One election answers the whole matrix: each combination is a group of its own."""

    topology = Topology(brokers=3, combined=(3,))
    topics = tuple(
        TopicPlan(topic=log_end, partitions=1, replication=2, min_insync=1, unclean_election=True)
        for log_end in NEW
    )
    groups = tuple(
        GroupPlan(
            group=f"{log_end}.{epoch}.{reset}",
            client="java",
            topic=log_end,
            commit_epoch=epoch,
            reset=reset,
            labels={"log_end": log_end},
        )
        for log_end, epoch, reset in product(
            NEW, (CommitEpoch.RECORD, CommitEpoch.FORCED, CommitEpoch.NONE), ResetPolicy
        )
    )
    hidden = tuple(group for group in groups if group.commit_epoch in HIDDEN_BY)
    expects = (
        Expectation(
            check=Check.SKIPPED_RECORD,
            groups=[g.group for g in hidden if g.topic == "above" or g.reset != ResetPolicy.NONE],
        ),
        Expectation(
            check=Check.TRUNCATION_UNDETECTED,
            groups=[g.group for g in hidden if g.topic == "above"],
        ),
        Expectation(
            check=Check.SILENT_REVALIDATION,
            groups=[g.group for g in hidden if g.topic == "above"],
        ),
    )
    checks = tuple(
        check
        for check in Check
        if check not in {*OF_TRANSACTIONS, *OF_SOME_STORIES, *OF_REPEATED_COMMITS}
    )

    @cluster(num_nodes=5)
    def test_commit_epoch(self) -> None:
        groups = self.random.sample(self.groups, len(self.groups))
        with self.running(topics=self.topics, groups=groups, expects=self.expects) as run:
            run.create(assignment=[1, 2])
            self.write_to_all(run, REPLICATED, producer="replicated")
            follower = run.inject(Kill(FollowerOf("above", 0)))
            for topic in self.topics:
                run.await_isr(topic.topic, 0, [1])
            self.write_to_all(run, LOST, producer="lost", stage=Stage.HELD)

            run.phases.enter(Stage.HELD, f"{len(groups)} groups read to {REPLICATED + LOST}")
            members = run.open(groups, life=1)
            run.consume(members)

            with run.fault(Kill(LeaderOf("above", 0))):
                follower.heal()
                for log_end, count in NEW.items():
                    run.await_leader(log_end, 0, 2)
                    run.produce(log_end, count=count, producer=f"new-{log_end}")

                run.phases.enter(Stage.HELD, "groups commit, stop and resume")
                run.commit(groups, life=1)
                run.close(members)
                members = run.open(groups, life=2)
                run.consume(members)
                run.close(members)
            run.settle()

    def write_to_all(
        self, run: Run, count: int, *, producer: str, stage: Stage = Stage.WARM_UP
    ) -> None:
        """Write the same number of records to each topic."""
        run.phases.enter(stage, f"writing {count} records to each topic ({producer})")
        for topic in self.topics:
            run.produce(topic.topic, count=count, producer=f"{producer}-{topic.topic}")
