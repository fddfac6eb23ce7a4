"""The answer of docs/arbiter.md: sentences, each with the runs or the line that shows it."""

from collections.abc import Iterable, Iterator, Sequence

from analysis.report.figures import with_noun
from contract.clients import Client
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from studies.arbiter.cells import BUILDS, ON_EACH_BUILD
from studies.arbiter.figures import Figures, Raced
from studies.arbiter.rows import RELEASED, Row
from studies.arbiter.shown import Cell, Section, Table, cell, of_stories
from studies.hunt.page import counted, kept

_KAFKA = (
    "https://github.com/apache/kafka/blob/4.3.1/clients/src/main/java/org/apache/kafka/clients/"
    "consumer/internals/"
)
CONSUMED = f"{_KAFKA}SubscriptionState.java#L790"
"""`SubscriptionState.allConsumed`: what a plain commit commits."""
SKIPPED_VALIDATION = f"{_KAFKA}SubscriptionState.java#L1145"
"""`SubscriptionState.validatePosition`: a position without an epoch is not validated."""
OTHER_LEADER = f"{_KAFKA}SubscriptionState.java#L1118"
"""`SubscriptionState.maybeValidatePosition`: only another leader than the position's begins it."""
NEW_LEADER_IN_RESPONSE = f"{_KAFKA}AbstractFetch.java#L245"
"""`AbstractFetch.handleFetchSuccess`: a response that names a leader begins a validation."""
_RECORD_EPOCHS = {"control/kept": 2, "aborted/kept": 2, "twice/longer": 3, "twice/shorter": 3}
"""The epoch of the last batch before the position; 1 under the other hazards."""
_BY_CLIENT = (Manner.SYNC, Manner.ASYNC, Manner.AUTO, Manner.REVOKED)
"""The manners in which the client itself can choose the epoch."""
_BETWEEN = "twice"
"""The hazard of a group that reads between two unclean elections."""
_RECREATED = "recreated"
_OPTIONS = {
    "option-1": "Option 1 (the position takes the leader of the metadata)",
    "option-2": "Option 2 (the metadata's epoch at the commit)",
    "option-3": "Option 3 (the larger epoch)",
    "options-1-and-3": "Options 1 and 3 together (pull request #22558)",
}


def in_brief(figures: Figures) -> Section:
    """Return the answer, and one row for each client."""
    rows, races = figures.rows, figures.races
    return Section(
        "In brief",
        (
            (
                "A newer epoch: above that of the batch before the committed offset. The groups "
                f"are those with plain commits under {', '.join(ON_EACH_BUILD)}, which each client "
                "ran. Positions are those of `prefetch_race`."
            ),
        ),
        (_by_client(rows, races),),
        [
            *_of_released(rows),
            *_of_nothing(rows),
            *_of_options(rows, races),
            _of_hunt(),
        ],
    )


def plain(rows: Iterable[Row]) -> list[Row]:
    """Return the groups whose client chooses the epoch, with reset policy earliest."""
    return [
        row
        for row in rows
        if row.style == CommitEpoch.RECORD
        and row.manner in _BY_CLIENT
        and row.reset == ResetPolicy.EARLIEST
    ]


def bare(rows: Iterable[Row]) -> list[Row]:
    """Return the released client's groups that commit without an epoch, with reset earliest."""
    kind = (RELEASED, CommitEpoch.NONE, ResetPolicy.EARLIEST)
    return [row for row in rows if (row.build, row.style, row.reset) == kind]


def _of_released(rows: Sequence[Row]) -> Iterator[Cell]:
    released = [row for row in plain(rows) if row.build == RELEASED]
    known = [row for row in released if row.committed_epoch is not None]
    alike = [row for row in known if row.committed_epoch == _record_epoch(row)]
    yield cell(
        f"Today's consumer commits the epoch of the batch before its position: {len(alike)} of "
        f"{with_noun(len(known), 'group')} with plain commits did.",
        known,
        CONSUMED,
    )
    others = [row for row in released if not _is_between(row)]
    yield cell(
        f"With that epoch {_skipping(others)} skipped records, under all hazards but `{_BETWEEN}`.",
        others,
    )
    between = [row for row in rows if _is_between(row) and row.exception is None]
    if between:
        yield cell(
            f"Under `{_BETWEEN}` a group reads between two unclean elections, and the second one "
            f"brings back what the first one truncated: {_skipping(between)} that resumed skipped "
            "records, whatever they had committed.",
            between,
        )
    longer = [row for row in bare(rows) if row.hazard == "truncated/above"]
    if longer:
        yield cell(
            "A commit without an epoch is not validated: after an unclean election to a longer "
            f"log, {_skipping(longer)} skipped {_records(longer)} records.",
            longer,
            SKIPPED_VALIDATION,
        )


def _of_nothing(rows: Sequence[Row]) -> Iterator[Cell]:
    """Say how often a plain commit committed nothing, where the topic was not created again."""
    asked = [
        row
        for row in rows
        if row.style == CommitEpoch.RECORD
        and row.manner in _BY_CLIENT
        and row.hazard.partition("/")[0] != _RECREATED
    ]
    empty = [row for row in asked if row.committed_epoch is None]
    if empty:
        yield cell(
            "A plain commit while the position awaits validation commits nothing, and reports no "
            f"error: {len(empty)} of {with_noun(len(asked), 'group')}, of all clients. A fetch in "
            "flight is enough, whose response names the new leader.",
            empty,
            NEW_LEADER_IN_RESPONSE,
        )


def _of_options(rows: Sequence[Row], races: Sequence[Raced]) -> Iterator[Cell]:
    for build, words in _OPTIONS.items():
        own = [row for row in _compared(rows) if row.build == build]
        if not own:
            continue
        newer = _newer(own)
        yield cell(
            f"{words}: a newer epoch than the record's in {len(newer)} of "
            f"{with_noun(len(own), 'group')}; {_skipping(own)} skipped records"
            f"{_told_records(own)}.",
            own,
        )
        raced = [row for row in races if row.build == build]
        if raced:
            yield _of_race(words.partition(" (")[0], raced)
    released = [row for row in races if row.build == RELEASED]
    if released:
        yield _of_race("The released consumer", released)


def _of_race(words: str, raced: Sequence[Raced]) -> Cell:
    by_protocol = []
    for client, protocol in ((Client.JAVA, "classic"), (Client.JAVA_CONSUMER, "KIP-848")):
        own = [one for one in raced if one.client == client]
        if own:
            by_protocol.append(f"{_missing(own)} of {_positions(own)} ({protocol})")
    return of_stories(
        f"{words}: of the positions that had read truncated records, and whose leader then "
        f"changed, nothing asked where the epoch ends at {' and '.join(by_protocol)}.",
        _shown_by(raced),
        OTHER_LEADER,
    )


def _missing(raced: Iterable[Raced]) -> int:
    return sum(one.not_validated for one in raced)


def _positions(raced: Iterable[Raced]) -> int:
    return sum(one.positions for one in raced)


def _shown_by(raced: Sequence[Raced]) -> Iterator[str]:
    """Yield the runs in which positions were not validated, or all if there is none."""
    for one in [one for one in raced if one.not_validated] or raced:
        yield from one.stories


def _of_hunt() -> Cell:
    found, resumptions = counted(kept())
    return Cell(
        "The reset that the issue reports, of a position in the log, followed "
        f"{found} of {resumptions:,} resumptions in `reprocessing_hunt`.",
        source="hunt.md",
    )


def _by_client(rows: Sequence[Row], races: Sequence[Raced]) -> Table:
    shown = Table(("client", "stories", "a newer epoch", "skipped records", "not validated"))
    for build in BUILDS:
        own = [row for row in _compared(rows) if row.build == build]
        raced = [row for row in races if row.build == build]
        shown.rows.append(
            (
                Cell(build),
                cell(len({row.story for row in own}), own),
                cell(f"{len(_newer(own))} of {len(own)} groups", _newer(own) or own),
                cell(f"{_skipping(own)}{_told_records(own)}", own),
                of_stories(
                    f"{_missing(raced)} of {_positions(raced)} positions" if raced else "not run",
                    _shown_by(raced),
                ),
            )
        )
    return shown


def _is_between(row: Row) -> bool:
    return row.hazard.partition("/")[0] == _BETWEEN


def _compared(rows: Iterable[Row]) -> list[Row]:
    return [row for row in plain(rows) if row.hazard.partition("/")[0] in ON_EACH_BUILD]


def _newer(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if (row.committed_epoch or 0) > _record_epoch(row)]


def _skipping(rows: Sequence[Row]) -> str:
    return f"{sum(bool(row.never_delivered) for row in rows)} of {with_noun(len(rows), 'group')}"


def _records(rows: Iterable[Row]) -> str:
    return " or ".join(
        map(str, sorted({row.never_delivered for row in rows if row.never_delivered}))
    )


def _told_records(rows: Sequence[Row]) -> str:
    total = sum(row.never_delivered or 0 for row in rows)
    return f" ({total} in all)" if total else ""


def _record_epoch(row: Row) -> int:
    return _RECORD_EPOCHS.get(row.hazard, 1)
