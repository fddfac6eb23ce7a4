"""Histories about elections, in-sync and eligible replicas, fencing and acknowledgements."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.rows import METADATA_STEP
from tests.exam.scenes import copies, killed, metadata_in_order, paused, returned, written
from tests.exam.verbs import begun, cluster, same_logs, watched

KIP_966 = "KIP-966, Proposed Changes: eligible leader replicas come before any unclean election"
LAST_LEADER = (
    "KIP-966, section on the last known leader; docs/findings.md, An election permits a loss"
)
ELIGIBLE = (
    "KIP-966, Eligible Leader Replicas: the high watermark stays while the ISR is below "
    "min.insync.replicas, so each of them has all committed records"
)
FENCED = "KIP-966: an eligible leader replica is elected once it is not fenced"


@asks(
    "A fenced broker is added to an ISR seconds after it was fenced.",
    source="KIP-841: a fenced broker is not eligible for an ISR",
    expects={"fenced_in_isr": VIOLATION},
)
def fenced_broker_joins_the_isr(h: History) -> None:
    written(h)
    h.registered(2, at=10, is_fenced=True)
    h.led(1, 0, at=10, isr=[1])
    h.led(1, 0, at=15, isr=[1, 2])
    h.registered(2, at=20, is_fenced=False, broker_epoch=2)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks_each(
    "A fenced broker is added to an ISR, and in the same millisecond it is unfenced,",
    source="KIP-841: a fenced broker is not eligible for an ISR; the records of a batch are applied"
    " together",
    check="fenced_in_isr",
    cases={
        "by one batch.": (NONE, {"records": (2,)}),
        "by the next batch.": (f"{VIOLATION}: fenced", {"records": (1, 1)}),
    },
)
def fenced_broker_is_unfenced_in_a_millisecond(h: History, *, records: tuple[int, ...]) -> None:
    written(h)
    h.registered(2, at=9, is_fenced=True)
    h.led(1, 0, at=9, isr=[1])
    h.led(1, 0, at=15, isr=[1, 2])
    h.registered(2, at=15, is_fenced=False, broker_epoch=2)
    base = h.rows["leaderships"][-1]["metadata_offset"]
    for count in records:
        end = base + count * METADATA_STEP
        h.add(
            "metadata_batches", server=h.broker(1), base_offset=base, last_offset=end - 1,
            metadata_epoch=h.index, size_bytes=100, checksum=base, leader=None, at_micros=h.at(15),
        )  # fmt: skip
        base = end
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A broker in a controlled shutdown is added to an ISR.",
    source="KIP-841: a broker that shuts down is not eligible for an ISR either",
    expects={"fenced_in_isr": VIOLATION},
)
def broker_that_shuts_down_joins_the_isr(h: History) -> None:
    written(h)
    h.led(1, 0, at=9, isr=[1])
    h.registered(2, at=10, is_fenced=False)
    h.rows["broker_states"][-1]["in_controlled_shutdown"] = True
    h.led(1, 0, at=15, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "A fenced broker leaves the ISR by the next record; it comes back once it is unfenced.",
    source="ReplicationControlManager.handleBrokerFenced: the change of the ISR and the fencing "
    "are written together",
    expects={
        "fenced_in_isr": NONE,
        "epoch_regressed": NONE,
        "eligible_leader_replicas": NONE,
        "unclean_election_unconfigured": NONE,
        "min_insync_breached": NONE,
        "isr_incomplete": NONE,
    },
)
def fenced_broker_leaves_at_once(h: History) -> None:
    written(h)
    killed(h, 2, at=7, healed=20)
    h.led(1, 0, at=10.001, isr=[1])
    h.sampled(1, at=12, end=100, isr=[1])
    returned(h, 2, at=20)
    h.led(1, 0, at=23, isr=[1, 2])
    h.sampled(1, at=24, end=100, isr=[1, 2])
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


@asks(
    "The last member of an ISR is fenced; it stays in the ISR, and nobody leads.",
    source="PartitionChangeBuilder.build: without eligible leader replicas no ISR is emptied, "
    "so that a clean election stays possible",
    expects={
        "fenced_in_isr": NONE,
        "epoch_regressed": NONE,
        "unclean_election_unconfigured": NONE,
        "lost_record": NONE,
        "leader_completeness": NONE,
    },
)
def last_in_sync_member_is_fenced(h: History) -> None:
    written(h)
    killed(h, 2, at=4)
    h.led(1, 0, at=7, isr=[1])
    killed(h, 1, at=20, healed=30)
    h.led(-1, 1, at=23, isr=[1])
    returned(h, 1, at=30)
    h.led(1, 2, at=30.1, isr=[1], starts=100)
    h.sampled(1, at=32, end=100, epoch=2, isr=[1])
    h.log(1, (0, 99, 0), checkpoints={0: 0, 2: 100}, high_watermark=100)
    h.log(2, (0, 99, 0), high_watermark=100)


def three(h: History, *, min_insync: int = 2, unclean: bool = False) -> None:
    """Brokers 1, 2 and 3 hold 0 to 99."""
    written(h, replicas=(1, 2, 3), min_insync=min_insync, unclean_election=unclean)


@asks(
    "A replica is in the ISR and among the eligible leaders at once.",
    source="KIP-966: members of the ISR are not in the ELR",
    expects={"eligible_leader_replicas": f"{VIOLATION}: also in the ISR"},
)
def in_sync_and_eligible(h: History) -> None:
    three(h)
    killed(h, 3, at=5)
    h.led(1, 0, at=8, isr=[1, 2], replicas=(1, 2, 3))
    h.led(1, 0, at=12, isr=[1], elr=[1, 2], replicas=(1, 2, 3))
    copies(h, (1, 2, 3), (0, 99, 0), high_watermark=100)


@asks(
    "Two replicas are in sync, min.insync.replicas is 2, and an eligible leader remains listed.",
    source="KIP-966: the ELR is empty once the ISR has min.insync.replicas members",
    expects={"eligible_leader_replicas": VIOLATION},
)
def eligible_though_enough_are_in_sync(h: History) -> None:
    three(h)
    killed(h, 3, at=5)
    h.led(1, 0, at=8, isr=[1, 2], elr=[3], replicas=(1, 2, 3))
    copies(h, (1, 2, 3), (0, 99, 0), high_watermark=100)


@asks(
    "All brokers die one by one; the first eligible leader to return is elected.",
    source="KIP-966: with an empty ISR an unfenced member of the ELR is elected, cleanly",
    expects={
        "eligible_leader_replicas": NONE,
        "unclean_election_unconfigured": NONE,
        "leader_completeness": NONE,
        "lost_record": NONE,
        "fenced_in_isr": NONE,
        "min_insync_breached": NONE,
        "epoch_regressed": NONE,
    },
)
def elected_from_the_eligible(h: History) -> None:
    three(h)
    killed(h, 3, at=5, healed=35)
    h.led(1, 0, at=8, isr=[1, 2], replicas=(1, 2, 3))
    killed(h, 2, at=9, healed=25)
    h.led(1, 0, at=12, isr=[1], elr=[2], replicas=(1, 2, 3))
    killed(h, 1, at=15, healed=45)
    h.led(-1, 1, at=18, isr=[], elr=[1, 2], replicas=(1, 2, 3))
    returned(h, 2, at=25)
    h.led(2, 2, at=25.1, isr=[2], elr=[1], replicas=(1, 2, 3), starts=100)
    returned(h, 3, at=35)
    h.led(2, 2, at=37, isr=[2, 3], replicas=(1, 2, 3))
    h.sampled(2, at=38, end=100, epoch=2, isr=[2, 3])
    returned(h, 1, at=45)
    h.led(2, 2, at=47, isr=[2, 3, 1], replicas=(1, 2, 3))
    h.sampled(2, at=50, end=100, epoch=2, isr=[2, 3, 1])
    h.log(2, (0, 99, 0), checkpoints={0: 0, 2: 100}, high_watermark=100)
    copies(h, (1, 3), (0, 99, 0), high_watermark=100)


@asks(
    "The metadata log gives a partition a lower leader epoch than before.",
    source="PartitionRecord.leaderEpoch only grows for one topic id",
    expects={"epoch_regressed": f"{VIOLATION}: leader epoch"},
)
def leader_epoch_falls(h: History) -> None:
    written(h)
    h.led(2, 5, at=10, isr=[1, 2], starts=100)
    h.led(1, 3, at=20, isr=[1, 2], starts=100)
    h.log(1, (0, 99, 0), checkpoints={0: 0, 3: 100}, high_watermark=100)
    h.log(2, (0, 99, 0), checkpoints={0: 0, 5: 100}, high_watermark=100)


@asks(
    "Two brokers lead one partition in one epoch.",
    source="KIP-101: an epoch has one leader; PartitionRecord: a new leader has a new epoch",
    expects={"epoch_regressed": f"{VIOLATION}: two leaders"},
)
def two_leaders_in_one_epoch(h: History) -> None:
    written(h)
    h.led(1, 4, at=10, isr=[1, 2], starts=100)
    h.led(2, 4, at=20, isr=[1, 2], starts=100)
    copies(h, (1, 2), (0, 99, 0), checkpoints={0: 0, 4: 100}, high_watermark=100)


@asks(
    "Unclean election is allowed and the elected replica was outside of the ISR: counted.",
    source="unclean.leader.election.enable: records may be lost; docs/findings.md: what the "
    "configuration allows is permitted, never hidden",
    expects={"unclean_election_unconfigured": NOT_VIOLATION, "leader_completeness": PERMITTED},
)
def allowed_unclean_election_without_refill(h: History) -> None:
    written(h, unclean_election=True)
    h.led(1, 0, at=4, isr=[1])
    h.sent(100, 149, at=5)
    h.sampled(1, at=6, end=150, isr=[1])
    killed(h, 1, at=10)
    h.led(2, 1, at=13, isr=[2], starts=100)
    h.sampled(2, at=14, end=100, epoch=1, isr=[2])
    h.log(1, (0, 99, 0), (100, 149, 0), high_watermark=150)
    h.log(2, (0, 99, 0), checkpoints={0: 0, 1: 100}, high_watermark=100)


@asks_each(
    "Broker 1 of three led, and at 10 another leader is elected.",
    source="unclean.leader.election.enable; ElectLeaders; KIP-966; "
    "PartitionChangeBuilder.canElectLastKnownLeader",
    check="unclean_election_unconfigured",
    cases={
        "It was in sync.": (NONE, {"isr": (1, 2), "leader": 2}),
        "It was not, and nobody allowed it.": (f"{VIOLATION}: unconfigured", {}),
        "It was not, and the topic allows it.": (f"{PERMITTED}: configured", {"allowed": True}),
        "It was not, and an operator ordered it.": (f"{PERMITTED}: ordered", {"ordered": 9}),
        "It was not, and an operator ordered it afterwards.": (VIOLATION, {"ordered": 11}),
        "It was not, and another order was carried out before.": (
            VIOLATION,
            {"ordered": 6, "done": 7},
        ),
        "It was eligible.": (NONE, {"elr": (3,)}),
        "It came by a reassignment.": (NONE, {"leader": 4, "replicas": (4,)}),
        "It is the last known leader, and nobody was eligible.": (
            f"{PERMITTED}: last known leader",
            {"leader": 1, "is_offline": True},
        ),
        "It is the last known leader, and the eligible one is fenced.": (
            f"{PERMITTED}: last known leader",
            {"leader": 1, "is_offline": True, "elr": (2,), "is_fenced": True},
        ),
        "It is the last known leader, and the eligible one is in service.": (
            f"{VIOLATION}: unconfigured",
            {"leader": 1, "is_offline": True, "elr": (2,)},
        ),
    },
)
def another_leader_at_10(
    h: History,
    *,
    leader: int = 3,
    isr: tuple[int, ...] = (1,),
    elr: tuple[int, ...] = (),
    replicas: tuple[int, ...] = (1, 2, 3),
    allowed: bool = False,
    ordered: float | None = None,
    done: float | None = None,
    is_offline: bool = False,
    is_fenced: bool = False,
) -> None:
    three(h, unclean=allowed)
    h.led(1, 0, at=5, isr=isr, elr=elr, replicas=(1, 2, 3))
    if is_fenced:
        h.registered(2, at=7, is_fenced=True)
    if is_offline:
        h.led(-1, 1, at=8, isr=(), elr=elr, replicas=(1, 2, 3))
    if ordered is not None:
        target = h.on_partition("t", 0)
        h.fault("elect unclean", target, injected=ordered, heal_began=done, healed=done)
    h.led(leader, 2, at=10, isr=(leader,), replicas=replicas)


@asks(
    "A broker that has no replica is among the eligible leaders.",
    source="KIP-966: an eligible leader is a replica",
    expects={"eligible_leader_replicas": f"{VIOLATION}: no replica"},
)
def eligible_without_a_replica(h: History) -> None:
    three(h)
    h.led(1, 0, at=8, isr=[1], elr=[4], replicas=(1, 2, 3))


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
    "The ISR is empty, an eligible leader replica is elected, and it lacks committed records. The "
    "topic allows unclean elections.",
    source=ELIGIBLE,
    expects={
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "high_watermark_regressed": VIOLATION,
        "eligible_leader_replicas": NONE,
    },
)
def eligible_replica_lacks_committed_records(h: History) -> None:
    _eligible(h, starts=90)


@asks(
    "It has them all, and not what was acknowledged with acks=1 while the ISR was too small.",
    source=ELIGIBLE + "; acks=1: the leader alone has the record",
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": NONE,
        "high_watermark_regressed": NONE,
        "eligible_leader_replicas": NONE,
    },
)
def eligible_replica_lacks_what_one_broker_had(h: History) -> None:
    h.sent(100, 104, at=24.0, acks="1", producer="q", sequence=0)
    _eligible(h, starts=100)


@asks(
    "An unclean election passes over an eligible leader replica, which was fenced just then.",
    source=FENCED,
    expects={
        "eligible_leader_replicas": NONE,
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "fenced_in_isr": NONE,
    },
)
def eligible_replica_was_away_for_that_moment(h: History) -> None:
    _passed_over(h, back=36.0)


@asks(
    "It had been unfenced three seconds before, and is fenced again later.",
    source=FENCED,
    expects={"eligible_leader_replicas": VIOLATION},
)
def eligible_replica_was_back_at_that_moment(h: History) -> None:
    _passed_over(h, back=23.0)


def _eligible(h: History, *, starts: int) -> None:
    """Broker 2 is paused, then broker 1; broker 2 is back first, and leads from `starts` on."""
    h.topic(min_insync=2, unclean_election=True)
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    paused(h, 2, at=17.0, until=40.0)
    h.led(1, 0, at=20.0, isr=(1,), elr=(2,))
    watched(h, 1, 100, times=(22.0, 25.0), isr=(1,))
    paused(h, 1, at=26.0, until=50.0)
    h.led(-1, 1, at=29.0, isr=(), elr=(2, 1))
    h.led(2, 2, at=40.2, isr=(2,), elr=(1,), starts=starts)
    watched(h, 2, starts, times=(42.0,), epoch=2, isr=(2,))
    h.truncated(1, starts, at=50.5)
    h.led(2, 2, at=53.0, isr=(1, 2))
    h.sent(starts, starts + 49, at=60.0, sequence=200)
    watched(h, 2, starts + 50, times=(65.0, 75.0, 85.0), epoch=2)
    same_logs(h, (0, starts - 1, 0), (starts, starts + 49, 2), sequences={starts: 200})
    metadata_in_order(h)


def _passed_over(h: History, *, back: float) -> None:
    """Broker 3 was out of sync, broker 2 is eligible; broker 1 is fenced at 26, and 3 leads.

    back: when broker 2 is resumed.
    """
    h.topic(replication=3, min_insync=2, unclean_election=True)
    h.group()
    for broker in (1, 2, 3):
        h.registered(broker, at=0.2, is_fenced=False)
    all_of = {"replicas": (1, 2, 3)}
    h.led(1, 0, at=0.5, isr=(1, 2, 3), starts=0, **all_of)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,), isr=(1, 2, 3))
    h.led(1, 0, at=8.0, isr=(1, 2), **all_of)
    h.sent(50, 99, at=10.0)
    watched(h, 1, 100, times=(12.0,))
    paused(h, 2, at=14.0, until=back)
    h.led(1, 0, at=17.0, isr=(1,), elr=(2,), **all_of)
    watched(h, 1, 100, times=(20.0,), isr=(1,))
    paused(h, 1, at=23.2, until=40.0)
    h.led(3, 1, at=26.2, isr=(3,), starts=50, **all_of)
    h.sent(50, 79, at=30.0, acks="1", sequence=100)
    watched(h, 3, 50, times=(28.0,), epoch=1, isr=(3,))
    for broker, time in ((2, max(back, 26.4) + 0.5), (1, 40.5)):
        h.truncated(broker, 50, at=time)
    h.led(3, 1, at=45.0, isr=(1, 2, 3), **all_of)
    watched(h, 3, 80, times=(50.0, 55.0, 75.0, 85.0), epoch=1, isr=(1, 2, 3))
    if back < 26:
        h.registered(2, at=60.0, is_fenced=True)
        h.led(3, 1, at=60.0, isr=(1, 3), **all_of)
        for row in h.rows["samples"]:
            if row["at_micros"] > h.at(60.0):
                row["isr"] = [h.broker(1), h.broker(3)]
    same_logs(h, (0, 49, 0), (50, 79, 1), sequences={50: 100}, brokers=(1, 2, 3))
    metadata_in_order(h)
