"""Leaders that a reassignment brings, from outside of the ISR before it."""

from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks
from tests.exam.verbs import cluster, watched

ADDED = (
    "KIP-455; PartitionReassignmentReplicas: a reassignment completes once the new replicas are in"
    " the ISR, so that one record may bring both"
)


@asks(
    "A reassignment to other brokers elects one of them, and the log is whole.",
    source=ADDED,
    expects={
        "unclean_election_unconfigured": NONE,
        "lost_record": NONE,
        "leader_completeness": NONE,
        "log_divergence": NONE,
        "epoch_regressed": NONE,
    },
)
def reassignment_elects_an_added_replica(h: History) -> None:
    _moved(h)


@asks(
    "The broker that the reassignment elects lacks records that were acknowledged.",
    source=ADDED + "; Kafka's documentation, Replication: no committed record is lost",
    expects={
        "unclean_election_unconfigured": NONE,
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
    },
)
def reassignment_loses_records(h: History) -> None:
    _moved(h, kept=60)


@asks(
    "The replicas stay, and one from outside of the ISR is elected; the topic allows it.",
    source="PartitionChangeBuilder: unclean.leader.election.enable",
    expects={"unclean_election_unconfigured": PERMITTED, "lost_record": PERMITTED},
)
def same_replicas_are_no_reassignment(h: History) -> None:
    _moved(h, kept=60, replicas=(1, 2), unclean_election=True)


@asks(
    "A reassignment keeps the leader, and an election out of the new ISR follows.",
    source=ADDED,
    expects={"unclean_election_unconfigured": NONE, "lost_record": NONE},
)
def added_replica_is_elected_later(h: History) -> None:
    _moved(h, keeps_leader=True)


def _moved(
    h: History,
    *,
    kept: int = 100,
    replicas: tuple[int, ...] = (2, 3),
    unclean_election: bool = False,
    keeps_leader: bool = False,
) -> None:
    """Broker 1 led, alone in sync; broker 2 leads the new replicas from `kept` on."""
    h.topic(unclean_election=unclean_election)
    cluster(h)
    h.registered(3, at=0.2, is_fenced=False)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    h.led(1, 0, at=1.5, isr=(1,))
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0), isr=(1,))
    isr = replicas if len(replicas) == 2 and 3 in replicas else (2,)
    epoch = 1
    if keeps_leader:
        h.led(1, 1, at=20.0, isr=(1, 2, 3), replicas=(1, 2, 3), starts=100)
        epoch = 2
    h.led(2, epoch, at=24.0, isr=isr, replicas=replicas, starts=kept)
    h.sent(kept, kept + 49, at=30.0, sequence=100)
    watched(h, 2, kept + 50, times=(35.0, 85.0), epoch=epoch, isr=isr)
    for broker in isr:
        h.log(
            broker,
            (0, kept - 1, 0),
            (kept, kept + 49, epoch),
            sequences={kept: 100},
            high_watermark=kept + 50,
        )
