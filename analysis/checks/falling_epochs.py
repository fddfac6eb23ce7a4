"""Epochs that fell, though the offset rose: of deliveries and of commits."""

from analysis.checks.base import CheckDefinition, CheckOutcome, count
from analysis.checks.cases import PERMIT, Cases, findings, permitted, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window, WindowSpec
from analysis.engine.frames import Frame
from analysis.facts.branches import reads
from analysis.facts.commits import IS_CHOSEN, stored_commits
from analysis.facts.deliveries import delivered_ranges
from analysis.facts.permits import with_permit
from analysis.facts.positions import PARTITION
from analysis.facts.state import end_then, led_then, with_timelines
from analysis.facts.topics import of_present_topic
from analysis.facts.trace import Trace

_OLDER = (
    "offset {previous_offset} of epoch {previous_leader_epoch} was followed by offset {offset} of"
    " the older epoch {leader_epoch}"
)
_FELL = Cases(
    permitted("{kind}", f"{_OLDER}; {PERMIT}", when="is_unseen and permit is not null"),
    violation("within a session", _OLDER, undecided_if="is_unseen and is_unreported"),
    violation("across members", _OLDER, undecided_if="is_close or is_unseen and is_unreported"),
    evidence="member, leader_epoch, previous_member, previous_offset, previous_leader_epoch,"
    " permit",
    offset_first="previous_offset",
    offset_last="offset",
    at="at_micros",
)


def record_epoch_regressed(trace: Trace) -> CheckOutcome:
    """Of two deliveries in a row, the second has the higher offset and the lower epoch.

    So the group was served from two branches of the log.

    Permitted: by an election in between that permits the loss of the first one, whose leader's log
        lacked its epoch. The end that it returned for this epoch was not below the position, so
        that no client could notice: a limit of KIP-320.
    Undecided: two members were delivered the records, no more than the clock bound apart; or such
        an election is not known.
    Evaluates: every delivery.
    Source: KIP-101, KIP-320: epochs never fall along a log.
    """
    of_epoch = of_present_topic(reads(trace), trace, "first_micros")
    older = of_epoch.selectExpr(
        *PARTITION, "epoch as older", "offset_max as older_max", "last_micros as older_last"
    )
    is_overlapping = (
        "older < epoch and older_max > offset_min"
        f" and older_last + {trace.jump_micros} >= first_micros"
    )
    overlaps = of_epoch.join(older, on=list(PARTITION), how="inner").where(is_overlapping)
    suspects = overlaps.select(*PARTITION).distinct()
    suspected = (
        of_present_topic(delivered_ranges(trace), trace, "at_micros")
        .where("leader_epoch >= 0")
        .join(suspects, on=list(PARTITION), how="left_semi")
    )
    in_group = Window.partitionBy(*PARTITION).orderBy("at_micros", "seq", "first_place")
    of_member = Window.partitionBy(*PARTITION, "member").orderBy("seq", "first_place")
    found = (
        _with_previous(suspected, of_member)
        .unionByName(_with_previous(suspected, in_group).where("member != previous_member"))
        .where("first_offset > previous_last_offset and leader_epoch < previous_leader_epoch")
        .withColumnRenamed("previous_last_offset", "previous_offset")
        .withColumnRenamed("first_offset", "offset")
        .withColumn("is_close", F.expr(f"at_micros - previous_at_micros <= {trace.clock_micros}"))
        .withColumn(
            "kind",
            F.expr("if(member = previous_member, 'within a session', 'across members')"),
        )
    )
    found = _with_unseen(found, trace, "previous_leader_epoch", "previous_offset", "at_micros")
    return CheckOutcome(findings(found, _FELL), trace.records("polls"))


def _with_previous(delivered: Frame, in_order: WindowSpec) -> Frame:
    names = ("last_offset", "leader_epoch", "member", "at_micros")
    return delivered.withColumns({f"previous_{one}": F.lag(one).over(in_order) for one in names})


_REGRESSED = Cases(
    permitted(
        "regressed",
        "epoch {committed_epoch} was committed after epoch {previous_epoch}, which the log lacked"
        f" by then; {PERMIT}",
        when="is_unseen and permit is not null",
    ),
    violation(
        "regressed",
        "epoch {committed_epoch} was committed after epoch {previous_epoch}, although the offset"
        " did not go back",
        permitted_if=IS_CHOSEN,
        undecided_if="is_unseen and is_unreported",
    ),
    evidence="previous_offset, previous_epoch, committed_epoch, commit_epoch, permit",
    offset_first="previous_offset",
    offset_last="offset",
    at="committed_micros",
)


def committed_epoch_regressed(trace: Trace) -> CheckOutcome:
    """A group's committed offset stayed or grew on a partition, and its epoch fell.

    Permitted: the group does not commit the epochs of its records; or by an election in between, as
        in `record_epoch_regressed`.
    Undecided: such an election is not known.
    Evaluates: pairs of commits in a row that both have an epoch and do not go back, except those of
        transactions.
    Source: KIP-101: epochs never fall along a log.
    """
    pairs = stored_commits(trace).where(
        "not is_transactional and previous_epoch >= 0 and committed_epoch >= 0"
        " and offset >= previous_offset"
    )
    fallen = pairs.where("committed_epoch < previous_epoch")
    found = _with_unseen(fallen, trace, "previous_epoch", "previous_offset - 1", "committed_micros")
    return CheckOutcome(findings(found, _REGRESSED), count(pairs))


def _with_unseen(fallen: Frame, trace: Trace, epoch: str, offset: str, at: str) -> Frame:
    """Add the columns of `with_permit`, for the loss of an offset of an epoch by then; is_unseen.

    is_unseen: whether the leader of that time returned an end of the epoch that was above it.
    """
    until = f"{at} + {trace.clock_micros}"
    known = with_timelines(trace.engine.materialized(fallen), trace)
    is_unseen = f"coalesce({end_then(epoch, until)} > {offset}, false)"
    return with_permit(
        known.withColumn("is_unseen", F.expr(is_unseen)),
        trace,
        after=epoch,
        to=led_then(until),
        offset=offset,
    )


CHECKS = (
    CheckDefinition("E1", record_epoch_regressed, needs=("polls",), cases=_FELL),
    CheckDefinition(
        "E7", committed_epoch_regressed, needs=("committed_offsets",), cases=_REGRESSED
    ),
)
