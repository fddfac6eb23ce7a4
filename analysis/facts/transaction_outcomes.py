"""What remains in Python of how transactions ended."""

from analysis.statements.facts import fact_named
from contract.tables import MICROS_PER_SECOND

RETRY_MICROS = MICROS_PER_SECOND // 10
"""`retry.backoff.ms`: a request that took less was tried once."""

committed_readers = fact_named("committed_readers")
