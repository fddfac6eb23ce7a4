"""What the pages of the arbiter count: selections of groups, tables, and what shows each figure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain

from contract.clients import Client
from contract.markdown import anchor
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from studies.arbiter.cells import BUILDS, ON_EACH_BUILD
from studies.arbiter.figures import Figures, Newer, Raced
from studies.arbiter.followers import Followed
from studies.arbiter.predictions import (
    Difference,
    committed,
    differences,
    predictions,
    resumption,
    said,
    said_commit,
    said_epoch,
    suppression,
)
from studies.arbiter.rows import RELEASED, Row

RUNS_PAGE = "arbiter-runs.md"
PREDICTIONS = "../studies/arbiter/predictions.yml"
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
_RECORD_EPOCHS = {"control/kept": 2, "aborted/kept": 2, "twice/longer": 3, "twice/shorter": 3}
"""The epoch of the last batch before the position; 1 under the other hazards."""
_BY_CLIENT = (Manner.SYNC, Manner.ASYNC, Manner.AUTO, Manner.REVOKED)
"""The manners in which the client itself can choose the epoch."""
_CALLS = {
    "commit": "`commit()`",
    "offsets": "`commit(offsets)`",
    "message": "`commit(message)`",
    "stored": "`store_offsets()`, `commit()`",
    "auto": "`enable.auto.commit`",
}
"""Each call of mixed_languages, in words."""
_LINKS = 4
"""As many runs of a sentence have a link of their own."""
Shown = Row | Raced | Newer | Followed
Cells = Sequence[object]


def plain(rows: Iterable[Row]) -> list[Row]:
    """Return the groups whose client chooses the epoch, with reset policy earliest."""
    return [row for row in chosen_by_client(rows) if row.reset == ResetPolicy.EARLIEST]


def bare(rows: Iterable[Row]) -> list[Row]:
    """Return the released client's groups that commit without an epoch, with reset earliest."""
    kind = (RELEASED, CommitEpoch.NONE, ResetPolicy.EARLIEST)
    return [row for row in rows if (row.build, row.style, row.reset) == kind]


def compared(rows: Iterable[Row], build: str) -> list[Row]:
    """Return the plain groups of a build under the hazards that each build ran."""
    return [row for row in plain(rows) if row.build == build and row.cause in ON_EACH_BUILD]


def newer(rows: Iterable[Row]) -> list[Row]:
    """Return the groups that committed a newer epoch than that of the record before."""
    return [row for row in rows if (row.committed_epoch or 0) > record_epoch(row)]


def otherwise(rows: Iterable[Row]) -> list[Row]:
    """Return the groups that committed another epoch than that of the record before."""
    return [row for row in rows if row.committed_epoch != record_epoch(row)]


def chosen_by_client(rows: Iterable[Row]) -> list[Row]:
    """Return the groups whose client chooses the epoch, with any reset policy."""
    return [row for row in rows if row.style == CommitEpoch.RECORD and row.manner in _BY_CLIENT]


def record_epoch(row: Row) -> int:
    """Return the epoch of the last batch before a group's position."""
    return _RECORD_EPOCHS.get(row.hazard, 1)


def missing(raced: Iterable[Raced]) -> int:
    """Return the number of positions that were not validated."""
    return sum(one.not_validated for one in raced)


def positions(raced: Iterable[Raced]) -> int:
    """Return the number of all positions."""
    return sum(one.positions for one in raced)


def witnesses(raced: Sequence[Raced]) -> Sequence[Raced]:
    """Return those in which positions were not validated, or all if there is none."""
    return [one for one in raced if one.not_validated] or raced


def figure(text: object, of: Iterable[Shown]) -> str:
    """Return a figure that leads to the first of the runs that show it."""
    stories = stories_of(of)
    return f"[{text}]({_run(stories[0])})" if stories else str(text)


def links(of: Iterable[Shown], source: str = "") -> str:
    """Return what shows a sentence: a line of Kafka's source, some of its runs, and all of them."""
    stories = stories_of(of)
    shown = [f"[source]({source})"] if source else []
    for number, story in enumerate(stories[:_LINKS], start=1):
        shown.append(f"[{'run' if number == 1 else number}]({_run(story)})")
    if len(stories) > _LINKS:
        shown.append(f"[all {len(stories)}]({RUNS_PAGE}#every-run)")
    return ", ".join(shown)


def stories_of(of: Iterable[Shown]) -> list[str]:
    """Return the names of the runs that show something."""
    names = ([one.story] if isinstance(one, Row | Followed) else one.stories for one in of)
    return sorted({story for some in names for story in some})


def counted(values: Iterable[Hashable]) -> str:
    """Return a value that all have, or each with its count."""
    counts = Counter(map(str, values))
    if len(counts) == 1:
        return next(iter(counts))
    total = counts.total()
    return "; ".join(f"{value}: {count} of {total}" for value, count in counts.most_common())


def of_clients(figures: Figures) -> Iterator[Cells]:
    """Yield a row for each client: newer epochs, skipped records, validations."""
    for build in BUILDS:
        own = compared(figures.rows, build)
        raced = [one for one in figures.races if one.build == build]
        total = sum(row.never_delivered or 0 for row in own)
        skipping = sum(bool(row.never_delivered) for row in own)
        groups = f"{len(own)} {'group' if len(own) == 1 else 'groups'}"
        reported = f"{missing(raced)} of {positions(raced)} positions" if raced else "not run"
        yield (
            build,
            figure(len(stories_of(own)), own),
            figure(f"{len(newer(own))} of {len(own)} groups", newer(own) or own),
            figure(f"{skipping} of {groups}{f' ({total} in all)' if total else ''}", own),
            figure(reported, witnesses(raced)),
        )


def of_hazards(rows: Sequence[Row]) -> Iterator[Cells]:
    """Yield a row for each hazard, with a column for each client."""
    for topic in topics(rows):
        own = [row for row in rows if row.hazard == topic]
        some = [[row for row in plain(own) if row.build == build] for build in BUILDS]
        some.append(bare(own))
        yield topic, TOPICS[topic], *map(_cost, some), *_counts(list(chain(*some)))


def of_ways(rows: Sequence[Row]) -> Iterator[Cells]:
    """Yield a row for each way of committing with the released client, by hazard."""
    chosen = [r for r in rows if (r.build, r.reset) == (RELEASED, ResetPolicy.EARLIEST)]
    for manner in Manner:
        for style in CommitEpoch:
            own = [row for row in chosen if (row.manner, row.style) == (manner, style)]
            if own:
                by_topic = [[row for row in own if row.hazard == one] for one in topics(chosen)]
                yield manner, style, *map(_cost, by_topic), *_counts(own)


def of_resets(rows: Sequence[Row]) -> Iterator[Cells]:
    """Yield how groups of the released client go on, by reset policy."""
    kind = (RELEASED, Manner.SYNC, "java")
    chosen = [row for row in rows if (row.build, row.manner, row.client) == kind]
    for topic in topics(chosen):
        for style in (CommitEpoch.RECORD, CommitEpoch.NONE):
            own = [row for row in chosen if (row.hazard, row.style) == (topic, style)]
            if own:
                by_reset = [[row for row in own if row.reset == reset] for reset in ResetPolicy]
                outcomes = [
                    figure(counted(map(said, some)), some) if some else "not run"
                    for some in by_reset
                ]
                yield topic, style, *outcomes, *_counts(own)


def of_differences(found: Iterable[Difference]) -> Iterator[Cells]:
    """Yield what came out otherwise than predicted; equal rows of several groups are one."""
    alike: defaultdict[tuple[str, ...], list[Difference]] = defaultdict(list)
    for one in found:
        row = one.row
        client = f"{row.build}, {row.client}, Kafka {row.kafka}"
        why = " ".join(one.why.split()) or "**not explained**"
        way = f"{row.manner}, {row.style}"
        alike[row.hazard, client, way, one.predicted, one.came_out, why].append(one)
    for (hazard, client, way, predicted, came_out, why), own in sorted(alike.items()):
        rows = [one.row for one in own]
        line = _prediction(predicted, own[0].line)
        yield hazard, client, way, line, figure(came_out, rows), *_counts(rows), why


def of_builds(rows: Sequence[Row]) -> Iterator[Cells]:
    """Yield what each client commits, by hazard and Kafka version."""
    for topic in topics(plain(rows)):
        for build in BUILDS:
            found = [r for r in plain(rows) if (r.hazard, r.build) == (topic, build)]
            for kafka in sorted({row.kafka for row in found}, reverse=True):
                own = [row for row in found if row.kafka == kafka]
                epochs = counted(said_epoch(row.committed_epoch) for row in own)
                resumed = figure(counted(map(said, own)), own)
                yield topic, build, kafka, figure(epochs, own), resumed, *_counts(own)


def of_races(figures: Figures) -> Iterator[Cells]:
    """Yield the positions of prefetch_race by client, protocol and pace."""
    for one in sorted(figures.races, key=lambda one: BUILDS.index(one.build)):
        predicted = suppression(one.build, predictions())
        followed = counted(Counter(one.followed_by).elements()) if one.followed_by else ""
        yield (
            one.build,
            one.client,
            one.pace,
            _prediction(predicted.suppressed, predicted.line),
            figure(f"{one.not_validated} of {one.positions}", [one]),
            followed,
            len(one.stories),
        )


def of_newer(figures: Figures) -> Iterator[Cells]:
    """Yield the commits of prefetch_race with a newer epoch, by client."""
    for one in sorted(figures.newer, key=lambda one: BUILDS.index(one.build)):
        yield one.build, figure(f"{one.newer} of {one.commits}", [one]), len(one.stories)


def of_groups(rows: Iterable[Row]) -> Iterator[Cells]:
    """Yield the outcome of each group, with what was predicted."""
    for row in rows:
        epochs, wanted = committed(row, predictions()), resumption(row, predictions())
        commits = "" if row.manner == Manner.EXTERNAL else said_commit(epochs)
        yield (
            row.hazard.partition("/")[2],
            row.client,
            row.manner,
            row.style,
            row.reset,
            said_epoch(row.committed_epoch),
            f"**{said(row)}**" if differences([row]) else said(row),
            _prediction("; ".join(filter(None, (commits, said(wanted)))), wanted.line),
        )


def of_followers(rows: Sequence[Followed], read: str) -> Iterator[Cells]:
    """Yield what each client's Java member stored, then in how many stories which call stored none.

    read: whether the Java member read before the election or after it.
    """
    own = sorted((row for row in rows if row.read == read), key=_order_of_followers)
    stored = (_of_stories(_of_build(own, build), _said_stored) for build in BUILDS)
    yield "Java, before", "`commitSync()`", "closed", *stored
    for client, call, ends in dict.fromkeys((row.client, row.call, row.ends) for row in own):
        some = [row for row in own if (row.client, row.call, row.ends) == (client, call, ends)]
        cells = (_of_stories(_of_build(some, build), _said_withheld) for build in BUILDS)
        yield client, _CALLS[call], ends, *cells


def calls_of(rows: Iterable[Followed]) -> str:
    """Return by which calls groups commit, in words; empty without one."""
    found = dict.fromkeys((row.call, row.ends) for row in sorted(rows, key=_order_of_followers))
    words = [f"{_CALLS[call]} ({ends})" for call, ends in found]
    return f": {', '.join(words)}" if words else ""


def _order_of_followers(row: Followed) -> tuple[object, ...]:
    return str(row.client) != Client.LIBRDKAFKA, row.client, list(_CALLS).index(row.call), row.ends


def _of_build(rows: Iterable[Followed], build: str) -> list[Followed]:
    return [row for row in rows if row.build == build]


def _of_stories(rows: Sequence[Followed], words: Callable[[Sequence[Followed]], str]) -> str:
    return figure(words(rows), rows) if rows else "not run"


def _said_stored(rows: Sequence[Followed]) -> str:
    return counted(said_epoch(row.epoch) for row in rows)


def _said_withheld(rows: Sequence[Followed]) -> str:
    found = sorted({row.withheld for row in rows if row.withheld})
    members = f" ({' or '.join(map(str, found))} of 4 members)" if found else ""
    return f"{sum(row.withheld > 0 for row in rows)} of {len(rows)}{members}"


def topics(rows: Iterable[Row]) -> list[str]:
    """Return the hazards of some groups, in their order."""
    ran = {row.hazard for row in rows}
    return [topic for topic in TOPICS if topic in ran]


def _cost(rows: Sequence[Row]) -> str:
    """Return what groups paid: records skipped, or read again."""
    return figure(counted(map(_said_cost, rows)), rows) if rows else "not run"


def _said_cost(row: Row) -> str:
    words = said(row)
    if row.exception is not None or row.resumed_at is None:
        return words
    return ", ".join(words.split(", ")[1:]) or "0"


def _counts(rows: Sequence[Row]) -> tuple[int, str]:
    """Return how many groups a row of a table is drawn from, and how many runs."""
    return len(rows), figure(len(stories_of(rows)), rows)


def _prediction(text: str, line: int) -> str:
    return f"[{text}]({PREDICTIONS}#L{line})"


def _run(story: str) -> str:
    return f"{RUNS_PAGE}#{anchor(story)}"
