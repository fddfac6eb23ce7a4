"""The tables of docs/arbiter.md."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path

from bench.arbiter.cells import BUILDS, ON_EACH_BUILD
from bench.arbiter.predictions import (
    Difference,
    differences,
    predictions,
    said,
    said_epoch,
    suppressed,
)
from bench.arbiter.race import Ahead, RaceRow, race_rows
from bench.arbiter.rows import RELEASED, Row, rows_of
from contract.errors import UsageError
from contract.made_pages import MadePage
from contract.markdown import table_row
from contract.outcomes import CommitEpoch, Manner, ResetPolicy

_MADE = MadePage("arbiter.md", "make arbiter")
_TOPICS = (
    "clean/kept",
    "empty/kept",
    "control/kept",
    "aborted/kept",
    "expired/part",
    "expired/whole",
    "expired/beyond",
    "retained/time",
    "retained/size",
    "validated/above",
    "truncated/above",
    "truncated/below",
    "returned/kept",
    "twice/longer",
    "twice/shorter",
    "recreated/kept",
)
_RECORD_EPOCH = 1
"""The epoch of the last record that the groups of the shared hazards read."""
_BY_CLIENT = (Manner.SYNC, Manner.ASYNC, Manner.AUTO, Manner.REVOKED)
"""The manners in which the client itself can choose the epoch."""


def write(folders: Sequence[Path]) -> Path:
    """Write the page from the runs below some folders; returns its path.

    Raises:
        UsageError: there is none.
    """
    rows = rows_of(folders)
    if not rows:
        raise UsageError("no judged run of commit_hazards there: python -m bench.arbiter run")
    races, ahead = race_rows(folders)
    made = "\n".join(tables(rows, races, ahead))
    _MADE.path.write_text(_MADE.filled(_MADE.path.read_text(), made))
    return _MADE.path


def tables(rows: Sequence[Row], races: Sequence[RaceRow], ahead: Sequence[Ahead]) -> Iterator[str]:
    """Return the lines of all tables."""
    yield from _conditions(rows, races)
    yield from _in_brief(rows, races)
    yield from _of_builds(rows)
    yield from _of_ways([row for row in rows if row.build == RELEASED])
    yield from _of_resets([row for row in rows if row.build == RELEASED])
    yield from _of_race(races, ahead)
    yield from _of_differences(rows, differences(rows))


def _conditions(rows: Sequence[Row], races: Sequence[RaceRow]) -> Iterator[str]:
    stories = len({row.story for row in rows})
    yield (
        f"{stories} stories of commit_hazards with {len(rows)} groups, and "
        f"{len({row.story for row in races})} of prefetch_race with "
        f"{len({(row.story, row.group) for row in races})} groups. All groups of a story share its "
        "elections: they are one sample of the story, and many of what a client does in it.\n"
    )


def _plain(rows: Iterable[Row]) -> list[Row]:
    """Return the groups whose client chooses the epoch, with reset policy earliest."""
    return [
        row
        for row in rows
        if row.style == CommitEpoch.RECORD
        and row.manner in _BY_CLIENT
        and row.reset == ResetPolicy.EARLIEST
    ]


def _in_brief(rows: Sequence[Row], races: Sequence[RaceRow]) -> Iterator[str]:
    yield "## In brief\n"
    yield (
        "Plain commits of each client under the hazards clean, validated and truncated, as far as "
        "it ran under them. An epoch is newer if it is above that of the record before the "
        "committed offset. Validations are those of prefetch_race.\n"
    )
    yield "| client | hazards | stories | a newer epoch | skipped records | not validated |"
    yield "|---|---|---|---|---|---|"
    plain = _plain(rows)
    for build in BUILDS:
        own = [
            row
            for row in plain
            if row.build == build and row.hazard.partition("/")[0] in ON_EACH_BUILD
        ]
        ran = [topic for topic in _TOPICS if any(row.hazard == topic for row in own)]
        raced = [row for row in races if row.build == build]
        newer = sum((row.committed_epoch or 0) > _RECORD_EPOCH for row in own)
        skipping = [row.never_delivered for row in own if row.never_delivered]
        records = f" ({sum(skipping)} records)" if skipping else ""
        missing = sum(not row.is_validated for row in raced)
        yield table_row(
            build,
            ", ".join(ran),
            str(len({row.story for row in own})),
            f"{newer} of {len(own)} groups",
            f"{len(skipping)} of {len(own)} groups{records}",
            f"{missing} of {len(raced)} positions" if raced else "not run",
        )
    yield ""


def _of_builds(rows: Sequence[Row]) -> Iterator[str]:
    plain = _plain(rows)
    yield "## What each proposed fix commits, and what it costs\n"
    yield (
        "Plain commits, in which the client chooses the epoch: `commitSync()`, `commitAsync()`, "
        "`enable.auto.commit` and `commitSync()` in `onPartitionsRevoked`, with both group "
        "protocols where the version has both; reset policy `earliest`.\n"
    )
    yield "| hazard | client | Kafka | commits | resumption | stories |"
    yield "|---|---|---|---|---|---|"
    for topic in _TOPICS:
        for build in BUILDS:
            found = [row for row in plain if (row.hazard, row.build) == (topic, build)]
            for kafka in sorted({row.kafka for row in found}, reverse=True):
                own = [row for row in found if row.kafka == kafka]
                yield table_row(
                    topic,
                    build,
                    kafka,
                    _counted(said_epoch(row.committed_epoch) for row in own),
                    _counted(map(said, own)),
                    str(len({row.story for row in own})),
                )
    yield ""


def _of_ways(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What each way of committing costs with the released client\n"
    yield (
        "Reset policy `earliest`. A cell without a count holds for every group of the row; `-`: "
        "resumes where it was, nothing is skipped or read again.\n"
    )
    chosen = [row for row in rows if row.reset == ResetPolicy.EARLIEST]
    topics = [topic for topic in _TOPICS if any(row.hazard == topic for row in chosen)]
    yield f"| manner | style | groups | {' | '.join(topics)} |"
    yield "|---" * (3 + len(topics)) + "|"
    for manner in Manner:
        for style in CommitEpoch:
            own = [row for row in chosen if (row.manner, row.style) == (manner, style)]
            if own:
                cells = [_cost([row for row in own if row.hazard == topic]) for topic in topics]
                yield table_row(manner, style, str(len(own)), *cells)
    yield ""


def _of_resets(rows: Sequence[Row]) -> Iterator[str]:
    yield "## What the reset policy changes\n"
    yield "`commitSync` with the record's epoch and without an epoch, released client, classic.\n"
    yield "| hazard | style | earliest | latest | none |"
    yield "|---|---|---|---|---|"
    for topic in _TOPICS:
        for style in (CommitEpoch.RECORD, CommitEpoch.NONE):
            own = [
                row
                for row in rows
                if (row.hazard, row.style, row.manner, row.client)
                == (topic, style, Manner.SYNC, "java")
            ]
            if own:
                cells = [
                    _counted(said(row) for row in own if row.reset == reset)
                    for reset in ResetPolicy
                ]
                yield table_row(topic, style, *cells)
    yield ""


def _of_race(races: Sequence[RaceRow], ahead: Sequence[Ahead]) -> Iterator[str]:
    yield "## Validations that no longer happen\n"
    yield (
        "prefetch_race: positions whose group had read records that the new leader lacks. "
        "`not validated`: the client's log has no truncation there, so nothing asked where the "
        "position's epoch ends. A position that is out of range then is logged with the old epoch "
        "of its record and the new epoch of its leader.\n"
    )
    yield (
        "| client | protocol | pace | predicted | not validated | what followed there | stories |"
    )
    yield "|---|---|---|---|---|---|---|"
    known = predictions()
    kinds: defaultdict[tuple[int, str, str, str], list[RaceRow]] = defaultdict(list)
    for row in races:
        kinds[BUILDS.index(row.build), row.build, row.client, row.pace].append(row)
    for (_, build, client, pace), found in sorted(kinds.items()):
        missing = [row for row in found if not row.is_validated]
        yield table_row(
            build,
            client,
            pace,
            suppressed(build, known),
            f"{len(missing)} of {len(found)}",
            _counted(row.followed_by for row in missing) if missing else "",
            str(len({row.story for row in found})),
        )
    yield "\nEpochs committed in these runs that are newer than the last record's:\n"
    yield "| client | commits with a newer epoch | stories |\n|---|---|---|"
    for build in BUILDS:
        own = [one for one in ahead if one.build == build]
        if own:
            newer, all_of = sum(one.ahead for one in own), sum(one.commits for one in own)
            yield table_row(build, f"{newer} of {all_of}", str(len(own)))
    yield ""


def _of_differences(rows: Sequence[Row], found: Sequence[Difference]) -> Iterator[str]:
    yield "## Where it came out otherwise than predicted\n"
    yield (
        f"{len(rows) - len(found)} of {len(rows)} groups came out as "
        "[predicted](../bench/arbiter/predictions.yml) from the source.\n"
    )
    if not found:
        return
    yield "| hazard | client | manner, style | predicted | came out | groups | why |"
    yield "|---|---|---|---|---|---|---|"
    alike: Counter[tuple[str, ...]] = Counter()
    for one in found:
        row = one.row
        alike[
            row.hazard,
            f"{row.build}, {row.client}, Kafka {row.kafka}",
            f"{row.manner}, {row.style}",
            one.predicted,
            one.came_out,
            one.why or "**not explained**",
        ] += 1
    for (*cells, why), count in sorted(alike.items()):
        yield table_row(*cells, str(count), why)


def _cost(rows: Sequence[Row]) -> str:
    """Return what a row's groups of one hazard paid."""
    return _counted(_said_cost(row) for row in rows) if rows else "not run"


def _said_cost(row: Row) -> str:
    words = said(row)
    if row.exception is not None or row.resumed_at is None:
        return words
    return ", ".join(words.split(", ")[1:]) or "-"


def _counted(values: Iterable[Hashable]) -> str:
    """Return a value that all have, or each with its count."""
    counts = Counter(map(str, values))
    if len(counts) == 1:
        return next(iter(counts))
    total = counts.total()
    return "; ".join(f"{value}: {count} of {total}" for value, count in counts.most_common())
