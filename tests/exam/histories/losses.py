"""Histories about records that were acknowledged and are gone, or seem to be."""

from tests.exam.history import (
    NONE,
    NOT_EVALUABLE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import (
    NEW,
    consumed,
    copies,
    failed_over,
    forget_elections,
    killed,
    leader_killed,
    returned,
    started,
    torn,
    written,
)
from tests.exam.verbs import cluster, same_logs, watched

WIPED = "election of a broker whose disk was wiped"
CLEAN = "Kafka's documentation, Replication: an election from the in-sync replicas loses nothing"
WIPED_IN_SYNC = (
    "docs/findings.md: a disk that was wiped while its replica was in the ISR permits a loss"
)


@asks(
    "Unclean election is allowed, but the election was clean: is the loss still permitted?",
    source="Kafka's documentation, Replication: a member of the ISR has every committed record; "
    "decision 15: a setting permits nothing",
    expects={
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "orphan_commit": VIOLATION,
        "high_watermark_regressed": VIOLATION,
        "unclean_election_unconfigured": NONE,
    },
)
def clean_election_loses_though_unclean_is_allowed(h: History) -> None:
    torn(h, clean=True, configured=True)
    h.group()
    consumed(h, 0, 199, at=8)


@asks(
    "An unclean election, allowed by configuration, loses 100 records that were acknowledged; the "
    "same producer's next values get their offsets.",
    source="unclean.leader.election.enable: records may be lost",
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "unclean_election_unconfigured": NOT_VIOLATION,
        "loss_estimate": PERMITTED,
        "log_divergence": NONE,
        "over_truncation": NONE,
        "epoch_regressed": NONE,
        "nonmonotonic_send": NOT_VIOLATION,
        "duplicate_append": NONE,
    },
)
def unclean_election_loses_what_it_may(h: History) -> None:
    torn(h)


@asks(
    "An operator orders an unclean election though the configuration does not allow any.",
    source="ReplicationControlManager.electLeader: ElectionType.UNCLEAN needs no configuration",
    expects={
        "lost_record": f"{PERMITTED}: truncated: on request: broker",
        "leader_completeness": PERMITTED,
        "unclean_election_unconfigured": PERMITTED,
        "high_watermark_regressed": NOT_VIOLATION,
    },
)
def unclean_election_by_order(h: History) -> None:
    torn(h, ordered=True, configured=False)


@asks(
    "An unclean election that nobody allowed or ordered loses 100 acknowledged records.",
    source="unclean.leader.election.enable=false (the default): no replica outside of the ISR is "
    "elected",
    expects={"lost_record": VIOLATION, "unclean_election_unconfigured": VIOLATION},
)
def unclean_election_nobody_allowed(h: History) -> None:
    torn(h, configured=False)


@asks(
    "A clean election truncates committed records, and retention passes the place later.",
    source="Kafka's documentation, Replication: a clean election loses no committed record; "
    "decision 15: the truncation came before the retention",
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def clean_loss_hidden_by_later_retention(h: History) -> None:
    torn(h, clean=True, configured=True, deletes=True, logged=False)
    h.group()
    started(h, 0, at=3.1, fresh=True)
    h.polled(0, 99, at=3.6)
    h.commit(100, 0, at=4.5)
    h.changed("closed", at=4.8)
    for broker in (2, 1):
        reason = "segment deletion" if broker == 2 else "leader offset increment"
        h.log_started(broker, 250, at=60 + (2 - broker), reason=reason)
    h.sampled(2, at=82, end=350, start=250, epoch=1, isr=[2, 1])
    # Epoch 0 ends at 250 for a leader whose first cached epoch begins there, so that the fetch at
    # 100 is out of range, and no truncation is told.
    started(h, 100, at=83, member="2")
    h.reset("out_of_range", 100, 250, at=83.5, epoch=0)
    h.polled(250, 349, at=84, epoch=1, member="2", sequence=250 + NEW)
    h.changed("caught_up", at=85, position=350, member="2")
    h.commit(350, 1, at=86, member="2")
    h.changed("closed", at=87, member="2")
    copies(h, (1, 2), (250, 349, 1), start=250, sequences={250: 250 + NEW}, checkpoints={1: 250})


@asks(
    "Retention deletes records that the only group had read before.",
    source="retention.ms: how soon consumers must read their data, which they did",
    expects={
        "lost_record": NONE,
        "skipped_record": NONE,
        "unseen_record": NONE,
        "expired_read": NONE,
        "retention_overreach": NONE,
        "epoch_cache_mismatch": NONE,
    },
)
def expired_after_it_was_read(h: History) -> None:
    written(h, 200, retention_ms=20_000)
    h.group()
    consumed(h, 0, 199, at=4)
    h.sent(200, 249, at=20)
    h.log_started(1, 200, at=25)
    h.log_started(2, 200, at=25.5, reason="leader offset increment")
    h.sampled(1, at=26, end=250, start=200, isr=[1, 2])
    consumed(h, 200, 249, at=27, fresh=False, member="2")
    copies(h, (1, 2), (200, 249, 0), start=200, at=20, high_watermark=250)


@asks(
    "Retention by time, as configured, deletes records before a subscribed group reads them.",
    source="retention.ms: records are deleted, whether they were read or not",
    expects={
        "lost_record": PERMITTED,
        "retention_overreach": NONE,
        "unjustified_reset": NONE,
        "reset": PERMITTED,
        "truncation_undetected": NONE,
    },
)
def expired_before_it_was_read(h: History) -> None:
    written(h, 200, retention_ms=20_000)
    h.group()
    started(h, 0, at=2.5, fresh=True)
    h.polled(0, 49, at=3.1)
    h.commit(50, 0, at=4)
    h.changed("closed", at=5)
    h.sent(200, 249, at=20)
    h.sampled(1, at=21, end=250, isr=[1, 2])
    h.log_started(1, 200, at=25)
    h.log_started(2, 200, at=25.5, reason="leader offset increment")
    h.sampled(1, at=26, end=250, start=200, isr=[1, 2])
    started(h, 50, at=30, member="2")
    h.reset("out_of_range", 50, 200, at=30.5, epoch=0)
    h.polled(200, 249, at=31, member="2")
    h.changed("caught_up", at=32, position=250, member="2")
    h.commit(250, 0, at=33, member="2")
    h.changed("closed", at=34, member="2")
    copies(h, (1, 2), (200, 249, 0), start=200, at=20, high_watermark=250)


@asks(
    "A log start advances over unread records though nothing in the plan deletes any.",
    source="retention.ms is seven days unless set; decision 15: permitted names the retention pass",
    expects={"lost_record": VIOLATION, "retention_overreach": VIOLATION},
)
def deleted_without_any_retention(h: History) -> None:
    written(h, 200)
    h.group()
    started(h, 0, at=3.2, fresh=True)
    h.log_started(1, 100, at=4)
    h.log_started(2, 100, at=4.5, reason="leader offset increment")
    h.sampled(1, at=10, end=200, start=100, isr=[1, 2])
    h.reset("out_of_range", 0, 100, at=6, member="1")
    h.polled(100, 199, at=7)
    h.changed("caught_up", at=8, position=200)
    h.commit(200, 0, at=9)
    h.changed("closed", at=11)
    copies(h, (1, 2), (100, 199, 0), start=100, high_watermark=200)


@asks(
    "A clean election drops a tail that acks=1 acknowledged and no follower had fetched yet.",
    source="ProducerConfig acks=1: a record is lost if the leader fails before a follower has it",
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": NONE,
        "over_truncation": NONE,
        "high_watermark_regressed": NONE,
        "loss_estimate": NOT_VIOLATION,
    },
)
def acks_one_tail_lost_by_a_clean_election(h: History) -> None:
    written(h)
    h.sent(100, 119, at=9.9, acks="1")
    killed(h, 1, at=10, healed=30)
    h.led(2, 1, at=13, isr=[2], starts=100)
    h.sampled(2, at=14, end=100, epoch=1, isr=[2])
    h.sent(100, 139, at=20, sequence=100 + NEW)
    h.sampled(2, at=21, end=140, epoch=1, isr=[2])
    h.cut(1, 100, 119, 0, at=29)
    returned(h, 1, at=30)
    h.truncated(1, 100, at=31)
    h.led(2, 1, at=33, isr=[2, 1])
    h.sampled(2, at=40, end=140, epoch=1, isr=[2, 1])
    copies(h, (1, 2), (0, 99, 0), (100, 139, 1), sequences={100: 100 + NEW}, high_watermark=140)


@asks(
    "A send with acks=0 is called ok, has no offset, and never reached the log.",
    source="ProducerConfig acks=0: no guarantee that the server received the record; the offset "
    "is always -1",
    expects={"lost_record": NOT_VIOLATION, "outcome_mismatch": NONE, "unseen_record": NONE},
)
def acks_zero_never_arrived(h: History) -> None:
    written(h)
    h.sent(None, count=10, at=10, sequence=500, acks="0")
    h.group()
    consumed(h, 0, 99, at=12)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A send whose outcome is unknown is in no log.",
    source="contract/outcomes.py: unknown leaves both possible; TimeoutException of Producer.send",
    expects={"lost_record": NONE, "outcome_mismatch": NONE, "phantom_record": NONE},
)
def unknown_send_not_in_the_log(h: History) -> None:
    written(h)
    h.sent(
        None,
        count=20,
        at=32,
        intended_at=9,
        sequence=500,
        outcome="unknown",
        error="TimeoutException",
    )
    h.group()
    consumed(h, 0, 99, at=40)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "Records are lost on one partition only; the same offsets survive on the other.",
    source="Kafka's documentation, Replication: the unit of replication is the topic partition",
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def lost_on_one_partition_of_two(h: History) -> None:
    h.topic(partitions=2)
    for broker in (1, 2):
        h.registered(broker, at=0, is_fenced=False)
    for partition in (0, 1):
        h.led(1, 0, at=0.5, isr=[1, 2], starts=0, partition=partition)
        h.sent(0, 99, at=2, sequence=partition * 500, partition=partition)
        h.sampled(1, at=3, end=100, isr=[1, 2], partition=partition)
    killed(h, 1, at=10, healed=30)
    for partition, end in ((0, 100), (1, 90)):
        h.led(2, 1, at=13, isr=[2], starts=end, partition=partition)
        h.sampled(2, at=14, end=end, epoch=1, isr=[2], partition=partition)
    h.cut(1, 90, 99, 0, at=29, sequence=590, partition=1)
    returned(h, 1, at=30)
    h.truncated(1, 90, at=31, partition=1)
    for partition, end in ((0, 100), (1, 90)):
        h.led(2, 1, at=33, isr=[2, 1], partition=partition)
        h.sampled(2, at=40, end=end, epoch=1, isr=[2, 1], partition=partition)
        sequences = {0: partition * 500}
        h.log(1, (0, end - 1, 0), sequences=sequences, partition=partition)
        starts = {0: 0, 1: end}
        h.log(2, (0, end - 1, 0), sequences=sequences, checkpoints=starts, partition=partition)


@asks(
    "A clean failover to a replica that has everything; the old leader's disk stays down.",
    source="Kafka's documentation, Replication: a committed record is not lost as long as one "
    "replica in sync is alive",
    expects={
        "lost_record": NONE,
        "leader_completeness": NONE,
        "log_divergence": NONE,
        "isr_incomplete": NONE,
        "loss_estimate": NONE,
        "unclean_election_unconfigured": NONE,
        "min_insync_breached": NONE,
    },
)
def clean_failover_loses_nothing(h: History) -> None:
    written(h)
    failed_over(h, at=10, start=100)
    h.sent(100, 149, at=20)
    h.sampled(2, at=21, end=150, epoch=1, isr=[2])
    h.log(1, (0, 99, 0), high_watermark=100)
    h.log(2, (0, 99, 0), (100, 149, 1), high_watermark=150)


@asks(
    "The collected replica records are missing: nobody can tell what was lost.",
    source="docs/findings.md: not_evaluable where a table is missing, which is never a pass",
    expects={"lost_record": NOT_EVALUABLE},
    alone=True,
)
def replica_records_are_missing(h: History) -> None:
    written(h)
    h.group()
    consumed(h, 0, 99, at=5)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    del h.rows["replica_records"]
    h.missing.add("replica_records")


@asks(
    "Records are truncated by an epoch whose election the metadata log does not have.",
    source="contract/tables_of_servers.py, leaderships: what the decoded part of the metadata log "
    "has; unclean.leader.election.enable: whether a loss is permitted depends on the election",
    expects={"lost_record": UNDECIDED, "leader_completeness": UNDECIDED},
)
def election_that_loses_is_not_known(h: History) -> None:
    torn(h)
    forget_elections(h)


@asks_each(
    "Broker 2 is elected out of the ISR and lacks 100 to 199, which had acks=all.",
    source="acks=all; docs/faults.md: wipe and cut tails remove what a disk had",
    check="lost_record",
    cases={
        "No disk was touched.": (f"{VIOLATION}: truncated", {}),
        "Its disk had been wiped.": (f"{PERMITTED}: truncated: {WIPED}", {"wiped": (2,)}),
        "The disks of both had been wiped.": (
            f"{PERMITTED}: truncated: {WIPED}",
            {"wiped": (1, 2)},
        ),
        "The disk of another broker had been wiped.": (VIOLATION, {"wiped": (1,)}),
        "Its disk had been wiped, and it was in sync again since.": (
            VIOLATION,
            {"wiped": (2,), "is_back": True},
        ),
        "The tails of all replicas had been truncated.": (
            f"{PERMITTED}: truncated: election after the tails of all replicas were truncated",
            {"tails": True},
        ),
    },
)
def elected_out_of_the_isr_without_100(
    h: History, *, wiped: tuple[int, ...] = (), is_back: bool = False, tails: bool = False
) -> None:
    written(h)
    h.sent(100, 199, at=5)
    h.sampled(1, at=6, end=200, isr=(1, 2))
    if wiped:
        h.led(1, 0, at=8, isr=(1,) if is_back else (1, 2))
        h.fault("wipe", h.on_brokers(*wiped), injected=7, heal_began=9, healed=9)
    if is_back:
        h.led(1, 0, at=12, isr=(1, 2))
    if tails:
        h.fault("cut tails", h.on_replicas("t", 0), injected=7, heal_began=9, healed=9)
    h.led(2, 1, at=20, isr=(2,), starts=100)
    h.sampled(2, at=22, end=100, epoch=1)
    copies(h, (1, 2), (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks_each(
    "A fault truncated the tail of the only replica, by one record.",
    source="docs/faults.md: cut tails removes records from the end of logs, and tells how many",
    check="lost_record",
    cases={
        "The last record is gone.": (f"{PERMITTED}: tail truncated", {"gone": 99}),
        "Another record is gone.": (f"{VIOLATION}: unexplained", {"gone": 50}),
    },
)
def tail_is_truncated_by_a_fault(h: History, *, gone: int) -> None:
    written(h, replicas=(1,))
    tail = f'{{"{h.broker(1)}": {{"removed": 1, "log_end_before": 100, "log_end_after": 99}}}}'
    h.fault("cut tails", h.on_replicas("t", 0), injected=20, healed=25, evidence=tail)
    spans = [(0, gone - 1, 0), (gone + 1, 99, 0)]
    h.log(1, *(span for span in spans if span[0] <= span[1]), end=100)


@asks_each(
    "What broker 1 wrote from 100 on lies below the log start; broker 2, elected cleanly, "
    "wrote on.",
    source="docs/findings.md, lost_record: what was truncated before a deletion was not deleted; "
    "retention.ms: it doesn't wait for groups",
    check="lost_record",
    cases={
        "The new leader started at 100.": (f"{VIOLATION}: truncated", {"starts": 100}),
        "Broker 1 truncated to 100, and a group had read it.": (
            f"{VIOLATION}: truncated",
            {"truncated": 25, "is_read": True},
        ),
        "Broker 1 truncated to 100.": (f"{VIOLATION}: truncated", {"truncated": 25}),
        "Nothing tells of a truncation.": (
            f"{PERMITTED}: expired_unread: which raised the log start to 300",
            {},
        ),
        "The new leader started at 200; broker 1 truncated to 100.": (
            f"{PERMITTED}: expired_unread",
            {"starts": 200, "truncated": 25},
        ),
        "Broker 3 truncated to 100.": (
            f"{PERMITTED}: expired_unread",
            {"truncated": 25, "broker": 3},
        ),
        "Broker 1 truncated to 100 while it led.": (
            f"{PERMITTED}: expired_unread",
            {"truncated": 15},
        ),
    },
)
def retention_has_passed_the_election(
    h: History,
    *,
    starts: int | None = None,
    truncated: float | None = None,
    broker: int = 1,
    is_read: bool = False,
) -> None:
    written(h, 100, unclean_election=True, deletes=True)
    h.group("h")
    h.sent(100, 199, at=5)
    if is_read:
        h.polled(100, 199, at=6)
    h.led(2, 1, at=20, isr=(2,), starts=starts)
    h.sent(100, 399, at=30, producer="q")
    if truncated is not None:
        h.truncated(broker, 100, at=truncated)
    h.log_started(2, 300, at=40)
    h.sampled(2, at=45, end=400, start=300, epoch=1)
    h.log(2, (300, 399, 1), start=300, producers={300: "q"}, sequences={300: 300})


@asks(
    "Retention deletes records of a topic that no group reads.",
    source="retention.ms: it doesn't wait for groups; docs/findings.md, lost_record",
    expects={"lost_record": f"{PERMITTED}: expired_unread"},
)
def expired_with_nobody_to_read_it(h: History) -> None:
    written(h, 100, deletes=True)
    h.log_started(1, 50, at=40)
    h.sampled(1, at=45, end=100, start=50, isr=(1, 2))
    copies(h, (1, 2), (50, 99, 0), start=50, high_watermark=100)


@asks(
    "The only replica in sync at the end was not collected; another one has all records.",
    source="decision 11: a gap in a source makes findings undecided, never an accusation of Kafka",
    expects={"lost_record": NONE},
)
def last_in_sync_replica_is_not_collected(h: History) -> None:
    written(h)
    h.led(2, 1, at=20, isr=(2,), starts=50)
    h.log(1, (0, 99, 0), high_watermark=100)


@asks(
    "Records 0 to 49 lie below the log start, no group had them, and no retention is set; the "
    "replica has their batches, but not all of their records were decoded.",
    source="decision 15: what was not decoded may be there",
    expects={"lost_record": UNDECIDED, "history_consistent": UNDECIDED},
)
def expired_records_were_not_decoded(h: History) -> None:
    written(h)
    h.group()
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)
    h.sampled(1, at=80, end=100, start=50, isr=[1, 2])
    h.rows["replica_records"] = [row for row in h.rows["replica_records"] if row["offset"] >= 50]


@asks(
    "The disk of the only replica in sync is wiped, and it leads again with an empty log.",
    source=WIPED_IN_SYNC,
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "high_watermark_regressed": PERMITTED,
        "log_divergence": NONE,
    },
)
def wiped_leader_leads_again(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    h.sent(50, 99, at=12.0)
    watched(h, 1, 100, times=(14.0, 18.0), isr=(1,))
    h.fault("wipe", h.on_broker(1), injected=20.0, proved=23.5, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(-1, 1, at=23.0, isr=(1,))
    h.registered(1, at=40.0, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=40.1, isr=(1,), starts=0)
    h.truncated(2, 0, at=41.0)
    h.sent(0, 29, at=45.0, sequence=100)
    h.led(1, 2, at=48.0, isr=(1, 2))
    watched(h, 1, 30, times=(55.0, 65.0, 85.0), epoch=2)
    same_logs(h, (0, 29, 2), sequences={0: 100})


@asks(
    "A follower's disk was wiped; it had fetched everything again and was in sync, and loses as a "
    "leader what was written after that.",
    source="`Partition.maybeExpandIsr`: a replica joins the ISR with all committed records; "
    + CLEAN,
    expects={
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "high_watermark_regressed": VIOLATION,
    },
)
def wiped_follower_loses_what_came_later(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 12.0))
    h.fault("wipe", h.on_broker(2), injected=15.0, proved=18.6, heal_began=26.0, healed=28.0)
    h.registered(2, at=18.0, is_fenced=True)
    h.led(1, 0, at=18.0, isr=(1,))
    h.registered(2, at=28.0, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=33.0, isr=(1, 2))
    h.sent(100, 149, at=40.0)
    watched(h, 1, 150, times=(45.0, 55.0))
    leader_killed(h, at=57.0, starts=130)
    h.sent(130, 139, at=66.0, sequence=150)
    watched(h, 2, 130, times=(64.0,), epoch=1, isr=(2,))
    watched(h, 2, 140, times=(70.0,), epoch=1, isr=(2,))
    watched(h, 2, 140, times=(85.0,), epoch=1)
    same_logs(h, (0, 129, 0), (130, 139, 1), sequences={130: 150})
