"""Elections and replicas: what one event permits, and what the next one does not.

Eligible leader replicas, several elections in a row, disks that were wiped, tails that were cut,
topics that were created again, and in-sync replicas that were too few for a while.
"""

from collections.abc import Mapping

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.verbs import cluster, cut, moved, watched

ELIGIBLE = (
    "KIP-966, Eligible Leader Replicas: the high watermark stays while the ISR is below "
    "min.insync.replicas, so each of them has all committed records"
)
CLEAN = "Kafka's documentation, Replication: an election from the in-sync replicas loses nothing"
UNCLEAN = "`unclean.leader.election.enable`: a replica that was out of sync may lead"
FENCED = "KIP-966: an eligible leader replica is elected once it is not fenced"
WIPED = "docs/findings.md: a disk that was wiped while its replica was in the ISR permits a loss"
AGAIN = "KIP-516: a topic of the same name with another id begins with nothing, at epoch 0"
INSYNC = "`min.insync.replicas`; `Partition.appendRecordsToLeader`: NOT_ENOUGH_REPLICAS until then"


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


@asks(
    "After an unclean election, a clean one loses other records, which were written in between.",
    source=CLEAN + "; the earlier unclean election had nothing of them to lose",
    expects={
        "unclean_election_unconfigured": PERMITTED,
        "lost_record": VIOLATION,
        "leader_completeness": VIOLATION,
        "high_watermark_regressed": VIOLATION,
    },
)
def clean_election_loses_after_an_unclean_one(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h)
    _elected_again(h, at=60.0, epoch=2, starts=120, sequence=200)
    _replaced(h, (0, 49, 0), (50, 119, 1), (120, 139, 2), sequences={50: 100, 120: 200})


@asks(
    "A leader that is cut from the controllers tells its high watermark, when its successor's is "
    "higher.",
    source="KIP-101: each epoch has a leader; a deposed one learns of it later, and its high "
    "watermark is that of its own epoch",
    expects={
        "high_watermark_regressed": NOT_VIOLATION,
        "epoch_regressed": NONE,
        "metadata_divergence": NONE,
        "lost_record": NONE,
    },
)
def deposed_leader_tells_its_own_high_watermark(h: History) -> None:
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.fault("cut both", _server(h, 1), injected=20.0, proved=24.0, heal_began=40.0, healed=41.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=23.0, isr=(2,), starts=50)
    h.sent(50, 79, at=26.0)
    watched(h, 2, 80, times=(28.0,), epoch=1, isr=(2,))
    watched(h, 1, 50, times=(30.0, 35.0))
    watched(h, 2, 80, times=(36.0, 39.0), epoch=1, isr=(2,))
    h.registered(1, at=41.5, is_fenced=False)
    h.led(2, 1, at=44.0, isr=(1, 2))
    for broker in (2, 1):
        h.sampled(broker, at=50.0, end=80 if broker == 2 else -1, epoch=1, leader=2, isr=(1, 2))
    h.rows["samples"][-1]["log_start_offset"] = -1
    watched(h, 2, 80, times=(65.0, 85.0), epoch=1)
    _logs(h, (0, 49, 0), (50, 79, 1))


@asks(
    "The disk of the only replica in sync is wiped, and it leads again with an empty log.",
    source=WIPED,
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
    h.fault("wipe", _server(h, 1), injected=20.0, proved=23.5, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(-1, 1, at=23.0, isr=(1,))
    h.registered(1, at=40.0, is_fenced=False, broker_epoch=2)
    h.led(1, 2, at=40.1, isr=(1,), starts=0)
    h.truncated(2, 0, at=41.0)
    h.sent(0, 29, at=45.0, sequence=100)
    h.led(1, 2, at=48.0, isr=(1, 2))
    watched(h, 1, 30, times=(55.0, 65.0, 85.0), epoch=2)
    _logs(h, (0, 29, 2), sequences={0: 100})


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
    h.fault("wipe", _server(h, 2), injected=15.0, proved=18.6, heal_began=26.0, healed=28.0)
    h.registered(2, at=18.0, is_fenced=True)
    h.led(1, 0, at=18.0, isr=(1,))
    h.registered(2, at=28.0, is_fenced=False, broker_epoch=2)
    h.led(1, 0, at=33.0, isr=(1, 2))
    h.sent(100, 149, at=40.0)
    watched(h, 1, 150, times=(45.0, 55.0))
    _killed_leader(h, at=57.0, starts=130)
    h.sent(130, 139, at=66.0, sequence=150)
    watched(h, 2, 130, times=(64.0,), epoch=1, isr=(2,))
    watched(h, 2, 140, times=(70.0,), epoch=1, isr=(2,))
    watched(h, 2, 140, times=(85.0,), epoch=1)
    _logs(h, (0, 129, 0), (130, 139, 1), sequences={130: 150})


@asks(
    "All tails are cut, which one election shows; the next one loses what was written since.",
    source="docs/findings.md: the first election after such a fault permits a loss; " + CLEAN,
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def second_election_after_tails_were_cut(h: History) -> None:
    _tails_cut(h)
    h.sent(80, 119, at=44.0, sequence=100)
    watched(h, 2, 120, times=(48.0, 55.0), epoch=1)
    _elected_again(h, at=60.0, epoch=2, starts=110, sequence=140)
    _logs(h, (0, 79, 0), (80, 109, 1), (110, 129, 2), sequences={80: 100, 110: 140})


@asks(
    "A topic of two epochs is created again: epoch, offsets and high watermark begin anew.",
    source=AGAIN,
    expects={
        "epoch_regressed": NONE,
        "high_watermark_regressed": NONE,
        "leader_completeness": NONE,
        "lost_record": f"{PERMITTED}: deleted with its topic: created again at metadata offset",
        "nonmonotonic_send": NONE,
    },
)
def second_topic_of_a_name_begins_anew(h: History) -> None:
    _created_again(h)
    h.sent(0, 29, at=56.0, sequence=100)
    for row in h.rows["sends"]:
        row.update(is_idempotent=False, in_flight_max=1)
    watched(h, 1, 30, times=(58.0, 65.0, 75.0, 85.0))
    _logs(h, (0, 29, 0), sequences={0: 100})


@asks(
    "A clean election loses records of the topic that was created again.",
    source=AGAIN + "; " + CLEAN,
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def second_topic_of_a_name_loses_by_itself(h: History) -> None:
    _created_again(h)
    h.sent(0, 59, at=56.0, sequence=100)
    watched(h, 1, 60, times=(58.0, 60.0))
    _killed_leader(h, at=62.0, starts=40, topic_id="id2")
    h.sent(40, 49, at=70.0, sequence=160)
    watched(h, 2, 50, times=(72.0,), epoch=1, isr=(2,))
    watched(h, 2, 50, times=(85.0,), epoch=1)
    _logs(h, (0, 39, 0), (40, 49, 1), sequences={0: 100, 40: 160})


@asks(
    "The ISR is too small twice; what was sent meanwhile is acknowledged once it is not, or had "
    "acks=1.",
    source=INSYNC,
    expects={
        "min_insync_breached": NONE,
        "lost_record": NONE,
        "produce_unavailable": NOT_VIOLATION,
    },
)
def small_isr_is_waited_for(h: History) -> None:
    _small_twice(h)
    h.sent(50, 54, at=30.0, acks="1", producer="q", sequence=0)
    h.sent(55, 59, at=40.6, intended_at=25.0, sequence=50)
    h.sent(60, 64, at=50.0, sequence=55)
    watched(h, 1, 65, times=(55.0, 85.0))
    watched(h, 1, 65, times=(65.0, 75.0), isr=(1,))
    _logs(
        h,
        (0, 49, 0),
        (50, 54, 0),
        (55, 64, 0),
        producers={50: "q"},
        sequences={50: 0, 55: 50},
    )


@asks(
    "In the second of these times a record is acknowledged with acks=all, 11 s after it began.",
    source=INSYNC,
    expects={"min_insync_breached": VIOLATION, "lost_record": NONE},
)
def small_isr_acknowledges_the_second_time(h: History) -> None:
    _small_twice(h)
    h.sent(50, 54, at=50.0)
    h.sent(55, 59, at=71.0)
    watched(h, 1, 55, times=(55.0,))
    watched(h, 1, 55, times=(65.0,), isr=(1,))
    watched(h, 1, 60, times=(85.0,))
    _logs(h, (0, 49, 0), (50, 59, 0))


def _server(h: History, broker: int) -> str:
    return h.on_broker(broker)


def _logs(
    h: History,
    *spans: tuple[int, int, int],
    sequences: Mapping[int, int] | None = None,
    producers: Mapping[int, str] | None = None,
    brokers: tuple[int, ...] = (1, 2),
) -> None:
    """Each replica holds the same at the end."""
    for broker in brokers:
        end = spans[-1][1] + 1
        h.log(broker, *spans, high_watermark=end, sequences=sequences, producers=producers)


def _replaced(h: History, *spans: tuple[int, int, int], sequences: Mapping[int, int]) -> None:
    """The replicas hold this, and not what another verb had said."""
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    _logs(h, *spans, sequences=sequences)


def _in_order(h: History) -> None:
    """The records of the metadata log stand in the order of their times."""
    rows = [*h.rows["broker_states"], *h.rows["leaderships"]]
    offsets = sorted(row["metadata_offset"] for row in rows)
    for row, offset in zip(sorted(rows, key=lambda row: row["at_micros"]), offsets, strict=True):
        row["metadata_offset"] = offset


def _elected_again(h: History, *, at: float, epoch: int, starts: int, sequence: int) -> None:
    """The preferred replica, broker 1, is elected out of the ISR and writes 20 records."""
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(at)]
    target = h.on_partition("t", 0)
    h.fault("elect preferred", target, injected=at - 0.2, proved=at + 0.2)
    h.led(1, epoch, at=at, isr=(1, 2), starts=starts)
    h.truncated(2, starts, at=at + 0.3)
    watched(h, 1, starts, times=(at + 1,), epoch=epoch)
    h.sent(starts, starts + 19, at=at + 4, sequence=sequence)
    watched(h, 1, starts + 20, times=(at + 10, at + 25), epoch=epoch)


def _killed_leader(h: History, *, at: float, starts: int, topic_id: str = "id") -> None:
    """Broker 1 is killed; broker 2 leads epoch 1 out of the ISR, from `starts` on."""
    h.fault(
        "kill",
        _server(h, 1),
        injected=at,
        proved=at + 4,
        heal_began=at + 14,
        healed=at + 15,
    )
    h.registered(1, at=at + 3.4, is_fenced=True)
    h.led(2, 1, at=at + 3.4, isr=(2,), starts=starts, topic_id=topic_id)
    h.registered(1, at=at + 14.9, is_fenced=False, broker_epoch=2)
    h.truncated(1, starts, at=at + 15.2)
    h.led(2, 1, at=at + 18, isr=(1, 2), topic_id=topic_id)


def _eligible(h: History, *, starts: int) -> None:
    """Broker 2 is paused, then broker 1; broker 2 is back first, and leads from `starts` on."""
    h.topic(min_insync=2, unclean_election=True)
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    _paused(h, 2, at=17.0, until=40.0)
    h.led(1, 0, at=20.0, isr=(1,), elr=(2,))
    watched(h, 1, 100, times=(22.0, 25.0), isr=(1,))
    _paused(h, 1, at=26.0, until=50.0)
    h.led(-1, 1, at=29.0, isr=(), elr=(2, 1))
    h.led(2, 2, at=40.2, isr=(2,), elr=(1,), starts=starts)
    watched(h, 2, starts, times=(42.0,), epoch=2, isr=(2,))
    h.truncated(1, starts, at=50.5)
    h.led(2, 2, at=53.0, isr=(1, 2))
    h.sent(starts, starts + 49, at=60.0, sequence=200)
    watched(h, 2, starts + 50, times=(65.0, 75.0, 85.0), epoch=2)
    _logs(h, (0, starts - 1, 0), (starts, starts + 49, 2), sequences={starts: 200})
    _in_order(h)


def _paused(h: History, broker: int, *, at: float, until: float) -> None:
    """A broker's node is suspended, and the broker fenced 3 s later until it is resumed."""
    h.fault(
        "pause",
        _server(h, broker),
        injected=at,
        proved=at + 3.5,
        heal_began=until - 0.1,
        healed=until,
    )
    h.registered(broker, at=at + 3, is_fenced=True)
    h.registered(broker, at=until + 0.1, is_fenced=False)


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
    _paused(h, 2, at=14.0, until=back)
    h.led(1, 0, at=17.0, isr=(1,), elr=(2,), **all_of)
    watched(h, 1, 100, times=(20.0,), isr=(1,))
    _paused(h, 1, at=23.2, until=40.0)
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
    _logs(h, (0, 49, 0), (50, 79, 1), sequences={50: 100}, brokers=(1, 2, 3))
    _in_order(h)


def _tails_cut(h: History) -> None:
    """All brokers are killed at 20, and 80 to 99 removed; broker 2 leads epoch 1 from 80 on."""
    h.topic()
    h.group()
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0))
    removed = '{"removed": 20, "log_end_before": 100, "log_end_after": 80}'
    evidence = f'{{"{h.broker(1)}": {removed}, "{h.broker(2)}": {removed}}}'
    h.fault(
        "cut tails",
        h.on_replicas("t", 0),
        injected=20.0,
        proved=24.0,
        heal_began=30.0,
        healed=36.0,
        evidence=evidence,
    )
    h.registered(2, at=36.0, is_fenced=False, broker_epoch=2)
    h.registered(1, at=36.1, is_fenced=True, broker_epoch=2)
    h.led(2, 1, at=36.1, isr=(2,), starts=80)
    h.registered(1, at=36.6, is_fenced=False, broker_epoch=2)
    h.led(2, 1, at=39.0, isr=(1, 2))
    watched(h, 2, 80, times=(41.0,), epoch=1)


def _created_again(h: History) -> None:
    """A topic of two epochs and 100 records is deleted, and created again at second 52."""
    h.topic()
    h.group()
    moved(h)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(50.0)]
    h.fault("recreate", h.on_topic("t"), injected=50.0, proved=53.0)
    h.led(1, 0, at=52.0, isr=(1, 2), topic_id="id2", starts=0)
    watched(h, 1, 0, times=(54.0,))


def _small_twice(h: History) -> None:
    """Two of two replicas must be in sync; broker 2 is not from 20 to 40, and from 60 to 80."""
    h.topic(min_insync=2)
    h.group()
    cluster(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0, 15.0))
    for began in (20.0, 60.0):
        _paused(h, 2, at=began - 3, until=began + 18)
        h.led(1, 0, at=began, isr=(1,))
        h.led(1, 0, at=began + 20, isr=(1, 2))
    watched(h, 1, 50, times=(25.0, 35.0), isr=(1,))
    _in_order(h)
