"""Histories about elections, in-sync and eligible replicas, fencing and acknowledgements."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.rows import METADATA_STEP
from tests.exam.scenes import copies, killed, returned, written


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
