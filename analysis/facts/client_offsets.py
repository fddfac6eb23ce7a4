"""The commits of groups that have clients, as they are stored, and who made each of them."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.declared import OF_GROUP, of_table
from analysis.facts.trace import Trace, fact
from contract.table_columns import int64, string
from contract.tables import MICROS_PER_SECOND

OFFSETS_TOPIC = "__consumer_offsets"
COMMIT = ("group", "topic", "partition", "offsets_partition", "offsets_offset")
STORED = (
    *of_table("committed_offsets"),
    string(
        "actor",
        "member: its client reported the commit; transaction; administrator: a single request of"
        " the run; null: no source reports it",
    ),
    string("by_member", "that reported it"),
    int64("by_seq", "of the report in its history"),
)
COMMIT_CLOCK_MICROS = 1000
"""A commit record's timestamp is in milliseconds."""
_COMMIT_APIS = "'OFFSET_COMMIT', 'TXN_OFFSET_COMMIT'"
_GROUP = [column.name for column in OF_GROUP]
_UNTOLD_SECONDS = 30
"""A commit began at most so long before it was answered, in histories that do not record when."""


def asked_between(trace: Trace, answered: str) -> tuple[str, str]:
    """SQL: from when on a commit that was asked for may have been stored, and until when.

    Args:
        trace: the run.
        answered: the column of the time of the answer.
    """
    began = f"coalesce(began_micros, {answered} - {_UNTOLD_SECONDS * MICROS_PER_SECOND})"
    return (
        f"{began} - {trace.clock_micros + COMMIT_CLOCK_MICROS}",
        f"{answered} + {trace.clock_micros}",
    )


@fact(*STORED)
def client_offsets(trace: Trace) -> Frame:
    """Rows of `committed_offsets`, without those of groups that only single requests commit for.

    A group of the plan has clients. Its commits are theirs, but for those of administrators.
    """
    stored = trace["committed_offsets"]
    asked = [_by_members(trace)]
    if not trace.problem("wire_calls") and trace.rows["wire_calls"]:
        planned = trace.groups.select("group")
        requests = trace["wire_calls"].where(f"api in ({_COMMIT_APIS}) and group is not null")
        alone = requests.select("group").distinct().join(planned, on=["group"], how="left_anti")
        stored = stored.join(alone, on=["group"], how="left_anti")
        asked.append(_by_administrators(requests, trace))
    reported = (
        stored.select(*COMMIT, "offset", "committed_epoch", "committed_micros")
        .join(asked[0] if len(asked) == 1 else asked[0].union(asked[1]), on=_GROUP, how="inner")
        .where("offset = asked_offset and committed_epoch = asked_epoch")
        .where("committed_micros between asked_first and asked_last")
        .groupBy(*COMMIT)
        .agg(
            F.min_by(
                F.struct("by_member", "by_seq", F.expr("1 as _is_reported")),
                F.struct(
                    F.expr("by_member is not null"), F.expr("abs(asked_last - committed_micros)")
                ),
            ).alias("_report")
        )
    )
    return stored.join(reported, on=list(COMMIT), how="left").selectExpr(
        *trace["committed_offsets"].columns,
        "case when producer_id >= 0 then 'transaction'"
        " when _report.by_member is not null then 'member'"
        " when _report._is_reported = 1 then 'administrator' end as actor",
        "_report.by_member as by_member",
        "_report.by_seq as by_seq",
    )


def _by_members(trace: Trace) -> Frame:
    first, last = asked_between(trace, "committed_micros")
    return (
        trace.present("commits")
        .where("outcome in ('ok', 'unknown')")
        .selectExpr(
            *_GROUP,
            "offset as asked_offset",
            "committed_epoch as asked_epoch",
            "member as by_member",
            "seq as by_seq",
            f"{first} as asked_first",
            f"{last} as asked_last",
        )
    )


def _by_administrators(requests: Frame, trace: Trace) -> Frame:
    first, last = asked_between(trace, "at_micros")
    return requests.where("error_code = 0").selectExpr(
        *_GROUP,
        "asked_offset",
        "coalesce(asked_epoch, -1) as asked_epoch",
        "cast(null as string) as by_member",
        "cast(null as bigint) as by_seq",
        f"{first} as asked_first",
        f"{last} as asked_last",
    )
