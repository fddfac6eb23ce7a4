"""Commits that a coordinator acknowledged and that its log lacks."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import AT_COMMIT, Cases, findings, permitted, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.commits import COMMIT_CLOCK_MICROS, REPORT, asked_commits, stored_otherwise
from analysis.facts.elections import elections
from analysis.facts.positions import IN_LOG, OFFSETS_TOPIC, PARTITION, all_offsets, offsets_of
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace
from contract.outcomes import Outcome

_IS_LATER = "last_low > committed_micros"
"""A later commit is stored, beyond the clock bound."""
_IS_UNCOMPACTED = (
    "(coalesce(gone_at is not null and last_at.offsets_offset <= gone_at.offsets_offset, false)"
    " or coalesce(oldest_high < began_micros, false))"
)
"""Compaction did not remove it: another commit has its offset, or an older one is left."""
_LOST = Cases(
    undecided(
        "superseded",
        "the commit was acknowledged but is not stored; compaction may have removed it",
        when=f"{_IS_LATER} and not {_IS_UNCOMPACTED}",
    ),
    permitted(
        "lost",
        "the commit was lost by an unclean election of its partition: {election}",
        when="election is not null",
    ),
    violation(
        "lost",
        "the commit was acknowledged, but only an out-of-sync replica stores it",
        when="gone_at is not null",
    ),
    violation(
        "lost",
        "the commit was acknowledged but is not stored; an older one is, so compaction did not"
        " remove it",
        when=_IS_LATER,
    ),
    violation(
        "lost",
        "the commit was acknowledged, but neither it nor a later one is in __consumer_offsets",
    ),
    evidence="member, committed_epoch, commit_epoch, oldest_micros, last_micros, brokers, election",
    **AT_COMMIT,
)


def lost_commit(trace: Trace) -> CheckOutcome:
    """The coordinator acknowledged a commit, and the surviving log does not have it.

    The surviving log is that of the last in-sync replicas of `__consumer_offsets`. It has a commit
    that was stored between the request and its response; one of the same offset that was stored at
    another time is another commit. A commit that is stored with another offset is evaluated by
    `commit_mismatch`.

    Permitted: an unclean election of the group's partition of `__consumer_offsets` since the
        commit; of any of its partitions, if the log has no commit of the group.
    Undecided: a later commit of the group and partition is stored: compaction may have removed this
        one. Not if the log still has an older commit of that group and partition, which compaction
        would have removed too; or if a replica that did not survive has it at an offset at which
        the surviving log has another.
    Evaluates: every acknowledged commit.
    Source: `GroupCoordinator.commitOffsets`: a commit is answered once every in-sync replica has
        the record; `Cleaner.shouldRetainRecord`: compaction keeps a key's last record.
    """
    acknowledged = of_present_topic(
        trace["commits"].where(F.col("outcome") == str(Outcome.OK)).where("offset is not null"),
        trace,
        "committed_micros",
    )
    newest = (
        offsets_of(trace)
        .groupBy(*PARTITION)
        .agg(
            F.min("committed_micros").alias("oldest_micros"),
            F.max("committed_micros").alias("last_micros"),
            F.expr(f"max(committed_micros) - {trace.clock_micros} as last_low"),
            F.expr(
                f"min(committed_micros) + {trace.clock_micros + COMMIT_CLOCK_MICROS} as oldest_high"
            ),
            F.expr(f"max({IN_LOG}) as last_at"),
        )
    )
    stored = (
        asked_commits(trace)
        .join(
            all_offsets(trace).selectExpr(
                *PARTITION,
                "offset",
                "committed_micros as stored_micros",
                "survives",
                f"if(survives, null, {IN_LOG}) as gone_at",
                "if(survives, null, brokers) as brokers",
            ),
            on=[*PARTITION, "offset"],
            how="inner",
        )
        .where("stored_micros between asked_first and asked_last")
        .groupBy(*REPORT, "offset")
        .agg(
            F.max("survives").alias("survives"),
            F.max("gone_at").alias("gone_at"),
            F.max("brokers").alias("brokers"),
        )
    )
    otherwise = stored_otherwise(trace).where("kind = 'offset' and took_micros is not null")
    found = (
        acknowledged.join(stored, on=[*REPORT, "offset"], how="left")
        .where("not coalesce(survives, false)")
        .join(otherwise.select(*REPORT), on=list(REPORT), how="left_anti")
        .join(newest, on=list(PARTITION), how="left")
    )
    found = _with_unclean_elections(found, trace)
    return CheckOutcome(findings(found, _LOST), count(acknowledged))


def _with_unclean_elections(lost: Frame, trace: Trace) -> Frame:
    """Add election: the first unclean one of the group's offsets partition since the commit.

    Of a group without any commit in the surviving log, that of any offsets partition.
    """
    unclean = (
        elections(trace)
        .where(f"topic = '{OFFSETS_TOPIC}' and is_unclean")
        .selectExpr(
            "partition as _unclean",
            "at_micros as _elected",
            "format_string('epoch %s, broker %s, metadata offset %s', epoch, leader,"
            " metadata_offset) as _election",
        )
    )
    key = (*PARTITION, "member", "seq")
    since = (
        lost.select(
            *key,
            "committed_micros",
            F.expr("coalesce(gone_at.offsets_partition, last_at.offsets_partition) as _own"),
        )
        .join(
            unclean,
            on=F.expr(
                f"_elected > committed_micros - {trace.clock_micros}"
                " and coalesce(_unclean = _own, true)"
            ),
            how="inner",
        )
        .groupBy(*key)
        .agg(F.expr("min_by(_election, _elected)").alias("election"))
    )
    return lost.join(since, on=list(key), how="left")


CHECKS = (CheckDefinition("D6", lost_commit, needs=("commits",), cases=_LOST),)
