"""Which leader epochs do consumers commit around a truncation, and where do they resume?

Cluster: 3 brokers; two topics with replicas on brokers 1 and 2, unclean leader election allowed.
         Records 0 to 49 are written under epoch 0, led by broker 2, and 50 to 99 under epoch 1, led
         by broker 1.
Fault:   broker 2 is killed. Broker 1 acknowledges 100 more records alone, and every group reads
         them. Then broker 1 is killed and broker 2, without these records, is elected. New records
         take their offsets: in topic `above` beyond the groups' position, in `below` not so far.
         Now each group commits its old position, with the leader epoch that its style selects,
         without a poll in between. Then it is closed and opened again.
Expect:  record, application   resume at 100, where the branches diverge, or raise an exception
         there if they may not reset. No new record is skipped.
         position, max   commit the same epoch: the position has its leader since the last poll.
         metadata   commits the old leader's epoch or a newer one, as the client's metadata was
         refreshed before the commit or not. It resumes as record or as forced.
         forced   the epoch passes validation. With the log end above, 100 new records are skipped
         without an error; below, the truncation is placed at the log end, and 50 are skipped.
         none     can't be validated. With the log end above, records are skipped without an error;
         below, the group is reset as out of range.
         stale    resumes at 50, where the epoch below the record's ends: 50 records are
         redelivered.
Source:  KAFKA-19902, KAFKA-20507, KIP-320. No style is that of a patched client: `position`,
         `metadata` and `max` read the state that the released client has.
"""

from collections.abc import Iterable
from itertools import product

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, Expectation, GroupPlan, TopicPlan
from contract.terms import Check, CommitEpoch, ResetPolicy, Stage
from harness.faults import Elect, FollowerOf, Kill, LeaderOf, Reassign
from harness.story.run import Run
from harness.story.scenario import Scenario

PER_EPOCH, LOST = 50, 100
REPLICATED = 2 * PER_EPOCH
NEW = {"above": 250, "below": 50}
WITH_EACH_RESET = (
    CommitEpoch.RECORD,
    CommitEpoch.METADATA,
    CommitEpoch.FORCED,
    CommitEpoch.NONE,
)
"""The styles with one group for each log end."""


def _groups() -> Iterable[GroupPlan]:
    for log_end, epoch, reset in product(NEW, CommitEpoch, ResetPolicy):
        if epoch in WITH_EACH_RESET or reset is ResetPolicy.EARLIEST:
            yield GroupPlan(
                group=f"{log_end}.{epoch}.{reset}",
                client="java",
                topic=log_end,
                commit_epoch=epoch,
                reset=reset,
                labels={"log_end": log_end},
            )


def _expectations(groups: Iterable[GroupPlan], *, is_optional: bool) -> list[Expectation]:
    """The findings on groups that committed the new leader's epoch."""
    chosen = list(groups)
    above = [group.group for group in chosen if group.topic == "above"]
    skipping = [g.group for g in chosen if g.topic == "above" or g.reset != ResetPolicy.NONE]
    return [
        Expectation(check=check, groups=found, is_optional=is_optional)
        for check, found in (
            (Check.SKIPPED_RECORD, skipping),
            (Check.TRUNCATION_UNDETECTED, above),
            (Check.SILENT_REVALIDATION, above),
        )
    ]


class CommitEpochScenario(Scenario):
    """One election for the whole matrix: each combination is a group of its own."""

    topology = Topology(brokers=3, combined=(3,))
    topics = tuple(
        TopicPlan(topic=log_end, partitions=1, replication=2, min_insync=1, unclean_election=True)
        for log_end in NEW
    )
    groups = tuple(_groups())
    expects = tuple(
        _expectations(
            (g for g in groups if g.commit_epoch == CommitEpoch.FORCED), is_optional=False
        )
        + _expectations(
            (g for g in groups if g.commit_epoch == CommitEpoch.METADATA), is_optional=True
        )
    )
    must_judge = (
        Check.SKIPPED_RECORD,
        Check.OVER_TRUNCATION,
        Check.COMMITTED_EPOCH_MISSING,
        Check.COMMITTED_EPOCH_STALE,
        Check.COMMITTED_EPOCH_BEHIND_LEADER,
        Check.TRUNCATION_DETECTED,
        Check.TRUNCATION_UNDETECTED,
        Check.SILENT_REVALIDATION,
        Check.UNJUSTIFIED_RESET,
        Check.RESUMPTION,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ resumption.groups(committed_epoch=1) }} of {{ resumption.groups | noun('group') }} "
        "committed their record's epoch and resumed at "
        "{{ resumption.resumed_at(committed_epoch=1) }} or raised an exception; "
        "{{ resumption.groups(committed_epoch=1, never_delivered=above(0)) }} of them skipped "
        "records. Of {{ resumption.groups(committed_epoch=above(1)) | noun('group') }} that "
        "committed a newer epoch, "
        "{{ resumption.groups(committed_epoch=above(1), never_delivered=above(0)) }} skipped "
        "records without an error ("
        "{{ resumption.never_delivered(committed_epoch=above(1), never_delivered=above(0)) }} "
        "each)."
    )
    follows = Consequence(
        sentence=(
            "With a plain commitSync(), "
            "{{ resumption.groups(commit_epoch='record', never_delivered=above(0)) }} of "
            "{{ resumption.groups(commit_epoch='record') | noun('group') }} skipped records; with "
            "new OffsetAndMetadata(offset), which many applications write, "
            "{{ resumption.groups(commit_epoch='none', never_delivered=above(0)) }} of "
            "{{ resumption.groups(commit_epoch='none') | noun('group') }} did ("
            "{{ resumption.never_delivered(commit_epoch='none', never_delivered=above(0)) }} "
            "each): an offset without a leader epoch cannot be validated."
        ),
        document="KIP-320; Javadoc of OffsetAndMetadata, as of KAFKA-20507",
    )

    def test_commit_epoch(self) -> None:
        groups = self.random.sample(self.groups, len(self.groups))
        with self.running(topics=self.topics, groups=groups, expects=self.expects) as run:
            run.create(assignment=[2, 1])
            self.write_to_all(run, PER_EPOCH, producer="epoch-0")
            for topic in self.topics:
                run.inject(Reassign(topic.topic, 0, replicas=[1, 2]))
                run.inject(Elect(topic.topic, 0, unclean=False))
            self.write_to_all(run, PER_EPOCH, producer="epoch-1")
            follower = run.inject(Kill(FollowerOf("above", 0)))
            for topic in self.topics:
                run.await_isr(topic.topic, 0, [1])
            self.write_to_all(run, LOST, producer="lost", stage=Stage.HELD)

            run.phases.enter(Stage.HELD, f"{len(groups)} groups read to {REPLICATED + LOST}")
            members = run.open(groups, incarnation=1)
            run.consume(members)

            with run.fault(Kill(LeaderOf("above", 0))):
                follower.heal()
                for log_end, count in NEW.items():
                    run.await_leader(log_end, 0, 2)
                    run.produce(log_end, count=count, producer=f"new-{log_end}")

                run.phases.enter(Stage.HELD, "groups commit, stop and resume")
                run.commit(groups, incarnation=1)
                run.close(members)
                members = run.open(groups, incarnation=2)
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
