"""Whether what a producer reported of its sends is what the log has (taxonomy A10)."""

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import closeup
from analysis.checks.base import CheckOutcome, findings, spans
from analysis.load import Trace
from contract.outcomes import REFUSED_SENDS

_LOG = ("topic", "partition")


def outcome_mismatch(trace: Trace) -> CheckOutcome:
    """A10: a send that its client reported as failed is in the surviving log.

    A violation of the client where the error says that the record was never appended. Undecided
    where the error admits that it may have been: the client should have reported its outcome as
    unknown, or an earlier attempt was appended, and its answer was lost. What transactions wrote is
    left out, since only its marker decides whether it counts: `aborted_read` judges that. Judged
    are all sends.
    """
    failed = (
        closeup.sends(trace)
        .where("outcome = 'failed' and transaction is null")
        .select(*_LOG, "value", "producer", "error", "answered_micros")
    )
    written = failed.join(
        closeup.surviving(trace).select(*_LOG, "value", "offset"), on=[*_LOG, "value"], how="inner"
    )
    found = spans(
        trace, written, *_LOG, "producer", "error", at=F.min("answered_micros")
    ).withColumn(
        "is_refused", F.coalesce(F.col("error").isin(*sorted(REFUSED_SENDS)), F.lit(1) == 0)
    )
    return CheckOutcome(
        findings(
            found,
            evidence=("records", "producer", "error"),
            kind=F.when(F.col("is_refused"), "refused, yet written").otherwise("may be written"),
            verdict=F.when(F.col("is_refused"), "violation").otherwise("undecided"),
            cause=F.format_string(
                "client of producer %s reported %s sends as failed (%s), but the log has the"
                " records",
                "producer",
                "records",
                "error",
            ),
        ),
        trace.rows["sends"],
    )
