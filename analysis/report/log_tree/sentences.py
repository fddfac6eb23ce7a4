"""What the tree of a log says in words."""

from analysis.report.log_tree.commits import Commit
from analysis.report.log_tree.model import Branch, Segment, Tree

LEADERS_MAX = 12


def epoch_name(segment: Segment) -> str:
    """E.g. `epoch 3`, or `epochs 3 to 7`."""
    if segment.last_epoch == segment.epoch:
        return f"epoch {segment.epoch}"
    return f"epochs {segment.epoch} to {segment.last_epoch}"


def brokers_in_words(brokers: tuple[int, ...]) -> str:
    """E.g. `broker 1`, or `brokers 1 and 2`."""
    if len(brokers) == 1:
        return f"broker {brokers[0]}"
    listed = ", ".join(str(broker) for broker in brokers[:-1])
    return f"brokers {listed} and {brokers[-1]}"


def branch_in_words(branch: Branch) -> str:
    """Which records it has, and what happened to them.

    A branch is known from a copy before the truncation: the broker may have appended since.
    """
    last = branch.segments[-1]
    names = ", ".join(epoch_name(one) for one in branch.segments)
    who = brokers_in_words(branch.brokers)
    if last.end is None:
        told = f"truncated from offset {branch.fork} on by {who}"
        return told + _at(branch) + "; what was removed is not known"
    span = f"{names}: offsets {branch.fork} to {last.end - 1}"
    if branch.is_truncated:
        return f"{span} at least, truncated by {who}{_at(branch)}"
    return f"{span}, still on {who} at the end"


def _at(branch: Branch) -> str:
    return "" if branch.at_seconds is None else f" at {branch.at_seconds:+.3f} s"


def commit_in_words(commit: Commit) -> str:
    """The commit, and where its groups continued."""
    epoch = "no epoch" if commit.epoch is None else f"epoch {commit.epoch}"
    told = f"{commit.names}: commit ({commit.offset}, {epoch})"
    if commit.exception is not None:
        return f"{told}, then {commit.exception}"
    if commit.resumed_at is None:
        return told
    told += f", resumes at {commit.resumed_at}"
    if commit.never_delivered:
        told += f": {commit.never_delivered:,} records are never delivered"
    if commit.redelivered:
        told += f", {commit.redelivered:,} redelivered"
    return told


def why(commit: Commit, tree: Tree) -> str:
    """How the commit's epoch compares with the surviving log (KIP-320)."""
    if commit.offset < tree.log_start:
        return (
            f"The log starts at {tree.log_start}: offsets {commit.offset} to "
            f"{tree.log_start - 1} are deleted."
        )
    if commit.epoch is None:
        return "A commit without an epoch cannot be compared with the log."
    if commit.epoch > tree.main[-1].last_epoch:
        return f"The surviving log has no epoch as high as {commit.epoch}."
    end = tree.end_of(commit.epoch)
    if commit.offset > end:
        return (
            f"Epoch {commit.epoch} ends at {end} in the surviving log: the commit is "
            f"{commit.offset - end:,} records beyond it."
        )
    told = f"Epoch {commit.epoch} reaches to {end} in the surviving log: the commit is within it."
    if commit.record_epoch is not None and 0 <= commit.record_epoch < commit.epoch:
        told += f" The last record that was polled has epoch {commit.record_epoch}."
    return told


def leaders_in_words(tree: Tree) -> str:
    """Who led each epoch."""
    shown = tree.leaderships[-LEADERS_MAX:]
    left = len(tree.leaderships) - len(shown)
    told = [
        f"{one.epoch} "
        + ("none" if one.leader < 0 else f"broker {one.leader}")
        + (" (unclean election)" if one.is_unclean else "")
        for one in shown
    ]
    return "Leaders by epoch: " + (f"({left} earlier ones) " if left else "") + ", ".join(told)


def described(tree: Tree, commits: list[Commit]) -> str:
    """The whole picture in sentences, for those who do not see it."""
    main = ", ".join(f"{epoch_name(one)} from offset {one.begin}" for one in tree.main)
    told = [
        (
            f"The surviving log, on broker {tree.broker}, has offsets {tree.log_start} to "
            f"{tree.log_end} (exclusive): {main}."
        ),
        *(f"A branch at offset {one.fork}: {branch_in_words(one)}." for one in tree.branches),
        *(f"{commit_in_words(one)}. {why(one, tree)}" for one in commits),
        f"{leaders_in_words(tree)}.",
    ]
    return " ".join(told)
