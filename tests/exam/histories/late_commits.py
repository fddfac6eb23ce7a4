"""Commits that a later epoch, or a reset, has overtaken: who may have stored them all the same."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import consumed, forget_elections, started, torn
from tests.exam.verbs import cluster, joined, left, plain, reads_to, watched

UNCLEAN = "unclean.leader.election.enable: records may be lost"
FENCED = "ConsumerGroup.validateOffsetCommit: a commit of another generation is refused"
NOT_REPORTED = (
    "contract/tables_of_servers.py, leaderships; unclean.leader.election.enable: an"
    " election decides whether a loss is permitted"
)


@asks(
    "Five seconds after an unclean election has lost them, a group commits what it had read.",
    source=UNCLEAN + "; OffsetMetadataManager stores a commit of any offset",
    expects={"orphan_commit": PERMITTED},
)
def commit_comes_after_an_unclean_election(h: History) -> None:
    _commits_late(h)


@asks(
    "Five seconds after a clean election has lost them, a group commits what it had read.",
    source="Kafka's documentation, Replication: a member of the ISR has every committed record",
    expects={
        "orphan_commit": f"{VIOLATION}: committed late: records before the committed "
        "offset are not the ones that were read"
    },
)
def commit_comes_after_a_clean_election_that_loses(h: History) -> None:
    _commits_late(h, clean=True)


@asks(
    "A group commits what it had read after an election that nobody has recorded has lost it.",
    source=NOT_REPORTED,
    expects={"orphan_commit": UNDECIDED},
)
def commit_comes_after_an_unknown_election(h: History) -> None:
    _commits_late(h)
    forget_elections(h)


@asks(
    "An election that nobody has recorded loses what a group had read and committed before.",
    source=NOT_REPORTED,
    expects={"orphan_commit": UNDECIDED},
)
def commit_comes_before_an_unknown_election(h: History) -> None:
    torn(h)
    h.group()
    consumed(h, 0, 199, at=8)
    forget_elections(h)


@asks(
    "A group's position is out of range and is reset to the end; it commits the end at once.",
    source="auto.offset.reset=latest: the position is the end of the log, and a commit is that of "
    "the position",
    expects={"commit_beyond_processed": PERMITTED, "commit_regressed": NONE},
)
def end_is_committed_after_a_reset(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group(reset="latest")
    cluster(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0, 25.0))
    for broker in (1, 2):
        h.log_started(broker, 60, at=30.0)
        h.log(broker, (60, 99, 0), start=60, high_watermark=100, at=2.0)
    watched(h, 1, 100, times=(35.0, 55.0, 85.0), start=60)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    left(h, 50, at=20.0)
    h.changed("opened", at=39.5, member="2")
    h.reset("out_of_range", 50, 100, at=40.2, epoch=0, policy="latest")
    h.changed("assigned", at=40.4, position=100, member="2", generation=3)
    h.commit(100, -1, at=42.0, member="2", brokers=(1, 2), generation=3)
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "A member commits 60 under generation 1, five seconds after another one owns its partition.",
    source=FENCED,
    expects={"commit_from_old_generation": VIOLATION},
)
def former_owner_commits_first(h: History) -> None:
    _former_owner_commits(h)


@asks(
    "The new owner commits 60 as well; one commit of 60 is stored.",
    source=FENCED + "; contract/tables_of_servers.py, committed_offsets: not who asked for it",
    expects={"commit_from_old_generation": UNDECIDED},
)
def both_owners_commit_the_same(h: History) -> None:
    _former_owner_commits(h, stored_by_owner=True)


def _former_owner_commits(h: History, *, stored_by_owner: bool = False) -> None:
    """Member 2 owns the partition from 20 s on; member 1 commits 60 at 25 s."""
    h.topic()
    h.group()
    plain(h, 99)
    reads_to(h, 49)
    h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    h.polled(50, 59, at=9.0)
    joined(h, 50, at=20.0, member="2", generation=2)
    h.polled(50, 59, at=21.0, member="2")
    h.commit(60, 0, at=25.0, brokers=(1, 2), generation=1)
    if stored_by_owner:
        h.commit(60, 0, at=25.02, stored=False, member="2", generation=2)
    h.polled(60, 99, at=30.0, member="2")
    h.commit(100, 0, at=32.0, brokers=(1, 2), member="2", generation=2)
    left(h, 100, at=80.0, member="2", generation=2, caught_up=True)


def _commits_late(h: History, *, clean: bool = False) -> None:
    """A group reads 0 to 199, and commits 200 when broker 2 leads, without 100 to 199."""
    torn(h, clean=clean)
    h.group()
    started(h, 0, at=5.5, fresh=True)
    h.polled(0, 199, at=8)
    h.commit(200, 0, at=28)
    h.changed("closed", at=29)


@asks(
    "A group commits what it had read; the collected metadata log begins with the election after.",
    source=NOT_REPORTED,
    expects={"orphan_commit": UNDECIDED},
)
def commit_comes_after_the_first_known_election(h: History) -> None:
    torn(h)
    h.group()
    consumed(h, 0, 199, at=26)
    h.rows["leaderships"] = [row for row in h.rows["leaderships"] if row["leader_epoch"] == 1]


@asks(
    "A commit above the sampled log end; its epoch ends below it by an election that nobody has "
    "recorded.",
    source=NOT_REPORTED,
    expects={"commit_beyond_log": UNDECIDED},
)
def commit_is_beyond_an_unknown_election(h: History) -> None:
    torn(h)
    h.group()
    consumed(h, 0, 99, at=8, commit=False)
    h.commit(150, 0, at=9)
    h.rows["samples"] = [row for row in h.rows["samples"] if row["leader_epoch"] == 1]
    forget_elections(h)
