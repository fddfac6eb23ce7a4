"""Whether what a producer reported of its sends is what the log has."""

from analysis.checks.base import CheckDefinition, CheckOutcome, spans
from analysis.checks.cases import Cases, findings, undecided, violation
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.facts import slices
from analysis.facts.trace import Trace
from contract.outcomes import REFUSED_SENDS

_LOG = ("topic", "partition")

_IN_LOG = (
    "client of producer {producer} reported {records} sends as failed ({error}), but the log has"
    " the records"
)
_FAILED_YET_WRITTEN = Cases(
    violation("refused, yet written", _IN_LOG, when="is_refused"),
    undecided("may be written", _IN_LOG),
    evidence="records, producer, error",
)


def outcome_mismatch(trace: Trace) -> CheckOutcome:
    """A send that its client reported as failed is in the surviving log.

    This is a fault of the client. Sends of transactions are left out, since only the marker decides
    whether they count: `aborted_read` evaluates them.

    Undecided: the error admits that the record was appended, or that an earlier attempt was and its
        response was lost.
    Evaluates: every send.
    Source: `RecordTooLargeException`: refused before the append;
        `NotEnoughReplicasAfterAppendException`: appended; `TimeoutException`: either.
    """
    failed = (
        slices.unacknowledged(trace)
        .where("outcome = 'failed' and transaction is null")
        .select(*_LOG, "value", "producer", "error", "answered_micros")
    )
    written = failed.join(
        slices.surviving(trace).select(*_LOG, "value", "offset", "last_offset"),
        on=[*_LOG, "value"],
        how="inner",
    )
    found = spans(
        trace, written, *_LOG, "producer", "error", at=F.min("answered_micros")
    ).withColumn(
        "is_refused", F.coalesce(F.col("error").isin(*sorted(REFUSED_SENDS)), F.lit(1) == 0)
    )
    return CheckOutcome(findings(found, _FAILED_YET_WRITTEN), trace.records("sends"))


CHECKS = (
    CheckDefinition(
        "A10", outcome_mismatch, needs=("sends", "log_starts"), cases=_FAILED_YET_WRITTEN
    ),
)
