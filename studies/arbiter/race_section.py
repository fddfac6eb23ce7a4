"""The part of docs/arbiter.md about validations that no longer happen."""

from collections import defaultdict
from collections.abc import Sequence

from studies.arbiter.cells import BUILDS
from studies.arbiter.predictions import predictions, suppression
from studies.arbiter.race import Ahead, RaceRow
from studies.arbiter.shown import Cell, Section, Table, cell, counted


def of_race(races: Sequence[RaceRow], ahead: Sequence[Ahead]) -> Section:
    """Return what prefetch_race showed."""
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
        (_positions(races), _commits(ahead)),
        is_detail=True,
    )


def _positions(races: Sequence[RaceRow]) -> Table:
    shown = Table(
        ("client", "protocol", "pace", "predicted", "not validated", "what followed", "stories")
    )
    known = predictions()
    kinds: defaultdict[tuple[int, str, str, str], list[RaceRow]] = defaultdict(list)
    for row in races:
        kinds[BUILDS.index(row.build), row.build, row.client, row.pace].append(row)
    for (_, build, client, pace), found in sorted(kinds.items()):
        missing = [row for row in found if not row.is_validated]
        predicted = suppression(build, known)
        shown.rows.append(
            (
                Cell(build),
                Cell(client),
                Cell(pace),
                Cell(predicted.suppressed, line=predicted.line),
                cell(f"{len(missing)} of {len(found)}", found),
                Cell(counted(row.followed_by for row in missing) if missing else ""),
                Cell(str(len({row.story for row in found}))),
            )
        )
    return shown


def _commits(ahead: Sequence[Ahead]) -> Table:
    shown = Table(
        ("client", "commits with a newer epoch", "stories"),
        caption="Epochs committed in these runs that are newer than the last record's:",
    )
    for build in BUILDS:
        own = [one for one in ahead if one.build == build]
        if own:
            newer, all_of = sum(one.ahead for one in own), sum(one.commits for one in own)
            shown.rows.append((Cell(build), cell(f"{newer} of {all_of}", own), Cell(str(len(own)))))
    return shown
