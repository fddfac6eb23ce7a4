"""The parts of docs/arbiter.md that the runs make: the answer, then the tables."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from analysis.report.figures import with_noun
from contract.clients import Client
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.verdicts import Engine
from studies.arbiter.cells import BUILDS, ON_EACH_BUILD, table
from studies.arbiter.figures import Figures, Raced
from studies.arbiter.predictions import (
    Difference,
    differences,
    predictions,
    said,
    said_epoch,
    suppression,
)
from studies.arbiter.rows import RELEASED, Row
from studies.hunt.page import counted as counted_stories
from studies.hunt.page import kept


@dataclass(frozen=True)
class Cell:
    """A cell of a table, or a sentence, with what shows that it is so.

    Attributes:
        text: what it says.
        stories: the runs that show it, by name.
        line: of `predictions.yml`, that says it; 0 for none.
        source: the address of the line of Kafka's source, or the page, that says it; may be empty.
    """

    text: str
    stories: tuple[str, ...] = ()
    line: int = 0
    source: str = ""


@dataclass(frozen=True)
class Table:
    """A table; each row has as many cells as the head."""

    head: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    caption: str = ""

    def cells(self, shown: Callable[[Cell], str]) -> list[list[str]]:
        """Return the cells of its rows, each as a function shows it."""
        return [[shown(one) for one in row] for row in self.rows]


@dataclass(frozen=True)
class Section:
    """A part of the page: sentences, text that says what the tables count, then tables.

    Attributes:
        is_detail: it is on docs/arbiter-runs.md, and not on the page that is read first.
    """

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    sentences: Sequence[Cell] = ()
    is_detail: bool = False


class OfStory(Protocol):
    """A row that one run shows."""

    @property
    def story(self) -> str:
        """The run's name."""
        ...


def cell(text: object, rows: Iterable[OfStory] = (), source: str = "") -> Cell:
    """Return a cell with the runs that its rows are from."""
    return of_stories(text, (row.story for row in rows), source)


def of_stories(text: object, stories: Iterable[str], source: str = "") -> Cell:
    """Return a cell with the names of the runs that show it."""
    return Cell(str(text), tuple(sorted(set(stories))), source=source)


COUNTS = ("groups", "stories")
"""The last columns of a table of groups: how many its row is drawn from."""


def counts(rows: Sequence[Row]) -> tuple[Cell, Cell]:
    """Return the cells of COUNTS."""
    return Cell(str(len(rows))), cell(len({row.story for row in rows}), rows)


def counted(values: Iterable[Hashable]) -> str:
    """Return a value that all have, or each with its count."""
    counts = Counter(map(str, values))
    if len(counts) == 1:
        return next(iter(counts))
    total = counts.total()
    return "; ".join(f"{value}: {count} of {total}" for value, count in counts.most_common())


def cost(rows: Sequence[Row]) -> Cell:
    """Return what groups paid: records skipped, or read again."""
    return cell(counted(map(_said_cost, rows)), rows) if rows else Cell("not run")


def _said_cost(row: Row) -> str:
    words = said(row)
    if row.exception is not None or row.resumed_at is None:
        return words
    return ", ".join(words.split(", ")[1:]) or "0"


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
            yield _race_in_brief(words.partition(" (")[0], raced)
    released = [row for row in races if row.build == RELEASED]
    if released:
        yield _race_in_brief("The released consumer", released)


def _race_in_brief(words: str, raced: Sequence[Raced]) -> Cell:
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
    found, resumptions = counted_stories(kept())
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


TOPICS = {
    "clean/kept": "the leader changes between poll and commit",
    "empty/kept": "two changes of the leader; an epoch without records",
    "control/kept": "the commit follows an abort marker of a newer epoch",
    "aborted/kept": "the commit follows an aborted batch of a newer epoch",
    "expired/part": "DeleteRecords: the epoch before the group's is gone",
    "expired/whole": "DeleteRecords: the group's epoch is gone",
    "expired/beyond": "DeleteRecords: records after the position are gone",
    "retained/time": "retention by time: the group's epoch is gone",
    "retained/size": "retention by size: the group's epoch is gone",
    "validated/above": "epoch of a restart committed, then an unclean election",
    "truncated/above": "unclean election; the new log is longer",
    "truncated/below": "unclean election; the new log is shorter",
    "returned/kept": "two unclean elections; the lost records come back",
    "twice/longer": "read between two unclean elections, beyond what comes back",
    "twice/shorter": "read between two unclean elections, within what comes back",
    "recreated/kept": "the topic is deleted and created again",
}
"""Each hazard with its topic, in words."""


def sections(figures: Figures) -> Iterator[Section]:
    """Return all parts, the answer first."""
    rows = figures.rows
    found = differences(rows)
    yield in_brief(figures)
    yield _of_hazards(rows)
    yield _of_ways([row for row in rows if row.build == RELEASED])
    yield _of_resets([row for row in rows if row.build == RELEASED])
    yield _of_race(figures)
    yield _of_differences(rows, found)
    yield _of_builds(rows)
    yield _of_conditions(figures)


def _of_hazards(rows: Sequence[Row]) -> Section:
    """One row a hazard, one column a client."""
    choosing = plain(rows)
    shown = Table(("hazard", "in words", *BUILDS, "no epoch", *COUNTS))
    without_epoch = bare(rows)
    for topic in _topics(rows):
        by_build = [
            [row for row in choosing if (row.hazard, row.build) == (topic, build)]
            for build in BUILDS
        ]
        without = [row for row in without_epoch if row.hazard == topic]
        every = [row for some in (*by_build, without) for row in some]
        costs = (*map(cost, by_build), cost(without))
        shown.rows.append((Cell(topic), Cell(TOPICS[topic]), *costs, *counts(every)))
    return Section(
        "What each choice costs, in records",
        (
            (
                "Plain commits of each client: `commitSync()`, `commitAsync()`, "
                "`enable.auto.commit` and `commitSync()` in `onPartitionsRevoked`, both group "
                "protocols where the version has both. The last column is the released client when "
                "the application commits an offset without an epoch. Reset policy `earliest`. `0`: "
                "the group resumes where it was; nothing is skipped or read again."
            ),
        ),
        (shown,),
    )


def _of_ways(rows: Sequence[Row]) -> Section:
    chosen = [row for row in rows if row.reset == ResetPolicy.EARLIEST]
    topics = _topics(chosen)
    shown = Table(("manner", "style", *topics, *COUNTS))
    for manner in Manner:
        for style in CommitEpoch:
            own = [row for row in chosen if (row.manner, row.style) == (manner, style)]
            if own:
                costs = [cost([row for row in own if row.hazard == topic]) for topic in topics]
                shown.rows.append((Cell(manner), Cell(style), *costs, *counts(own)))
    return Section(
        "What each way of committing costs with the released client",
        (
            (
                "Reset policy `earliest`. A cell without a count holds for every group of the row; "
                "`0`: resumes where it was, nothing is skipped or read again. Of all versions."
            ),
        ),
        (shown,),
        is_detail=True,
    )


def _of_resets(rows: Sequence[Row]) -> Section:
    shown = Table(("hazard", "style", *ResetPolicy, *COUNTS))
    for topic in _topics(rows):
        for style in (CommitEpoch.RECORD, CommitEpoch.NONE):
            own = [
                row
                for row in rows
                if (row.hazard, row.style, row.manner, row.client)
                == (topic, style, Manner.SYNC, "java")
            ]
            if own:
                by_reset = [[row for row in own if row.reset == reset] for reset in ResetPolicy]
                costs = [
                    cell(counted(map(said, some)), some) if some else Cell("not run")
                    for some in by_reset
                ]
                shown.rows.append((Cell(topic), Cell(style), *costs, *counts(own)))
    return Section(
        "What the reset policy changes",
        ("`commitSync` with the record's epoch and without an epoch, released client, classic.",),
        (shown,),
        is_detail=True,
    )


def _of_differences(rows: Sequence[Row], found: Sequence[Difference]) -> Section:
    shown = Table(("hazard", "client", "manner, style", "predicted", "came out", *COUNTS, "why"))
    alike: defaultdict[tuple[str, ...], list[Difference]] = defaultdict(list)
    for one in found:
        row = one.row
        alike[
            row.hazard,
            f"{row.build}, {row.client}, Kafka {row.kafka}",
            f"{row.manner}, {row.style}",
            one.predicted,
            one.came_out,
            one.why or "**not explained**",
        ].append(one)
    for (hazard, client, way, predicted, came_out, why), own in sorted(
        alike.items(), key=lambda item: item[0]
    ):
        shown.rows.append(
            (
                Cell(hazard),
                Cell(client),
                Cell(way),
                Cell(predicted, line=own[0].line),
                cell(came_out, (one.row for one in own)),
                *counts([one.row for one in own]),
                Cell(" ".join(why.split())),
            )
        )
    return Section(
        "Where it came out otherwise than predicted",
        (
            (
                f"{len(rows) - len(found)} of {len(rows)} groups came out as "
                "[predicted](../studies/arbiter/predictions.yml) from the source."
            ),
        ),
        (shown,) if found else (),
    )


def _of_builds(rows: Sequence[Row]) -> Section:
    choosing = plain(rows)
    shown = Table(("hazard", "client", "Kafka", "commits", "resumption", *COUNTS))
    for topic in _topics(choosing):
        for build in BUILDS:
            found = [row for row in choosing if (row.hazard, row.build) == (topic, build)]
            for kafka in sorted({row.kafka for row in found}, reverse=True):
                own = [row for row in found if row.kafka == kafka]
                shown.rows.append(
                    (
                        Cell(topic),
                        Cell(build),
                        Cell(kafka),
                        cell(counted(said_epoch(row.committed_epoch) for row in own), own),
                        cell(counted(map(said, own)), own),
                        *counts(own),
                    )
                )
    return Section(
        "What each client commits, by Kafka version",
        ("The groups of the second table, with the epochs that they committed.",),
        (shown,),
        is_detail=True,
    )


def _of_race(figures: Figures) -> Section:
    positions = Table(
        ("client", "protocol", "pace", "predicted", "not validated", "what followed", "stories")
    )
    known = predictions()
    for one in sorted(figures.races, key=lambda one: BUILDS.index(one.build)):
        predicted = suppression(one.build, known)
        positions.rows.append(
            (
                Cell(one.build),
                Cell(one.client),
                Cell(one.pace),
                Cell(predicted.suppressed, line=predicted.line),
                of_stories(f"{one.not_validated} of {one.positions}", one.stories),
                Cell(counted(Counter(one.followed_by).elements()) if one.followed_by else ""),
                Cell(str(len(one.stories))),
            )
        )
    commits = Table(
        ("client", "commits with a newer epoch", "stories"),
        caption="Epochs committed in these runs that are newer than the last record's:",
    )
    for of in sorted(figures.newer, key=lambda one: BUILDS.index(one.build)):
        told = of_stories(f"{of.newer} of {of.commits}", of.stories)
        commits.rows.append((Cell(of.build), told, Cell(str(len(of.stories)))))
    return Section(
        "Validations that no longer happen",
        (
            (
                "prefetch_race: positions whose group had read records that the new leader "
                "lacks. `not validated`: the client's log has no truncation there, so nothing "
                "asked where the position's epoch ends. A position that is out of range then is "
                "logged with the old epoch of its record and the new epoch of its leader."
            ),
        ),
        (positions, commits),
        is_detail=True,
    )


def _of_conditions(figures: Figures) -> Section:
    rows, runs = figures.rows, figures.runs
    races = sum(not run.hazard for run in runs)
    engines = Counter(run.judged_by for run in runs)
    of_table = {(row.kafka, row.build, row.topic, row.group) for row in table()}
    judged = {
        (row.kafka, row.build, row.hazard, _group(row)) for row in rows if "-pairs-" in row.story
    }
    versions = sorted({run.kafka for run in runs})
    return Section(
        "The runs",
        (
            (
                f"{len(runs) - races} stories of commit_hazards with {len(rows)} groups, and "
                f"{races} of prefetch_race with {figures.race_groups} groups, on Kafka "
                f"{', '.join(versions)}. All groups of a story share its elections: they are one "
                "sample of the story, and many of what a client does in it."
            ),
            (
                f"The runs took {sum(run.seconds for run in runs) / 60:.0f} minutes in all, "
                f"without judging. DuckDB judged {engines[Engine.DUCKDB]} of them, and Spark SQL "
                f"{engines[Engine.SPARK_SQL]}."
            ),
            f"{len(of_table & judged)} of the {len(of_table)} rows of the pairwise table have run.",
        ),
    )


def _group(row: Row) -> str:
    topic = row.hazard.partition("/")[2]
    return f"{topic}.{row.client}.{row.manner}.{row.style}.{row.reset}"


def _topics(rows: Iterable[Row]) -> list[str]:
    ran = {row.hazard for row in rows}
    return [topic for topic in TOPICS if topic in ran]
