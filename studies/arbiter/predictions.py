"""What was predicted for each row, and in what a row differs from it."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from contract.errors import UsageError
from contract.events import NO_EPOCH
from contract.outcomes import Manner
from studies.arbiter.rows import Row

FILE = Path(__file__).with_name("predictions.yml")
_EXPLAINED = Path(__file__).with_name("differences.yml")


class Fitting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry: it fits a row whose keys have one of the named values each.

    line: where it begins in its file.
    """

    fits: dict[str, list[str]]
    because: str
    line: int

    def does_fit(self, keys: Mapping[str, str]) -> bool:
        """Whether it fits a row with these keys."""
        return all(keys[name] in values for name, values in self.fits.items())


_T = TypeVar("_T", bound=Fitting)


class CommitPrediction(Fitting, frozen=True, kw_only=True):
    """The epochs that may be committed; null: no commit is left."""

    epochs: list[int | None]


class ResumptionPrediction(Fitting, frozen=True, kw_only=True):
    """How a group goes on that committed one of these epochs; empty: any."""

    epochs: list[int] = []
    resumed_at: int | None = None
    redelivered: int = 0
    never_delivered: int = 0
    exception: str | None = None


class RacePrediction(Fitting, frozen=True, kw_only=True):
    """Whether validations are suppressed in prefetch_race: none, or some."""

    suppressed: str


class HandedPrediction(Fitting, frozen=True, kw_only=True):
    """The epochs that a Java member may store under by_client."""

    epochs: list[int]


class FollowedPrediction(Fitting, frozen=True, kw_only=True):
    """How many of the members that follow it store nothing."""

    withheld: int


class Predictions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the file."""

    commits: list[CommitPrediction]
    resumptions: list[ResumptionPrediction]
    race: list[RacePrediction]
    handed: list[HandedPrediction]
    followed: list[FollowedPrediction]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A row that came out otherwise; `why` explains it, empty if nothing does yet.

    line: where the file of predictions has the first one that did not hold.
    """

    row: Row
    predicted: str
    came_out: str
    why: str
    line: int


@cache
def predictions() -> Predictions:
    """Read the predictions."""
    text = FILE.read_text()
    nodes = {key.value: node for key, node in yaml.compose(text).value}
    lists = yaml.safe_load(text)
    return msgspec.convert({name: _lined(lists[name], nodes[name]) for name in lists}, Predictions)


@cache
def explanations() -> list[Fitting]:
    """Read the explanations of differences."""
    text = _EXPLAINED.read_text()
    return msgspec.convert(_lined(yaml.safe_load(text), yaml.compose(text)), list[Fitting])


def _lined(entries: list[dict[str, Any]], node: Any) -> list[dict[str, Any]]:
    """Return the entries of a list, each with its line."""
    return [
        {**entry, "line": at.start_mark.line + 1}
        for entry, at in zip(entries, node.value, strict=True)
    ]


def committed(row: Row, known: Predictions) -> CommitPrediction:
    """Return what a row was predicted to commit.

    Raises:
        UsageError: nothing fits it.
    """
    return first_of(known.commits, row.keys)


def resumption(row: Row, known: Predictions) -> ResumptionPrediction:
    """Return how a row was predicted to go on, from the epoch that it committed.

    Raises:
        UsageError: nothing fits it.
    """
    epoch = row.committed_epoch
    if epoch is None or row.manner == Manner.EXTERNAL:
        # Nothing of it is committed to Kafka: what counts is what the application kept, or what the
        # commit would have had.
        epoch = committed(row, known).epochs[0]
    fitting = [one for one in known.resumptions if not one.epochs or epoch in one.epochs]
    return first_of(fitting, row.keys)


def suppression(build: str, known: Predictions) -> RacePrediction:
    """Return the prediction for validations of a build.

    Raises:
        UsageError: nothing fits it.
    """
    return first_of(known.race, {"build": build})


def differences(rows: Iterable[Row]) -> list[Difference]:
    """Return the rows that came out otherwise than predicted."""
    known, explained = predictions(), explanations()
    found = []
    for row in rows:
        parts = []
        epochs = committed(row, known)
        if row.manner != Manner.EXTERNAL and row.committed_epoch not in epochs.epochs:
            came_out = f"commits {said_epoch(row.committed_epoch)}"
            parts.append((said_commit(epochs), came_out, epochs.line))
        wanted = resumption(row, known)
        if _went_on(row) != _went_on(wanted):
            parts.append((said(wanted), said(row), wanted.line))
        if parts:
            why = next((one.because.strip() for one in explained if one.does_fit(row.keys)), "")
            found.append(
                Difference(
                    row=row,
                    predicted="; ".join(one for one, _, _ in parts),
                    came_out="; ".join(one for _, one, _ in parts),
                    why=why,
                    line=parts[0][2],
                )
            )
    return found


def said(one: Row | ResumptionPrediction) -> str:
    """Return how a group goes on, in words."""
    if one.exception is not None:
        return f"raises {one.exception}"
    if one.resumed_at is None:
        return "makes no progress"
    words = [f"resumes at {one.resumed_at}"]
    if one.never_delivered:
        words.append(f"skips {one.never_delivered}")
    if one.redelivered:
        words.append(f"reads {one.redelivered} again")
    return ", ".join(words)


def said_commit(one: CommitPrediction) -> str:
    """Return which epochs may be committed, in words."""
    return f"commits {' or '.join(map(said_epoch, one.epochs))}"


def said_epoch(epoch: int | None) -> str:
    """Return a committed epoch, in words."""
    return {None: "nothing", NO_EPOCH: "no epoch"}.get(epoch, f"epoch {epoch}")


def _went_on(one: Row | ResumptionPrediction) -> tuple[object, ...]:
    if one.exception is not None:
        return (one.exception,)
    return (one.resumed_at, one.redelivered or 0, one.never_delivered or 0)


def first_of(fitting: Iterable[_T], keys: Mapping[str, str]) -> _T:
    """Return the first entry that fits.

    Raises:
        UsageError: nothing does.
    """
    found = next((one for one in fitting if one.does_fit(keys)), None)
    if found is None:
        raise UsageError(f"studies/arbiter/predictions.yml has no prediction for {dict(keys)}")
    return found
