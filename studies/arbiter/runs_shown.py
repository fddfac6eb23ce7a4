"""Every run of the arbiter with the outcome of each group, before it is Markdown or HTML."""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from contract.outcomes import Manner
from contract.tables import MICROS_PER_SECOND
from studies.arbiter.predictions import (
    committed,
    differences,
    predictions,
    resumption,
    said,
    said_commit,
    said_epoch,
)
from studies.arbiter.rows import Row, Story


@dataclass(frozen=True)
class GroupShown:
    """A group of a run. is_otherwise: it came out otherwise than predicted."""

    row: Row
    commits: str
    came_out: str
    predicted: str
    because: str
    line: int
    is_otherwise: bool


@dataclass(frozen=True)
class RunShown:
    """A run, with what shows it: its folder, and the outcome of each group."""

    story: Story
    anchor: str
    command: str
    folder: str
    seconds: str
    jars: Sequence[str]
    groups: Sequence[GroupShown]


def runs_shown(stories: Sequence[Story], rows: Sequence[Row], beside: Path) -> Iterator[RunShown]:
    """Return every run with its groups, by name.

    Args:
        stories: all runs.
        rows: of the groups.
        beside: the folder that the page will be in, from which links lead to the runs' folders.
    """
    by_story: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_story[row.story].append(row)
    for story in sorted(stories, key=lambda one: one.name):
        run = story.run.run()
        ended = run.ended_micros or run.started_micros
        yield RunShown(
            story=story,
            anchor=anchor(story.name),
            command=f"python -m studies.arbiter run --full --only {story.name}",
            folder=quote(_from(beside, story.run.path)),
            seconds=f"{(ended - run.started_micros) / MICROS_PER_SECOND:.0f}",
            jars=[f"{Path(jar.path).name} {jar.sha256}" for jar in run.build.client_jars]
            if run.build
            else [],
            groups=[_group(row) for row in sorted(by_story[story.name], key=_order)],
        )


def _group(row: Row) -> GroupShown:
    known = predictions()
    epochs, wanted = committed(row, known), resumption(row, known)
    commits = "" if row.manner == Manner.EXTERNAL else said_commit(epochs)
    return GroupShown(
        row=row,
        commits=said_epoch(row.committed_epoch),
        came_out=said(row),
        predicted="; ".join(filter(None, (commits, said(wanted)))),
        because="; ".join(" ".join(one.because.split()) for one in (epochs, wanted)),
        line=wanted.line,
        is_otherwise=bool(differences([row])),
    )


def _order(row: Row) -> tuple[str, ...]:
    return row.hazard, row.client, row.manner, row.style, row.reset


def anchor(name: str) -> str:
    """Return the anchor of a heading: the one that renderers of Markdown give it."""
    kept = (one for one in name.lower() if one.isalnum() or one in " -_")
    return "".join(kept).replace(" ", "-")


def _from(beside: Path, folder: Path) -> str:
    """Return a folder's path from another one, as a link has it."""
    return Path(os.path.relpath(folder.resolve(), beside.resolve())).as_posix()
