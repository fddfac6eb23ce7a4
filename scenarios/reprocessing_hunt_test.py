"""Does a group whose position is still in the log ever reset, as KAFKA-19902 reports?

Cluster: 3 brokers; one topic of 20 partitions with 3 replicas, 2 of them in sync, and groups of 6
         members that differ in one property each from the reporter's: enable.auto.commit, and
         commitSync() in onPartitionsRevoked. At full scale: 200 partitions, 45 members.
Load:    an acks=all producer of `rate` records a second, and all groups, throughout.
Fault:   rounds, drawn from the run's seed. In each of them members are closed, paused until their
         sessions expire, or killed, or an extra member joins and leaves; leaders change by
         elections of other replicas in sync, by a controlled shutdown or by SIGKILL; and what all
         groups have committed is deleted, most often up to the commit itself. In half of the rounds
         the groups have no lag. The order of all this is drawn, too. With retention `long`
         nothing is deleted.
Expect:  a reset of a position that is in the log is what is looked for. By Kafka's source, a commit
         with the epoch of its record is not reset, whether or not that epoch is still in the log.
Source:  KAFKA-19902, KAFKA-20507; `SubscriptionState.allConsumed`,
         `LeaderEpochFileCache.endOffsetFor`.
"""

from collections.abc import Mapping
from typing import ClassVar

from ducktape.mark import parametrize
from msgspec.structs import replace

from cluster.kafka.topology import Topology
from contract.run_folder import Consequence, GroupPlan
from contract.software import Client
from contract.terms import Check, CommitEpoch, Manner, ResetPolicy
from harness.story.scenario import Scenario
from harness.story.topics import durable_topic
from scenarios.hunt import Hunt, for_minutes

PARTITIONS = {"scaled": 20, "full": 200}
MEMBERS, WORKERS = {"scaled": 6, "full": 45}, 3
SCALE, MINUTES, RATE = "scaled", 2, 100
SHORT, LONG = "short", "long"
BEFORE, BETWEEN = 400, 200
ENDING = (1, 2)
SESSION_MS, LONG_SESSION_MS, HEARTBEAT_MS = "6000", "45000", "1000"
ASSIGNOR = "partition.assignment.strategy"
RANGE, COOPERATIVE = (
    f"org.apache.kafka.clients.consumer.{name}Assignor" for name in ("Range", "CooperativeSticky")
)
PLAIN = {
    "auto.commit.interval.ms": "1000",
    "fetch.min.bytes": "20000",
    "fetch.max.wait.ms": "2000",
}
"""A response waits for more records, up to two seconds, which saves requests and polls."""
CLASSIC = {
    **PLAIN,
    "session.timeout.ms": SESSION_MS,
    "heartbeat.interval.ms": HEARTBEAT_MS,
    ASSIGNOR: RANGE,
}
TOPIC_SETTINGS = {"segment.ms": "10000", "retention.ms": "-1"}

REPORTED = GroupPlan(
    group="reported",
    client=Client.JAVA,
    topic="orders",
    commit_epoch=CommitEpoch.RECORD,
    manner=Manner.AUTO_REVOKED,
    reset=ResetPolicy.EARLIEST,
    members=MEMBERS[SCALE],
    workers=WORKERS,
    settings=dict(CLASSIC),
    labels={"differs": "as reported"},
)


def _but(
    group: str,
    differs: str,
    settings: Mapping[str, str | int] | None = None,
    **changed: str,
) -> GroupPlan:
    """Return the reporter's group with other properties."""
    own = {**REPORTED.settings, **(settings or {})}
    fields = {"settings": own, "labels": {"differs": differs}, **changed}
    return replace(REPORTED, group=group, **fields)


GROUPS = (
    REPORTED,
    _but("no-epoch", "the listener commits without an epoch", commit_epoch=CommitEpoch.NONE),
    _but("commit-sync", "commitSync() each second, and no listener", manner=Manner.SYNC),
    _but("latest", "auto.offset.reset=latest", reset=ResetPolicy.LATEST),
    _but("cooperative", "CooperativeStickyAssignor", {ASSIGNOR: COOPERATIVE}),
    _but(
        "static",
        "group.instance.id, and sessions of 45 s",
        {"group.instance.id": "{number}", "session.timeout.ms": LONG_SESSION_MS},
    ),
    replace(
        REPORTED,
        group="consumer",
        client=Client.JAVA_CONSUMER,
        settings=dict(PLAIN),
        labels={"differs": "group.protocol=consumer (KIP-848)"},
    ),
)
AT_FULL_SCALE = ("reported", "no-epoch", "consumer")


class ReprocessingHuntScenario(Scenario):
    """Rounds until the time is over."""

    topology = Topology(
        brokers=3,
        combined=(3,),
        settings={
            # Else the controller elects preferred replicas every five minutes, beside the story.
            "auto.leader.rebalance.enable": "false",
            "group.consumer.min.session.timeout.ms": SESSION_MS,
            "group.consumer.session.timeout.ms": SESSION_MS,
            "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
            "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
        },
    )
    groups = GROUPS
    spares: ClassVar = {Client.JAVA: 6}
    must_judge = (
        Check.UNJUSTIFIED_RESET,
        Check.RESET,
        Check.START_MISMATCH,
        Check.COMMIT_EXPIRED,
        Check.COMMITTED_EPOCH_EXPIRED,
        Check.SKIPPED_RECORD,
        Check.FAULT_LANDED,
        Check.HISTORY_COMPLETE,
    )
    answer = (
        "{{ yes_if_any(unjustified_reset.rows(verdict='violation'), asked='ever reset') }}: after "
        "{{ (unjustified_reset.rows(verdict='violation') / start_mismatch.evaluated) | "
        "noun('resumption') }} from a committed offset, all of one story, a position that was in "
        "the log was reset. {{ committed_epoch_expired.rows(stood='at an assignment') }} resumed "
        "with an epoch that the log had no more. {{ reset.rows | noun('reset') }} in all, "
        "{{ unjustified_reset.rows(verdict='undecided') }} of them undecided."
    )
    follows = Consequence(
        sentence=(
            "Of {{ start_mismatch.evaluated | noun('resumption') }} from committed positions, "
            "{{ unjustified_reset.rows(verdict='violation') }} reset one that was in the log; an "
            "offset that is committed without a leader epoch can't even be validated, and "
            "auto.offset.reset decides if it is gone."
        ),
        document="Javadoc of OffsetAndMetadata, as of KAFKA-20507",
    )

    @parametrize(scale=SCALE, minutes=MINUTES, retention=SHORT, rate=RATE)
    def test_reprocessing_hunt(self, scale: str, minutes: float, retention: str, rate: int) -> None:
        plans = [
            replace(group, members=MEMBERS[scale])
            for group in self.groups
            if scale == SCALE or group.group in AT_FULL_SCALE
        ]
        topic = replace(
            durable_topic("orders", partitions=PARTITIONS[scale]), deletes=retention == SHORT
        )
        groups = self.groups_here(plans)
        with self.running(topics=[topic], groups=groups) as run:
            run.create(assignment=[1, 2, 3], is_spread=True, settings=TOPIC_SETTINGS)
            run.watch()
            hunt = Hunt(run, topic, groups, records_per_second=rate)
            hunt.begin(acknowledged=BEFORE)
            shape = hunt.shape(brokers=ENDING)
            hunt.hunt(self.random, shape, goes_on=for_minutes(minutes), written=BETWEEN)
            hunt.end()
