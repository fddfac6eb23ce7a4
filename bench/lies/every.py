"""All lies, by how they are planted."""

from bench.lies import (
    of_commits,
    of_evidence,
    of_files,
    of_members,
    of_metadata,
    of_polls,
    of_protocol,
    of_quorum,
    of_replicas,
    of_retention,
    of_sends,
    of_tables,
    of_transactions,
    of_wire_commits,
)
from bench.lies.alone import FileLie, of_rows
from bench.lies.lie import Lie
from contract.verdicts import FindingVerdict

_ABOUT_ROWS = (
    *of_sends.SENDS,
    *of_polls.POLLS,
    *of_commits.COMMITS,
    *of_commits.STORED,
    *of_members.EVENTS,
    *of_members.RESETS,
    *of_replicas.BATCHES,
    *of_replicas.LOGS,
    *of_metadata.LEADERSHIPS,
    *of_metadata.BROKERS,
    *of_metadata.SAMPLES,
    *of_metadata.QUORUM,
    *of_metadata.FAULTS,
    *of_retention.DELETIONS,
    *of_transactions.STEPS,
    *of_protocol.RESPONSES,
    *of_quorum.REPORTS,
    *of_quorum.RESPONSES,
    *of_wire_commits.ERRORS,
    *of_wire_commits.STORED,
    *of_wire_commits.FETCHED,
)


def _by_itself(lie: Lie) -> FileLie:
    """A lie about rows that damages evidence, which makes the judge doubt the run as a whole."""
    return FileLie(
        name=lie.name,
        verb=lie.verb,
        of=lie.table,
        story=lie.story,
        check=lie.check,
        change=of_rows(lie.change),
    )


ROWS = tuple(lie for lie in _ABOUT_ROWS if lie.verdict != FindingVerdict.UNDECIDED)
"""Planted many to a trace."""
ALONE = (
    *(_by_itself(lie) for lie in _ABOUT_ROWS if lie.verdict == FindingVerdict.UNDECIDED),
    *of_tables.REMOVED,
    *of_tables.EMPTIED,
    *of_tables.RENAMED,
    *of_tables.RETYPED,
    *of_tables.WITHOUT,
    *of_tables.DAMAGED,
    *of_evidence.EVIDENCE,
    *of_files.HISTORIES,
    *of_files.LOGS,
    *of_files.DESCRIPTIONS,
    *of_quorum.DIVERGENCES,
)
"""Planted one at a time."""
