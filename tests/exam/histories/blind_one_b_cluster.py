"""Elections, replicas and liveness: what was committed, what may be cut, and who may wait how long.

Several elections in a row, eligible leader replicas, the last known leader, and outages that a
fault elsewhere does not explain.
"""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import begun, left, moved, plain, reads_to, watched

COMMITTED = "Kafka's documentation, Replication: a committed record is on every replica of the ISR"
KIP_101 = "KIP-101: a follower truncates to where its epoch ends in the leader's log"
KIP_966 = "KIP-966, Proposed Changes: eligible leader replicas come before any unclean election"
LAST_LEADER = (
    "KIP-966, section on the last known leader; docs/findings.md, An election permits a loss"
)
MIN_ISR = "min.insync.replicas: with acks=all fewer replicas make the write fail"
DECISION = "docs/findings.md, liveness: an outage counts while the partition could serve"


@asks(
    "A leader is killed right after acks=1 records; a clean election goes on without them.",
    source=COMMITTED + "; acks=1: the leader alone has it; " + KIP_101,
    expects={
        "lost_record": f"{PERMITTED}: truncated: acks=1 does not wait for replication",
        "leader_completeness": NONE,
        "high_watermark_regressed": NONE,
        "over_truncation": NONE,
        "log_divergence": NONE,
    },
)
def acks_one_tail_is_cut_by_a_clean_election(h: History) -> None:
    _failed_over(h)


@asks(
    "The same records had been below the high watermark that the leader reported.",
    source=COMMITTED + ": the high watermark is the end of what is committed, with any acks",
    expects={"leader_completeness": VIOLATION, "high_watermark_regressed": VIOLATION},
)
def acks_one_records_had_been_committed(h: History) -> None:
    _failed_over(h, watermark=105)


def _failed_over(h: History, *, watermark: int = 100) -> None:
    """Broker 1 has 105 records, the last five with acks=1; broker 2 is elected with 100."""
    h.topic()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    h.sent(100, 104, at=19.5, acks="1")
    watched(h, 1, watermark, times=(19.7,))
    h.fault("kill", h.on_broker(1), injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=24.0, isr=(2,), starts=100)
    watched(h, 2, 100, times=(26.0, 28.0), epoch=1, isr=(2,))
    h.sent(100, 149, at=30.0, sequence=105)
    watched(h, 2, 150, times=(35.0,), epoch=1, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.cut(1, 100, 104, 0, at=38.5)
    h.truncated(1, 100, at=41.0)
    h.led(2, 1, at=45.0, isr=(1, 2))
    watched(h, 2, 150, times=(55.0, 85.0), epoch=1)
    copies(h, (1, 2), (0, 99, 0), (100, 149, 1), sequences={100: 105}, high_watermark=150)


@asks(
    "All replicas go, the eligible one comes back first and leads; what it lacks had acks=1.",
    source=KIP_966 + "; the high watermark stays while the ISR is below min.insync.replicas",
    expects={
        "unclean_election_unconfigured": NONE,
        "eligible_leader_replicas": NONE,
        "leader_completeness": NONE,
        "lost_record": PERMITTED,
        "over_truncation": NONE,
    },
)
def eligible_replica_leads_after_all_were_down(h: History) -> None:
    h.topic(replication=3, min_insync=2)
    _three_go_down(h)
    h.sent(110, 114, at=18.0, acks="1")
    h.registered(2, at=44.0, is_fenced=False, broker_epoch=2)
    h.led(2, 2, at=44.2, isr=(2,), elr=(1,), replicas=(1, 2, 3), starts=110)
    watched(h, 2, 110, times=(46.0,), epoch=2, isr=(2,))
    h.cut(1, 110, 114, 0, at=51.0)
    h.registered(1, at=53.5, is_fenced=True, broker_epoch=2)
    h.led(2, 2, at=53.5, isr=(2,), replicas=(1, 2, 3))
    h.registered(1, at=54.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, 110, at=55.0)
    h.led(2, 2, at=58.0, isr=(1, 2), replicas=(1, 2, 3))
    h.registered(3, at=61.0, is_fenced=False, broker_epoch=2)
    h.led(2, 2, at=64.0, isr=(1, 2, 3), replicas=(1, 2, 3))
    h.sent(110, 129, at=66.0, sequence=115)
    watched(h, 2, 130, times=(75.0, 85.0), epoch=2, isr=(1, 2, 3))
    for broker in (1, 2, 3):
        h.log(broker, (0, 109, 0), (110, 129, 2), sequences={110: 115}, high_watermark=130)


@asks(
    "An unclean election is allowed, and made while an eligible replica is in service.",
    source=KIP_966 + "; PartitionChangeBuilder.electAnyLeader",
    expects={
        "fenced_in_isr": NONE,
        "eligible_leader_replicas": f"{VIOLATION}: passed over",
        "unclean_election_unconfigured": PERMITTED,
    },
)
def eligible_replica_in_service_is_passed_over(h: History) -> None:
    _led_by_the_third(h, eligible_is_back=True)


@asks(
    "An unclean election is allowed, and made while both eligible replicas are fenced.",
    source=KIP_966 + ", where one is in service; unclean.leader.election.enable",
    expects={
        "eligible_leader_replicas": NONE,
        "unclean_election_unconfigured": PERMITTED,
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
    },
)
def eligible_replicas_are_all_fenced(h: History) -> None:
    _led_by_the_third(h, eligible_is_back=False)


def _led_by_the_third(h: History, *, eligible_is_back: bool) -> None:
    """Broker 3 has 100 of 110 records, and is elected at second 62."""
    h.topic(replication=3, min_insync=2, unclean_election=True)
    _three_go_down(h)
    if eligible_is_back:
        h.registered(2, at=44.0, is_fenced=False, broker_epoch=2)
    h.registered(3, at=61.0, is_fenced=False, broker_epoch=2)
    h.led(3, 2, at=61.2, isr=(3,), replicas=(1, 2, 3), starts=100)
    watched(h, 3, 100, times=(63.0,), epoch=2, isr=(3,))
    for broker in (1, 2):
        if not eligible_is_back or broker == 1:
            h.registered(broker, at=70.0, is_fenced=False, broker_epoch=2)
        copied_early = eligible_is_back and broker == 2
        h.cut(broker, 100, 109, 0, at=43.5 if copied_early else 69.0)
        h.truncated(broker, 100, at=71.0)
    h.led(3, 2, at=73.0, isr=(1, 2, 3), replicas=(1, 2, 3))
    h.sent(100, 119, at=75.0, sequence=110)
    watched(h, 3, 120, times=(80.0, 85.0), epoch=2, isr=(1, 2, 3))
    for broker in (1, 2, 3):
        h.log(broker, (0, 99, 0), (100, 119, 2), sequences={100: 110}, high_watermark=120)
    if not eligible_is_back:
        h.rows["faults"][1].update(heal_began_micros=h.at(68.0), healed_micros=h.at(70.5))
    h.rows["faults"][2].update(heal_began_micros=h.at(68.0), healed_micros=h.at(70.5))


def _three_go_down(h: History) -> None:
    """Brokers 3, 2 and 1 go, one after the other; 2 and then 1 become eligible leader replicas.

    Records 100 to 109 are committed by brokers 1 and 2. Broker 2 shuts down; the others are killed.
    """
    reported = {"replicas": (1, 2, 3)}
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2, 3), starts=0, **reported)
    h.sampled(1, at=1.0, end=0, isr=(1, 2, 3))
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0,), isr=(1, 2, 3))
    h.fault("kill", h.on_broker(3), injected=8.0, proved=11.2, heal_began=60.0, healed=61.5)
    h.registered(3, at=11.0, is_fenced=True)
    h.led(1, 0, at=11.0, isr=(1, 2), **reported)
    h.sent(100, 109, at=12.0)
    watched(h, 1, 110, times=(13.0,))
    h.fault("stop", h.on_broker(2), injected=14.0, proved=17.2, heal_began=43.0, healed=45.0)
    h.registered(2, at=17.0, is_fenced=True)
    h.led(1, 0, at=17.0, isr=(1,), elr=(2,), **reported)
    watched(h, 1, 110, times=(19.0,), isr=(1,))
    h.fault("kill", h.on_broker(1), injected=20.0, proved=23.2, heal_began=50.0, healed=54.5)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(-1, 1, at=23.0, isr=(), elr=(1, 2), **reported)


@asks(
    "The only in-sync replica is killed, comes back as the last known leader, and has everything.",
    source=LAST_LEADER,
    expects={
        "unclean_election_unconfigured": PERMITTED,
        "eligible_leader_replicas": NONE,
        "leader_completeness": NONE,
        "lost_record": NONE,
        "high_watermark_regressed": NONE,
    },
)
def last_leader_returns_with_everything(h: History) -> None:
    _last_leader_returns(h, 100)


@asks(
    "It comes back without records that it had acknowledged.",
    source=LAST_LEADER + "; a killed process keeps what it has written",
    expects={
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "high_watermark_regressed": VIOLATION,
    },
)
def last_leader_returns_with_less(h: History) -> None:
    _last_leader_returns(h, 80)


def _last_leader_returns(h: History, has: int) -> None:
    """Broker 1 acknowledged 100 records, the last 20 alone; it is killed, and back with `has`."""
    h.topic()
    begun(h)
    h.sent(0, 79, at=2.0)
    watched(h, 1, 80, times=(5.0,))
    h.fault("stop", h.on_broker(2), injected=8.0, proved=10.2, heal_began=58.0, healed=60.0)
    h.registered(2, at=10.0, is_fenced=True)
    h.led(1, 0, at=10.0, isr=(1,))
    h.sent(80, 99, at=12.0)
    watched(h, 1, 100, times=(14.0, 18.0), isr=(1,))
    h.fault("kill", h.on_broker(1), injected=20.0, proved=23.2, heal_began=33.0, healed=35.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(-1, 1, at=23.0, isr=(), elr=(1,))
    h.registered(1, at=34.0, is_fenced=True, broker_epoch=2)
    h.led(-1, 1, at=34.0, isr=())
    h.registered(1, at=34.3, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=34.4, isr=(1,), starts=has)
    watched(h, 1, has, times=(36.0,), epoch=2, isr=(1,))
    h.sent(has, has + 9, at=40.0, sequence=100)
    watched(h, 1, has + 10, times=(45.0, 55.0), epoch=2, isr=(1,))
    h.registered(2, at=59.0, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=62.0, isr=(1, 2))
    watched(h, 1, has + 10, times=(65.0, 85.0), epoch=2)
    for broker in (1, 2):
        spans = ((0, has - 1, 0), (has, has + 9, 2))
        h.log(broker, *spans, sequences={has: 100}, high_watermark=has + 10)


@asks(
    "DeleteRecords moves the log start into a batch; then an election begins an epoch.",
    source="KIP-107: the offset need not be that of a batch; LeaderEpochFileCache, the first entry",
    expects={
        "epoch_cache_mismatch": NONE,
        "retention_overreach": NONE,
        "log_divergence": NONE,
        "epoch_regressed": NONE,
        "leader_completeness": NONE,
    },
)
def log_start_lies_inside_a_batch(h: History) -> None:
    h.topic(deletes=True)
    moved(h, at=30.0)
    h.fault("expire by order", h.on_topic("t"), injected=9.0, proved=10.5)
    for broker in (1, 2):
        reasons = ("client delete records request", "leader offset increment")
        h.log_started(broker, 30, at=9.9 + broker / 10, reason=reasons[broker - 1])
    for row in h.rows["samples"]:
        row["log_start_offset"] = 30 if row["at_micros"] > h.at(11) else 0
    for row in h.rows["log_starts"]:
        row["log_start_offset"] = 30
    for row in h.rows["epoch_checkpoints"]:
        row["start_offset"] = max(row["start_offset"], 30)


@asks(
    "A send is retried while the ISR is too small, and acknowledged once it is large enough.",
    source=MIN_ISR + "; " + DECISION,
    expects={"min_insync_breached": NONE, "produce_unavailable": PERMITTED, "lost_record": NONE},
)
def answered_once_the_isr_is_large_again(h: History) -> None:
    h.topic(min_insync=2)
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    h.fault("pause", h.on_broker(2), injected=10.0, proved=19.7, heal_began=40.0, healed=41.0)
    h.registered(2, at=19.5, is_fenced=True)
    h.led(1, 0, at=19.5, isr=(1,))
    watched(h, 1, 100, times=(22.0,), isr=(1,))
    h.sent(100, 109, at=42.5, intended_at=30.0)
    h.registered(2, at=41.2, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=42.0, isr=(1, 2))
    watched(h, 1, 110, times=(45.0, 65.0, 85.0))
    copies(h, (1, 2), (0, 99, 0), (100, 109, 0), high_watermark=110)


@asks(
    "A producer waits 54 s; one of three brokers is paused, and it is no leader nor in sync.",
    source=DECISION + "; one paused broker of three keeps no partition from serving",
    expects={"produce_unavailable": VIOLATION, "lost_record": NONE, "min_insync_breached": NONE},
)
def paused_outsider_explains_no_outage(h: History) -> None:
    h.topic(replication=3, min_insync=2)
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    h.led(1, 0, at=0.5, isr=(1, 2, 3), replicas=(1, 2, 3), starts=0)
    h.sampled(1, at=1.0, end=0, isr=(1, 2, 3))
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 9.0), isr=(1, 2, 3))
    h.fault("pause", h.on_broker(3), injected=10.0, proved=19.7, heal_began=76.0, healed=77.0)
    h.registered(3, at=19.5, is_fenced=True)
    h.led(1, 0, at=19.5, isr=(1, 2), replicas=(1, 2, 3))
    watched(h, 1, 100, times=(22.0, 45.0, 65.0))
    h.sent(100, 109, at=75.0, intended_at=21.0)
    h.registered(3, at=77.2, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=79.0, isr=(1, 2, 3), replicas=(1, 2, 3))
    watched(h, 1, 110, times=(80.0, 85.0), isr=(1, 2, 3))
    for broker in (1, 2, 3):
        h.log(broker, (0, 99, 0), (100, 109, 0), high_watermark=110)


@asks(
    "A commit times out after 60 s; another group's partition had no leader, its own had one.",
    source=DECISION + "; GroupCoordinator.partitionFor: a group has one partition of the offsets",
    expects={"commit_unavailable": VIOLATION, "lost_commit": NONE, "commit_mismatch": NONE},
)
def coordinator_of_another_group_is_gone(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.registered(3, at=0.2, is_fenced=False)
    own, other = h.index, h.index + 500
    reported = {"topic": "__consumer_offsets", "topic_id": "offsets"}
    h.led(1, 0, at=0.6, isr=(1, 2), partition=own, **reported)
    reported |= {"partition": other, "replicas": (3,), "isr": (3,)}
    h.led(3, 0, at=0.6, **reported)
    h.fault("kill", h.on_broker(3), injected=15.0, proved=18.2, heal_began=53.0, healed=55.5)
    h.registered(3, at=18.0, is_fenced=True)
    h.led(-1, 1, at=18.0, **reported)
    h.registered(3, at=54.5, is_fenced=False, broker_epoch=2)
    h.led(3, 2, at=55.0, **reported)
    reads_to(h, 49)
    h.commit(50, 0, at=10.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=11.0)
    failed = {"outcome": "unknown", "error": "TimeoutException", "stored": False}
    h.commit(100, 0, at=78.0, generation=1, **failed)
    h.rows["commits"][-1]["began_micros"] = h.at(18.0)
    left(h, 100, at=82.0)
