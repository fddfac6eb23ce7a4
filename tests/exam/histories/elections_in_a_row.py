"""Several elections in a row: what each of them may take, what is back, and who notices which."""

from collections.abc import Mapping

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.verbs import (
    begun,
    cluster,
    cut,
    joined,
    left,
    noticed,
    reads_to,
    same_logs,
    watched,
)

REPLICATION = (
    "Kafka's documentation, Replication: a committed record survives as long as one in-sync "
    "replica does, unless an unclean election is allowed"
)
TRUNCATION = "KIP-101: a follower is cut to where the new leader's log parts from its own"
UNCLEAN = "unclean.leader.election.enable: such a leader may lack committed records"
VALIDATION = "KIP-320, Consumer: a position is validated by its epoch with OffsetForLeaderEpoch"
EACH = VALIDATION + ", after each change of the leader"
LINEAGES = "KIP-320: several unclean elections in a row; LeaderEpochFileCache.endOffsetFor"
KIP_320 = "KIP-320, Consumer Handling"
END = "LeaderEpochFileCache.endOffsetFor: an epoch ends where the next larger one starts"
CLEAN = "Kafka's documentation, Replication: an election from the in-sync replicas loses nothing"


@asks(
    "An unclean election takes 50 to 99; later a clean one takes 80 to 99 of the next epoch, too.",
    source=REPLICATION,
    expects={
        "lost_record": f"{VIOLATION}: truncated: (assumed: the epoch at that time): truncated",
        "leader_completeness": VIOLATION,
    },
)
def clean_election_loses_more_after_an_unclean_one(h: History) -> None:
    two_elections(h, kept=80)


@asks(
    "An unclean election takes 50 to 99; the clean one after it has all of the next epoch.",
    source=UNCLEAN + "; " + TRUNCATION,
    expects={
        "lost_record": PERMITTED,
        "leader_completeness": PERMITTED,
        "over_truncation": NONE,
        "resurrected_record": NONE,
    },
)
def clean_election_keeps_what_an_unclean_one_left(h: History) -> None:
    two_elections(h, kept=100)


@asks(
    "A broker that never rejoined is elected uncleanly: its old records are back, the others gone.",
    source="KIP-320: several unclean elections in a row; " + UNCLEAN,
    expects={
        "resurrected_record": PERMITTED,
        "lost_record": PERMITTED,
        "record_epoch_regressed": PERMITTED,
        "inconsistent_offset": PERMITTED,
        "committed_epoch_regressed": PERMITTED,
    },
)
def branch_of_a_broker_that_never_rejoined_is_back(h: History) -> None:
    old_leader_returns(h, rejoined=False)


@asks(
    "A broker that never rejoined is elected uncleanly: its records of acks=1, which no other "
    "broker had, are delivered only then.",
    source=UNCLEAN + "; acks=1 promises nothing of the followers",
    expects={"leader_completeness": PERMITTED, "lost_record": PERMITTED},
)
def branch_that_was_not_committed_is_back(h: History) -> None:
    old_leader_returns(h, rejoined=False, committed=False)


@asks(
    "A broker joins the in-sync replicas with the tail that it should have cut, and is elected.",
    source=TRUNCATION + "; " + REPLICATION,
    expects={
        "resurrected_record": VIOLATION,
        "lost_record": VIOLATION,
        "record_epoch_regressed": VIOLATION,
        "committed_epoch_regressed": f"{VIOLATION}: regressed: epoch 0 was committed after epoch "
        "1, although the offset did not go back",
    },
)
def branch_is_back_by_a_clean_election(h: History) -> None:
    old_leader_returns(h, rejoined=True)


def two_elections(h: History, *, kept: int, alone: int | None = None) -> None:
    """Broker 2 is elected uncleanly at 22 s (epoch 1, from 50), broker 1 at 62 s (epoch 2).

    Epoch 0 has 0 to 99, epoch 1 has 50 to 99. Broker 1 rejoins at 36 s. With `alone` it leaves the
    in-sync replicas again at 42 s, and broker 2 goes on below that offset; so the second election
    is unclean as well. Epoch 2 starts at `kept`, and has 40 records.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    h.sent(50, 99, at=10.0)
    watched(h, 1, 100, times=(11.0, 16.0), isr=(1,))
    h.fault("kill", h.on_broker(1), injected=18.0, proved=21.0, heal_began=29.0, healed=30.0)
    h.registered(1, at=21.0, is_fenced=True)
    h.led(2, 1, at=22.0, isr=(2,), starts=50)
    h.sampled(2, at=23.0, end=50, epoch=1, isr=(2,))
    h.sent(50, 99, at=26.0, sequence=100)
    watched(h, 2, 100, times=(28.0, 34.0), epoch=1, isr=(2,))
    h.registered(1, at=31.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, 50, at=33.0)
    h.led(2, 1, at=36.0, isr=(1, 2))
    watched(h, 2, 100, times=(38.0, 41.0), epoch=1)
    if alone is not None:
        h.led(2, 1, at=42.0, isr=(2,))
        h.sent(100, alone - 1, at=45.0, sequence=150)
        watched(h, 2, alone, times=(46.0, 55.0), epoch=1, isr=(2,))
    h.fault("kill", h.on_broker(2), injected=58.0, proved=61.0, heal_began=69.0, healed=70.0)
    h.registered(2, at=61.0, is_fenced=True)
    h.led(1, 2, at=62.0, isr=(1,), starts=kept)
    h.sampled(1, at=63.0, end=kept, epoch=2, isr=(1,))
    h.sent(kept, kept + 39, at=66.0, sequence=200)
    watched(h, 1, kept + 40, times=(67.0, 70.0), epoch=2, isr=(1,))
    h.registered(2, at=71.0, is_fenced=False, broker_epoch=2)
    if kept < (alone or 100):
        h.truncated(2, kept, at=73.0)
    h.led(1, 2, at=75.0, isr=(1, 2))
    watched(h, 1, kept + 40, times=(78.0, 85.0), epoch=2)
    for broker in (1, 2):
        spans = ((0, 49, 0), (50, kept - 1, 1), (kept, kept + 39, 2))
        h.log(broker, *spans, sequences={50: 100, kept: 200}, high_watermark=kept + 40, at=2.0)


def old_leader_returns(h: History, *, rejoined: bool, committed: bool = True) -> None:
    """Epoch 0 of broker 1 has 0 to 99, epoch 1 of broker 2 50 to 79; then broker 1 leads again.

    Its log has epoch 0 as before, and its own epoch starts at 100. With `rejoined` it was in the
    in-sync replicas by then, though it had not cut its tail; else it is elected uncleanly. A group
    reads all of this, notices the first truncation, and reads 80 to 99 of epoch 0 at the end. If
    not `committed`, 50 to 99 of epoch 0 had acks=1, and the election of broker 2 is clean.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    if committed:
        h.led(1, 0, at=8.0, isr=(1,))
        h.sent(50, 99, at=10.0)
        watched(h, 1, 100, times=(11.0, 16.0), isr=(1,))
    else:
        h.sent(50, 99, at=10.0, acks="1")
        watched(h, 1, 50, times=(11.0, 16.0))
    back = 30.0 if rejoined else 44.5
    h.fault("kill", h.on_broker(1), injected=18.0, proved=21.0, heal_began=back - 1, healed=back)
    h.registered(1, at=21.0, is_fenced=True)
    h.led(2, 1, at=22.0, isr=(2,), starts=50)
    h.sampled(2, at=23.0, end=50, epoch=1, isr=(2,))
    h.sent(50, 79, at=26.0, sequence=100)
    watched(h, 2, 80, times=(28.0, 34.0), epoch=1, isr=(2,))
    if rejoined:
        h.registered(1, at=31.0, is_fenced=False, broker_epoch=2)
        h.led(2, 1, at=36.0, isr=(1, 2))
        h.sampled(2, at=38.0, end=80, epoch=1, isr=(1, 2))
    h.fault("kill", h.on_broker(2), injected=40.0, proved=43.0, heal_began=59.0, healed=60.0)
    h.registered(2, at=43.0, is_fenced=True)
    epoch = 2 if rejoined else 3
    if not rejoined:
        h.led(-1, 2, at=43.0, isr=(2,))
        h.registered(1, at=46.0, is_fenced=False, broker_epoch=2)
    h.led(1, epoch, at=47.0, isr=(1,), starts=100)
    h.sampled(1, at=49.0, end=100, epoch=epoch, isr=(1,))
    h.sent(100, 119, at=52.0, sequence=130)
    watched(h, 1, 120, times=(54.0, 60.0), epoch=epoch, isr=(1,))
    h.registered(2, at=61.0, is_fenced=False, broker_epoch=2)
    h.truncated(2, 50, at=62.0)
    h.led(1, epoch, at=66.0, isr=(1, 2))
    watched(h, 1, 120, times=(70.0, 85.0), epoch=epoch)
    for broker in (1, 2):
        spans = ((0, 99, 0), (100, 119, epoch))
        h.log(broker, *spans, sequences={100: 130}, high_watermark=120, at=2.0)
    _reads_both_branches(h, epoch, committed=committed)


def _reads_both_branches(h: History, epoch: int, *, committed: bool) -> None:
    """What the group of `old_leader_returns` is delivered and commits."""
    reads_to(h, 49)
    if committed:
        h.polled(50, 99, at=12.0)
        h.commit(100, 0, at=14.0, brokers=(1, 2), generation=1)
        h.reset("truncation", 100, 50, at=24.0, epoch=0, member="1")
    h.polled(50, 79, at=27.0, epoch=1, sequence=100)
    h.commit(80, 1, at=29.0, brokers=(1, 2), generation=1)
    h.polled(80, 99, at=50.0)
    h.commit(100, 0, at=51.0, brokers=(1, 2), generation=1)
    h.polled(100, 119, at=53.0, epoch=epoch, sequence=130)
    h.commit(120, epoch, at=56.0, brokers=(1, 2), generation=1)
    left(h, 120, at=80.0, caught_up=True)


@asks(
    "Of two truncations in a row a member notices the first, and reads on over the second.",
    source=EACH,
    expects={
        "truncation_undetected": VIOLATION,
        "silent_revalidation": VIOLATION,
        "skipped_record": VIOLATION,
        "truncation_detected": f"{PERMITTED}: at the divergence: ms after the next epoch began",
    },
)
def first_of_two_truncations_is_noticed(h: History) -> None:
    _two_truncations(h, notices=1)


@asks(
    "It notices both of them.",
    source=EACH,
    expects={
        "truncation_undetected": NONE,
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "skipped_record": NONE,
        "reset": f"{PERMITTED}: truncation: truncation: from 100 to 50 (policy earliest)",
        "orphan_commit": PERMITTED,
    },
)
def both_of_two_truncations_are_noticed(h: History) -> None:
    _two_truncations(h, notices=2)


@asks(
    "A truncation was noticed; at the end the log has that position again, since its old leader "
    "leads.",
    source=LINEAGES,
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "truncation_detected": PERMITTED,
        "truncation_undetected": NOT_VIOLATION,
        "over_truncation": NONE,
    },
)
def noticed_branch_is_back_at_the_end(h: History) -> None:
    old_leader_returns(h, rejoined=False)


def _two_truncations(h: History, *, notices: int) -> None:
    """A live member reads over both elections of `two_elections`, of which both are unclean."""
    two_elections(h, kept=100, alone=120)
    reads_to(h, 49)
    h.polled(50, 99, at=12.0)
    h.commit(100, 0, at=14.0, brokers=(1, 2), generation=1)
    h.reset("truncation", 100, 50, at=24.0, epoch=0, member="1")
    h.polled(50, 99, at=27.0, epoch=1, sequence=100)
    h.polled(100, 119, at=47.0, epoch=1, sequence=150)
    h.commit(120, 1, at=50.0, brokers=(1, 2), generation=1)
    first = 120
    if notices == 2:
        h.reset("truncation", 120, 100, at=64.0, epoch=1, member="1")
        first = 100
    h.polled(first, 139, at=68.0, epoch=2, sequence=first + 100)
    h.commit(140, 2, at=72.0, brokers=(1, 2), generation=1)
    left(h, 140, at=80.0, caught_up=True)


@asks(
    "A group leaves a branch that is truncated; then the old leader, which never truncated it, is "
    "elected again, and the group's new branch is the one that is gone.",
    source=KIP_320 + "; " + END + ": of an epoch that its log lacks, too",
    expects={
        "false_truncation": NONE,
        "unjustified_reset": NONE,
        "record_epoch_regressed": PERMITTED,
        "truncation_undetected": PERMITTED,
        "lost_record": PERMITTED,
    },
)
def old_leader_brings_the_first_branch_back(h: History) -> None:
    _brought_back(h)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=6.0)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=15.0, generation=1)
    noticed(h, 100, 50, at=28.0, epoch=0)
    h.polled(50, 69, at=29.0, epoch=1, sequence=100)
    h.commit(70, 1, at=31.0, generation=1)
    h.polled(70, 99, at=56.0)
    h.polled(100, 119, at=56.5, epoch=3, sequence=120)
    h.commit(120, 3, at=58.0, generation=1)
    left(h, 120, at=80.0, caught_up=True)


@asks(
    "A group notices the first of two truncations, and reads on over the second.",
    source=KIP_320 + ": a position is validated at each change of the leader",
    expects={
        "truncation_undetected": VIOLATION,
        "skipped_record": VIOLATION,
        "silent_revalidation": VIOLATION,
    },
)
def second_of_two_truncations_is_not_noticed(h: History) -> None:
    _twice(h)
    h.polled(120, 159, at=52.0, epoch=3, sequence=210)
    h.commit(160, 3, at=54.0, generation=1)
    left(h, 160, at=80.0, caught_up=True)


@asks(
    "It notices both, each at the divergence of its time.",
    source=KIP_320,
    expects={
        "truncation_undetected": NONE,
        "skipped_record": NONE,
        "false_truncation": NONE,
        "commit_regressed": NONE,
        "orphan_commit": PERMITTED,
    },
)
def each_of_two_truncations_is_noticed(h: History) -> None:
    _twice(h)
    noticed(h, 120, 80, at=48.0, epoch=1)
    h.polled(80, 159, at=52.0, epoch=3, sequence=170)
    h.commit(160, 3, at=54.0, generation=1)
    left(h, 160, at=80.0, caught_up=True)


def _killed(h: History, broker: int, *, at: float, back: float, broker_epoch: int = 1) -> None:
    """A broker is killed, fenced three seconds later, and started again."""
    name = h.on_broker(broker)
    h.fault("kill", name, injected=at, proved=at + 3, heal_began=back - 1, healed=back)
    h.registered(broker, at=at + 3, is_fenced=True, broker_epoch=broker_epoch)


def _came_back(h: History, broker: int, *, at: float, broker_epoch: int = 2) -> None:
    h.registered(broker, at=at, is_fenced=False, broker_epoch=broker_epoch)


def _brought_back(h: History) -> None:
    """Broker 1 leads epoch 0 to 99, broker 2 epoch 1 from 50 to 69, broker 1 epoch 3 from 100."""
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    h.sent(50, 99, at=12.0)
    watched(h, 1, 100, times=(14.0, 18.0), isr=(1,))
    _killed(h, 1, at=20.0, back=50.0)
    h.led(2, 1, at=23.0, isr=(2,), starts=50)
    h.sent(50, 69, at=26.0, sequence=100)
    watched(h, 2, 70, times=(27.0, 35.0), epoch=1, isr=(2,))
    _killed(h, 2, at=40.0, back=62.0)
    h.led(-1, 2, at=43.0, isr=(2,))
    _came_back(h, 1, at=50.0)
    h.led(1, 3, at=50.5, isr=(1,), starts=100)
    h.sent(100, 119, at=52.0, sequence=120)
    watched(h, 1, 120, times=(55.0, 58.0), epoch=3, isr=(1,))
    _came_back(h, 2, at=62.0)
    h.truncated(2, 50, at=63.0)
    h.led(1, 3, at=68.0, isr=(1, 2))
    watched(h, 1, 120, times=(75.0, 85.0), epoch=3)
    spans = ((0, 49, 0), (50, 99, 0), (100, 119, 3))
    copies(h, (1, 2), *spans, sequences={100: 120}, high_watermark=120)


def _twice(h: History) -> None:
    """Epoch 0 reaches 99 and is cut to 50, epoch 1 reaches 119 and is cut to 80 by epoch 3.

    Member 1 reads epoch 0, notices the first truncation, reads epoch 1 and commits 120.
    """
    h.topic(unclean_election=True)
    h.group()
    begun(h)
    h.sent(0, 49, at=2.0)
    h.led(1, 0, at=6.0, isr=(1,))
    h.sent(50, 99, at=8.0)
    watched(h, 1, 100, times=(9.0,), isr=(1,))
    _killed(h, 1, at=12.0, back=25.0)
    h.led(2, 1, at=15.0, isr=(2,), starts=50)
    h.sent(50, 79, at=20.0, sequence=100)
    watched(h, 2, 80, times=(22.0,), epoch=1, isr=(2,))
    _came_back(h, 1, at=25.0)
    h.truncated(1, 50, at=26.0)
    h.led(2, 1, at=28.0, isr=(1, 2))
    watched(h, 2, 80, times=(29.0,), epoch=1)
    _killed(h, 1, at=31.0, back=46.0, broker_epoch=2)
    h.led(2, 1, at=34.0, isr=(2,))
    h.sent(80, 119, at=36.0, sequence=130)
    watched(h, 2, 120, times=(37.0,), epoch=1, isr=(2,))
    _killed(h, 2, at=40.0, back=61.0)
    h.led(-1, 2, at=43.0, isr=(2,))
    _came_back(h, 1, at=46.0, broker_epoch=3)
    h.led(1, 3, at=46.5, isr=(1,), starts=80)
    h.sent(80, 159, at=50.0, sequence=170)
    watched(h, 1, 160, times=(55.0,), epoch=3, isr=(1,))
    _came_back(h, 2, at=61.0)
    h.truncated(2, 80, at=62.0)
    h.led(1, 3, at=66.0, isr=(1, 2))
    watched(h, 1, 160, times=(75.0, 85.0), epoch=3)
    spans = ((0, 49, 0), (50, 79, 1), (80, 159, 3))
    copies(h, (1, 2), *spans, sequences={50: 100, 80: 170}, high_watermark=160)
    joined(h, 0, at=4.0)
    h.polled(0, 49, at=5.0)
    h.polled(50, 99, at=9.5)
    h.commit(100, 0, at=10.0, generation=1)
    noticed(h, 100, 50, at=17.0, epoch=0)
    h.polled(50, 79, at=21.0, epoch=1, sequence=100)
    h.polled(80, 119, at=38.0, epoch=1, sequence=130)
    h.commit(120, 1, at=39.0, generation=1)


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
    "All tails are cut, which one election shows; the next one loses what was written since.",
    source="docs/findings.md: the first election after such a fault permits a loss; " + CLEAN,
    expects={"lost_record": VIOLATION, "leader_completeness": VIOLATION},
)
def second_election_after_tails_were_cut(h: History) -> None:
    _tails_cut(h)
    h.sent(80, 119, at=44.0, sequence=100)
    watched(h, 2, 120, times=(48.0, 55.0), epoch=1)
    _elected_again(h, at=60.0, epoch=2, starts=110, sequence=140)
    same_logs(h, (0, 79, 0), (80, 109, 1), (110, 129, 2), sequences={80: 100, 110: 140})


def _replaced(h: History, *spans: tuple[int, int, int], sequences: Mapping[int, int]) -> None:
    """The replicas hold this, and not what another verb had said."""
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    same_logs(h, *spans, sequences=sequences)


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
