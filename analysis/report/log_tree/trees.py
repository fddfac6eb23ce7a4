"""The trees of a run: of the partitions that findings or truncations concern."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.log_tree.commits import commits_of
from analysis.report.log_tree.drawing import svg_of
from analysis.report.log_tree.model import Tree, tree_of
from analysis.report.timeline.source import Partition, Source
from contract.checks import Check
from contract.run_folder import RunFolder
from contract.verdicts import Verdict

EPOCH_CHECKS = frozenset(
    {
        Check.SKIPPED_RECORD,
        Check.LOST_RECORD,
        Check.RESURRECTED_RECORD,
        Check.START_MISMATCH,
        Check.COMMIT_BEYOND_LOG,
        Check.COMMIT_EXPIRED,
        Check.COMMITTED_EPOCH_STALE,
        Check.COMMITTED_EPOCH_AHEAD,
        Check.COMMITTED_EPOCH_EXPIRED,
        Check.COMMITTED_EPOCH_UNKNOWN,
        Check.ORPHAN_COMMIT,
        Check.TRUNCATION_DETECTED,
        Check.TRUNCATION_UNDETECTED,
        Check.FALSE_TRUNCATION,
        Check.DIVERGENCE_MISMATCH,
        Check.OVER_TRUNCATION,
        Check.RESET,
        Check.UNJUSTIFIED_RESET,
        Check.SILENT_REVALIDATION,
        Check.LOG_DIVERGENCE,
        Check.LEADER_COMPLETENESS,
        Check.EPOCH_CACHE_MISMATCH,
        Check.RETENTION_OVERREACH,
        Check.UNCLEAN_ELECTION_UNCONFIGURED,
    }
)
"""Checks whose findings the epochs of the log explain."""
TREES_MAX = 3
COMMITS_MAX = 6
BRANCHES_MAX = 4


@dataclass(frozen=True)
class LogTree:
    """The picture of one partition.

    Attributes:
        topic: of the partition.
        partition: its number.
        svg: an element to be put into a page; every text of the run is escaped.
        left: the number of further partitions that findings or truncations concern.
    """

    topic: str
    partition: int
    svg: Markup
    left: int = 0


def log_trees(folder: RunFolder, verdict: Verdict) -> list[LogTree]:
    """The partitions whose log branched or whose findings need its epochs, at most `TREES_MAX`."""
    source = Source(folder, verdict)
    trees = sorted(_concerned(source), key=lambda tree: not tree.branches)
    left = max(0, len(trees) - TREES_MAX)
    return [
        LogTree(tree.where.topic, tree.where.number, _drawn(source, tree, number), left)
        for number, tree in enumerate(trees[:TREES_MAX], start=1)
    ]


def _concerned(source: Source) -> Iterator[Tree]:
    """Those with a branch, or a finding of `EPOCH_CHECKS` and several epochs or a moved start."""
    found = {
        Partition(one.finding.topic, one.finding.partition)
        for one in source.findings
        if one.finding.check in EPOCH_CHECKS
        and one.finding.topic is not None
        and one.finding.partition is not None
    }
    changed = found | source.partitions_in("truncations") | source.partitions_in("cut_batches")
    for where in source.partitions:
        tree = tree_of(source, where) if where in changed else None
        if tree is not None and (
            tree.branches or (where in found and (len(tree.main) > 1 or tree.log_start))
        ):
            yield tree


def _drawn(source: Source, tree: Tree, number: int) -> Markup:
    commits = commits_of(source, tree)
    notes = []
    if len(commits) > COMMITS_MAX:
        notes.append(f"{len(commits) - COMMITS_MAX} other kinds of commits are not drawn.")
    if len(tree.branches) > BRANCHES_MAX:
        notes.append(f"{len(tree.branches) - BRANCHES_MAX} other branches are not drawn.")
    svg = svg_of(
        tree.with_branches(BRANCHES_MAX), commits[:COMMITS_MAX], number=number, notes=notes
    )
    return Markup(svg)  # noqa: S704 - each text in it is escaped
