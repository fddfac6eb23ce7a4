"""Leader epochs of records and commits, against each other and the leaders'.

The right epoch to commit with offset o is that of the batch that holds o - 1. What was committed is
taken from `__consumer_offsets`, not from what a client claims.
"""

from analysis.checks.base import CheckDefinition, CheckOutcome, count, findings
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
from analysis.engine.frames import Frame
from analysis.facts.branches import reads
from analysis.facts.commits import COMMIT, COMMIT_CLOCK_MICROS, OF_RECORDS, stored_commits
from analysis.facts.deliveries import delivered_ranges
from analysis.facts.elections import permit_in_words, with_permit
from analysis.facts.positions import PARTITION
from analysis.facts.state import kept_fork, of_present_topic, timelines
from analysis.facts.trace import Trace
from contract.outcomes import CommitEpoch

_LOG = ("topic", "partition")


def record_epoch_regressed(trace: Trace) -> CheckOutcome:
    """Of two deliveries in a row, the second has the higher offset and the lower epoch.

    So the group was served from two branches of the log.

    Undecided: two members were delivered the records, no more than the clock bound apart.
    Evaluates: every delivery.
    Source: KIP-101, KIP-320: epochs never fall along a log.
    """
    of_epoch = of_present_topic(reads(trace), trace, "first_micros")
    older = of_epoch.selectExpr(
        *PARTITION, "epoch as older", "offset_max as older_max", "last_micros as older_last"
    )
    is_overlapping = "older < epoch and older_max > offset_min and older_last >= first_micros"
    overlaps = of_epoch.join(older, on=list(PARTITION), how="inner").where(is_overlapping)
    suspects = overlaps.select(*PARTITION).distinct()
    in_order = Window.partitionBy(*PARTITION).orderBy("at_micros", "seq", "first_place")
    last = {
        f"previous_{name}": F.lag(name).over(in_order)
        for name in ("last_offset", "leader_epoch", "member", "at_micros")
    }
    found = (
        of_present_topic(delivered_ranges(trace), trace, "at_micros")
        .where("leader_epoch >= 0")
        .join(suspects, on=list(PARTITION), how="left_semi")
        .withColumns(last)
        .where("first_offset > previous_last_offset and leader_epoch < previous_leader_epoch")
        .withColumnRenamed("previous_last_offset", "previous_offset")
        .withColumnRenamed("first_offset", "offset")
    )
    is_one_session = F.col("member") == F.col("previous_member")
    is_close = F.col("at_micros") - F.col("previous_at_micros") <= trace.clock_micros
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "member",
                "leader_epoch",
                "previous_member",
                "previous_offset",
                "previous_leader_epoch",
            ),
            kind=F.when(is_one_session, "within a session").otherwise("across members"),
            verdict=F.when(~is_one_session & is_close, "undecided").otherwise("violation"),
            offset_first=F.col("previous_offset"),
            offset_last=F.col("offset"),
            at=F.col("at_micros"),
            cause=F.format_string(
                "offset %s of epoch %s was followed by offset %s of the older epoch %s",
                "previous_offset",
                "previous_leader_epoch",
                "offset",
                "leader_epoch",
            ),
        ),
        trace.records("polls"),
    )


def committed_epoch_missing(trace: Trace) -> CheckOutcome:
    """A commit has no epoch, though the group knew the epoch of the previous record.

    The group was delivered the previous record since it was opened, or had committed that offset
    with an epoch just before, or takes its epochs from elsewhere than its records.

    Permitted: the group does not commit the epochs of its records.
    Evaluates: every commit whose previous record has a known epoch that the group could know.
    Source: KAFKA-20507: a position without an epoch can't be validated.
    """
    return _compare(
        _known(trace).where("could_know"),
        where=F.col("committed_epoch") == -1,
        kind="missing",
        permitted=_is_chosen(),
        cause="the offset was committed without a leader epoch, so it cannot be validated",
    )


def committed_epoch_stale(trace: Trace) -> CheckOutcome:
    """The committed epoch is below the epoch of the previous record, which may be a control record.

    Permitted: the group does not commit the epochs of its records.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before; KAFKA-19902.
    """
    return _compare(
        _known(trace),
        where=(F.col("committed_epoch") >= 0) & (F.col("committed_epoch") < F.col("record_epoch")),
        kind="stale",
        permitted=_is_chosen(),
        cause="the committed epoch is older than that of the record before; a client may report"
        " a truncation that did not happen",
    )


def committed_epoch_behind_leader(trace: Trace) -> CheckOutcome:
    """The committed epoch is that of the previous record, and the leader had a newer one.

    Permitted: always: a plain commit takes the epoch of its record.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `SubscriptionState.allConsumed`; KAFKA-19902 reports it as a precondition.
    """
    return _compare(
        _known(trace),
        where=(F.col("committed_epoch") == F.col("record_epoch"))
        & (F.col("committed_epoch") < F.col("led_epoch")),
        kind="behind leader",
        permitted=F.lit(True),
        cause="the committed epoch matches its offset; the leader epoch was already newer",
    )


def committed_epoch_ahead(trace: Trace) -> CheckOutcome:
    """The committed epoch is above the epoch of the previous record.

    So a truncation below it can't be noticed.

    Permitted: the group does not commit the epochs of its records.
    Evaluates: every commit whose previous record has a known epoch.
    Source: `OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before.
    """
    return _compare(
        _known(trace),
        where=F.col("committed_epoch") > F.col("record_epoch"),
        kind="ahead",
        permitted=_is_chosen(),
        cause="the committed epoch is newer than that of the record before; a client may not"
        " detect a truncation below it",
    )


def committed_epoch_regressed(trace: Trace) -> CheckOutcome:
    """A group's committed offset stayed or grew on a partition, and its epoch fell.

    Permitted: the group does not commit the epochs of its records.
    Evaluates: pairs of commits in a row that both have an epoch and do not go back, except those of
        transactions.
    Source: KIP-101: epochs never fall along a log.
    """
    pairs = stored_commits(trace).where(
        "not is_transactional and previous_epoch >= 0 and committed_epoch >= 0"
        " and offset >= previous_offset"
    )
    return CheckOutcome(
        findings(
            pairs.where("committed_epoch < previous_epoch"),
            evidence=("previous_offset", "previous_epoch", "committed_epoch", "commit_epoch"),
            kind=F.lit("regressed"),
            verdict=F.when(_is_chosen(), "permitted").otherwise("violation"),
            offset_first=F.col("previous_offset"),
            offset_last=F.col("offset"),
            at=F.col("committed_micros"),
            cause=F.format_string(
                "epoch %s was committed after epoch %s, although the offset did not go back",
                "committed_epoch",
                "previous_epoch",
            ),
        ),
        count(pairs),
    )


def committed_epoch_unknown(trace: Trace) -> CheckOutcome:
    """The partition never had the committed epoch, or the epoch began after the commit.

    Undecided: the epoch began after the commit by no more than the clock bound; or the epoch is
        older than the oldest one in the metadata log.
    Evaluates: every commit that has an epoch.
    Source: KIP-631: PartitionChangeRecord is the only origin of leader epochs.
    """
    reported = stored_commits(trace).where("committed_epoch >= 0")
    began = trace["leaderships"].groupBy(*_LOG, F.col("leader_epoch").alias("committed_epoch"))
    oldest = trace["leaderships"].groupBy(*_LOG).agg(F.min("leader_epoch").alias("oldest_epoch"))
    found = (
        reported.join(
            began.agg(F.min("at_micros").alias("began_micros")),
            on=[*_LOG, "committed_epoch"],
            how="left",
        )
        .join(oldest, on=list(_LOG), how="left")
        .where(f"began_micros is null or began_micros > committed_micros + {COMMIT_CLOCK_MICROS}")
    )
    is_unreported = F.col("began_micros").isNull()
    is_too_old = F.coalesce(F.col("committed_epoch") < F.col("oldest_epoch"), F.lit(True))
    is_close = F.col("began_micros") <= F.col("committed_micros") + trace.clock_micros
    return CheckOutcome(
        findings(
            found,
            evidence=("committed_epoch", "began_micros", "oldest_epoch", "commit_epoch"),
            kind=F.when(is_unreported, "no such epoch").otherwise("not begun"),
            verdict=F.when(F.coalesce(is_close, is_too_old), "undecided").otherwise("violation"),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            at=F.col("committed_micros"),
            cause=F.when(
                is_unreported & is_too_old,
                "the leader epoch is older than the oldest one in the metadata log",
            )
            .when(is_unreported, "the partition never had this leader epoch")
            .otherwise("the leader epoch began only after the commit"),
        ),
        count(reported),
    )


def orphan_commit(trace: Trace) -> CheckOutcome:
    """The committed position lies on an abandoned branch of the log.

    A later epoch starts below the offset on the surviving branch. Epochs below that of the previous
    record only look so, and are left out: `committed_epoch_stale` finds them. A delivered record
    lay below the high watermark, so only an election that permits the loss may abandon it.

    Permitted: by the election that abandoned the branch, if it permits the loss.
    Undecided: the metadata log does not have all elections since.
    Evaluates: every commit that has an epoch.
    Source: KIP-101; KIP-320; KIP-966.
    """
    judged = (
        stored_commits(trace)
        .where("committed_epoch >= 0")
        .join(timelines(trace), on=list(_LOG), how="inner")
        .selectExpr("*", f"{kept_fork('committed_epoch', 'offset')} as fork")
    )
    orphans = judged.where(
        "fork is not null and coalesce(record_epoch, -1) <= committed_epoch"
    ).selectExpr(
        *COMMIT,
        "offset",
        "committed_epoch",
        "committed_micros",
        "record_epoch",
        "led_epoch",
        "commit_epoch",
        "fork.start_high as forked_at",
        "fork.leader_epoch as later_epoch",
        "offset - fork.start_high as records",
    )
    found = with_permit(
        trace.engine.materialized(orphans),
        trace,
        after="committed_epoch",
        to="later_epoch",
        offset="forked_at",
    )
    return CheckOutcome(
        findings(
            found,
            evidence=(
                "committed_epoch",
                "forked_at",
                "later_epoch",
                "records",
                "record_epoch",
                "led_epoch",
                "commit_epoch",
                "permit",
            ),
            kind=F.when(F.col("led_epoch") > F.col("committed_epoch"), "committed late").otherwise(
                "truncated later"
            ),
            verdict=F.when(F.col("permit").isNotNull(), "permitted")
            .when(F.col("is_unreported"), "undecided")
            .otherwise("violation"),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            at=F.col("committed_micros"),
            cause=F.concat(
                F.format_string(
                    "epoch %s ends at %s in the surviving log: %s records before the committed"
                    " offset are not the ones that were read",
                    "committed_epoch",
                    "forked_at",
                    "records",
                ),
                F.when(F.col("permit").isNull(), F.lit("")).otherwise(
                    F.concat(F.lit("; "), permit_in_words())
                ),
            ),
        ),
        count(judged),
    )


def _is_chosen() -> Column:
    """Whether the group's style of committing does not take the epoch of the record before."""
    style = F.coalesce("commit_epoch", F.lit(str(CommitEpoch.RECORD)))
    return ~style.isin(*OF_RECORDS)


def _compare(
    known: Frame, *, where: Column, kind: str, permitted: Column, cause: str
) -> CheckOutcome:
    found = known.where(where)
    return CheckOutcome(
        findings(
            found,
            evidence=("committed_epoch", "record_epoch", "led_epoch", "commit_epoch"),
            kind=F.lit(kind),
            verdict=F.when(permitted, "permitted").otherwise("violation"),
            offset_first=F.col("offset"),
            offset_last=F.col("offset"),
            at=F.col("committed_micros"),
            cause=F.lit(cause),
        ),
        count(known),
    )


def _known(trace: Trace) -> Frame:
    """Stored commits whose record before is known, from a poll or from the surviving log."""
    return stored_commits(trace).where("record_epoch is not null")


CHECKS = (
    CheckDefinition("E1", record_epoch_regressed, needs=("polls",)),
    CheckDefinition(
        "E2", committed_epoch_missing, needs=("committed_offsets", "polls", "leaderships")
    ),
    CheckDefinition(
        "E3", committed_epoch_stale, needs=("committed_offsets", "polls", "leaderships")
    ),
    CheckDefinition(
        "E4", committed_epoch_behind_leader, needs=("committed_offsets", "polls", "leaderships")
    ),
    CheckDefinition(
        "E6", committed_epoch_ahead, needs=("committed_offsets", "polls", "leaderships")
    ),
    CheckDefinition("E7", committed_epoch_regressed, needs=("committed_offsets",)),
    CheckDefinition("E8", committed_epoch_unknown, needs=("committed_offsets", "leaderships")),
    CheckDefinition(
        "E9", orphan_commit, needs=("committed_offsets", "leaderships", "epoch_checkpoints")
    ),
)
