"""Lies about the controllers' quorum (`quorum_divergence`): reports, logs and responses."""

from functools import partial
from random import Random

from bench.lies.alone import FileLie, of_rows
from bench.lies.genuine import Row, Tables
from bench.lies.lie import (
    UNDECIDED,
    Change,
    Lie,
    NoPlaceError,
    Verb,
    Where,
    alter,
    chosen,
    drop_all,
    fitting,
    having,
    plus,
)
from bench.lies.stories import QUORUM
from contract.checks import Check
from contract.quorum_rules import METADATA_LOG
from contract.verdicts import CheckVerdict

_lie = partial(Lie, story=QUORUM)
_NO_ERROR, _NOT_LEADER, _FENCED, _UNKNOWN = 0, 6, 74, 75
_FAR = 100_000
"""More entries than a run has."""


def asked(api: str, **values: object) -> Where:
    """Responses of controllers about the metadata log that have these values."""
    return having(api=api, topic=METADATA_LOG, **values)


def committed(row: Row) -> bool:
    """A report of a leader that has committed an entry."""
    return int(row["high_watermark"]) > 0


def of_metadata(row: Row) -> bool:
    """A truncation of a metadata log."""
    return bool(row["topic"] == METADATA_LOG)


def diverged(row: Row) -> bool:
    """A divergence that the quorum's leader returned."""
    return asked("FETCH", error_code=_NO_ERROR)(row) and int(row["diverging_epoch"]) >= 0


def fits(row: Row) -> bool:
    """A Fetch that the quorum's leader answered without a divergence."""
    return asked("FETCH", error_code=_NO_ERROR, diverging_epoch=-1)(row)


def highest(tables: Tables) -> int:
    """The highest high watermark that a leader reported."""
    return max(int(row["high_watermark"]) for row in tables["quorum_samples"])


def no_log_has_the_last_entries(tables: Tables, _: Random) -> None:
    """Let every metadata log end below the last high watermark."""
    end = highest(tables)
    left = [row for row in tables["metadata_batches"] if int(row["last_offset"]) < end - 1]
    if len(left) == len(tables["metadata_batches"]):
        raise NoPlaceError("no log has the last committed entry")
    tables["metadata_batches"] = left


def a_committed_entry_was_truncated(tables: Tables, random: Random) -> None:
    """Let an entry that a server held before its heal lie below its own high watermark."""
    row = chosen(tables, "cut_metadata_batches", lambda _: True, random)[0]
    reported = fitting(
        tables, "quorum_samples", lambda one: one["server"] == row["server"] and committed(one)
    )
    below = min(int(one["high_watermark"]) for one in reported) - 1
    row.update(base_offset=below, last_offset=below)


def truncated(more: int) -> Change:
    """Truncate the log of the deposed leader elsewhere."""
    return alter("truncations", of_metadata, to_offset=plus("to_offset", more))


REPORTS = (
    _lie("a leader reported a high watermark that no log reaches", Verb.SHIFT, "quorum_samples",
         Check.METADATA_LOST,
         alter("quorum_samples", committed, high_watermark=plus("high_watermark", _FAR))),
    _lie("a leader reported a high watermark three entries too high", Verb.SHIFT, "quorum_samples",
         Check.EARLY_HIGH_WATERMARK,
         alter("quorum_samples", committed,
               high_watermark=lambda row: max(row["log_ends"]) + 3)),
    _lie("the last committed entries are in no log", Verb.DROP, "metadata_batches",
         Check.METADATA_LOST, no_log_has_the_last_entries),
    _lie("a truncated entry had been committed", Verb.SHIFT, "cut_metadata_batches",
         Check.METADATA_LOST, a_committed_entry_was_truncated),
    _lie("the deposed leader truncated one entry too much", Verb.SHIFT, "truncations",
         Check.METADATA_TRUNCATION, truncated(-1)),
    _lie("the deposed leader truncated one entry too little", Verb.SHIFT, "truncations",
         Check.METADATA_TRUNCATION, truncated(+1)),
    _lie("no truncation of a metadata log was logged", Verb.DROP, "truncations",
         Check.METADATA_TRUNCATION, drop_all("truncations", of_metadata), verdict=UNDECIDED),
)  # fmt: skip
_lie = partial(
    Lie, verb=Verb.ALTER, table="wire_calls", check=Check.WRONG_QUORUM_RESPONSE, story=QUORUM
)
RESPONSES = (
    _lie("a controller accepted an older epoch of the quorum",
         change=alter("wire_calls", asked("FETCH", error_code=_FENCED), error_code=_NO_ERROR)),
    _lie("a controller refused a newer epoch of the quorum as fenced",
         change=alter("wire_calls", asked("FETCH", error_code=_UNKNOWN), error_code=_FENCED)),
    _lie("a voter that does not lead accepted a Fetch",
         change=alter("wire_calls", asked("FETCH", error_code=_NOT_LEADER), error_code=_NO_ERROR)),
    _lie("the quorum's leader refused a Fetch of its own epoch",
         change=alter("wire_calls", fits, error_code=_NOT_LEADER)),
    _lie("a controller granted a vote in an old epoch",
         change=alter("wire_calls", asked("VOTE"), response='{"voteGranted":true}')),
    _lie("a controller followed a leader of an old epoch",
         change=alter("wire_calls", asked("BEGIN_QUORUM_EPOCH"), error_code=_NO_ERROR)),
    _lie("a controller accepted the end of an old epoch",
         change=alter("wire_calls", asked("END_QUORUM_EPOCH"), error_code=_NO_ERROR)),
    _lie("a controller returned an older epoch as its own", verb=Verb.SHIFT,
         change=alter("wire_calls", asked("BEGIN_QUORUM_EPOCH"), epoch=plus("epoch", -1))),
)  # fmt: skip
DIVERGENCES = tuple(
    FileLie(
        name=name,
        verb=Verb.ALTER,
        of="wire_calls",
        check=Check.WRONG_QUORUM_RESPONSE,
        change=of_rows(alter("wire_calls", diverged, **values)),
        verdicts=(CheckVerdict.VIOLATED,),
        story=QUORUM,
    )
    for name, values in (
        ("the quorum's leader hid a divergence", {"diverging_epoch": -1, "diverging_offset": -1}),
        (
            "the quorum's leader returned another end of an epoch",
            {"diverging_offset": plus("diverging_offset", _FAR)},
        ),
    )
)
"""Planted alone: only a metadata log that starts at offset 0 is known well enough to be judged."""
