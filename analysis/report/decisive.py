"""Which moment of a story is the decisive one: from then on, what the finding reports is a fact."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from analysis.report.moments import Kind, Moment, span_of
from contract.checks import Check
from contract.verdicts import Finding

_BY_ELECTION = {
    Check.LOST_RECORD: "later_epoch",
    Check.INCONSISTENT_OFFSET: "epoch_last",
    Check.DIVERGENT_READERS: "epoch_last",
    Check.ORPHAN_COMMIT: "later_epoch",
    Check.HIGH_WATERMARK_REGRESSED: "leader_epoch",
    Check.LEADER_COMPLETENESS: "next_epoch",
    Check.UNCLEAN_ELECTION_UNCONFIGURED: "leader_epoch",
}
"""Checks whose findings need a later epoch, and where the evidence has it."""
_BY_GOING_ON = {
    Check.SKIPPED_RECORD: "leader_epoch",
    Check.TRUNCATION_UNDETECTED: "reached_epoch",
    Check.SILENT_REVALIDATION: "epoch",
}
"""Checks about a group with a position beyond records, and where the evidence has their epoch."""
_AROUND = (Kind.PHASE, Kind.FAULT, Kind.HEAL, Kind.BROKER, Kind.ISR, Kind.SEND)
"""Kinds of moments that decide nothing about a partition."""

_Place = int | None


def decisive(finding: Finding, moments: Sequence[Moment]) -> int | None:
    """The place of the decisive moment; None if none is known to be.

    Where a finding has several causes, it is the last of them.
    """
    check = finding.check
    if check in _BY_GOING_ON:
        return _beyond(finding, moments, _BY_GOING_ON[Check(check)])
    if check == Check.DUPLICATE_DELIVERY:
        places = [place for place, one in enumerate(moments) if one.kind is Kind.DELIVERY]
        return places[1] if len(places) > 1 else None
    if check == Check.LOSS_ESTIMATE:
        left = _evidence(finding, "epoch", -1)
        return _first(moments, lambda one: one.epoch is not None and one.epoch > left)
    nearest = _nearest(finding, moments)
    if check in _BY_ELECTION:
        removed = _removed(finding, moments, _BY_ELECTION[Check(check)])
        exact = (
            nearest if nearest is not None and moments[nearest].at_micros == finding.at else None
        )
        return max((one for one in (removed, exact) if one is not None), default=nearest)
    return nearest


def _removed(finding: Finding, moments: Sequence[Moment], key: str) -> _Place:
    """Where a later epoch began; the truncation or the deletion if no such epoch is known."""
    epoch = _evidence(finding, key)
    begun = _first(moments, lambda one: epoch is not None and one.epoch == epoch)
    if begun is not None:
        return begun
    deletion = _evidence(finding, "deletion", {})
    removals = {
        Kind.TRUNCATION: _evidence(finding, "truncated_micros"),
        Kind.DELETION: deletion.get("at_micros") if isinstance(deletion, dict) else None,
    }
    return _first(moments, lambda one: one.kind in removals and one.at_micros == removals[one.kind])


def _beyond(finding: Finding, moments: Sequence[Moment], key: str) -> _Place:
    """Where the group first had a position beyond the finding's records, in their epoch."""
    span, epoch = span_of(finding), _evidence(finding, key)
    begun = _first(moments, lambda one: epoch is not None and one.epoch == epoch)
    since = -1 if begun is None else begun
    if span is None:
        return None
    last = span[1]
    return _first(
        moments,
        lambda one: (
            one.offset is not None and one.kind in (Kind.POSITION, Kind.RESET) and one.offset > last
        ),
        since=since,
    )


def _nearest(finding: Finding, moments: Sequence[Moment]) -> _Place:
    """The moment at the finding's time, or next to it."""
    at = finding.at
    is_anywhere = finding.partition is None
    near = [
        (abs(one.at_micros - at), place)
        for place, one in enumerate(moments)
        if at is not None and (is_anywhere or one.kind not in _AROUND)
    ]
    return min(near)[1] if near else None


def _evidence(finding: Finding, key: str, otherwise: Any = None) -> Any:
    value = finding.evidence.get(key)
    return otherwise if value is None else value


def _first(
    moments: Sequence[Moment], is_one: Callable[[Moment], bool], *, since: int = -1
) -> _Place:
    places: Iterable[int] = range(since + 1, len(moments))
    return next((place for place in places if is_one(moments[place])), None)
