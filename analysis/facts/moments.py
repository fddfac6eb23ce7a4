"""The findings around which pages show what happened."""

from collections.abc import Iterable
from typing import Any

from analysis.statements.files import computed
from analysis.statements.trace import Trace
from contract.table_columns import boolean, int32, int64, string


@computed(
    int32("number", "of the finding, among those that are asked about"),
    string("topic", null=True),
    int32("partition", null=True),
    string("of_group", null=True),
    int64("first_asked", "its first offset", null=True),
    int64("last_asked", "its last offset", null=True),
    int64("asked_micros", "its time", null=True),
    string("of_producer", "whose transaction it names", null=True),
    int32("of_transaction", null=True),
    boolean("is_about_commits", "whether it is about what its group committed"),
    int32("hash", "of the group, modulo the partitions of `__consumer_offsets`", null=True),
)
def asked_findings(trace: Trace) -> Iterable[dict[str, Any]]:
    """The findings that the reader of a trace asks about: see `Trace.asked`."""
    return trace.asked
