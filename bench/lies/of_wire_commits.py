"""Lies about commits by single requests, and what is stored of them (`txn_offset_commit`)."""

from functools import partial
from random import Random
from typing import Any

from bench.lies.genuine import Row, Tables
from bench.lies.lie import Change, Lie, Verb, Where, alter, chosen, drop, having, plus
from bench.lies.stories import COMMITS
from contract.checks import Check
from contract.commit_rules import COMMIT, OFFSET_FETCH, TXN_COMMIT

_lie = partial(Lie, story=COMMITS)
_NO_ERROR, _UNKNOWN_PARTITION, _ILLEGAL_GENERATION, _UNKNOWN_MEMBER = 0, 3, 22, 25
_GROUP_NOT_FOUND, _UNKNOWN_TOPIC_ID, _STALE_MEMBER_EPOCH = 69, 100, 113
_COMMITS = (COMMIT, TXN_COMMIT)
_TOPIC = "orders"
_STORED = ("offset", "epoch")
_COMMIT_OF = ("group", "topic", "partition", "metadata")
"""What a request and what is stored of it have in common."""


def refused(error: int) -> Where:
    """Commits of a topic that there is, or was said to be, with this error."""
    return lambda row: row["api"] in _COMMITS and row["error_code"] == error


def accepted(row: Row) -> bool:
    """Accepted commits, by their responses."""
    return refused(_NO_ERROR)(row) and row["topic"] == _TOPIC and row["asked_offset"] is not None


def fetched(row: Row) -> bool:
    """Stored commits that an OffsetFetch returned, with their epoch."""
    is_answered = row["api"] == OFFSET_FETCH and row["error_code"] == _NO_ERROR
    return is_answered and all(row[name] is not None and row[name] >= 0 for name in _STORED)


def stored(row: Row) -> bool:
    """Stored commits that single requests made: each has metadata of its own."""
    return bool(row["topic"] == _TOPIC and row["metadata"] and not row["is_tombstone"])


def stored_by_id(**values: Any) -> Change:
    """Change what is stored of a commit whose request had its topic's id."""

    def change(tables: Tables, random: Random) -> None:
        by_id = chosen(
            tables, "wire_calls", lambda row: accepted(row) and bool(row["topic_id"]), random
        )[0]
        like = having(**{name: by_id[name] for name in _COMMIT_OF})
        alter("committed_offsets", like, **values)(tables, random)

    return change


def a_refused_commit_is_stored(tables: Tables, random: Random) -> None:
    """Store a commit that an unknown member made."""
    call = chosen(
        tables,
        "wire_calls",
        lambda row: refused(_UNKNOWN_MEMBER)(row) and row["topic"] == _TOPIC,
        random,
    )[0]
    like = chosen(tables, "committed_offsets", stored, random)[0]
    row = {**like, **{name: call[name] for name in _COMMIT_OF}, "offset": call["asked_offset"]}
    row |= {"committed_micros": call["at_micros"], "offsets_offset": like["offsets_offset"] + 1}
    tables["committed_offsets"].append(row)


_answered = partial(_lie, verb=Verb.ALTER, table="wire_calls", check=Check.WRONG_COMMIT_ERROR)
ERRORS = (
    _answered("an unknown topic id was accepted",
              change=alter("wire_calls", refused(_UNKNOWN_TOPIC_ID), error_code=_NO_ERROR)),
    _answered("a partition that there is not was accepted",
              change=alter("wire_calls", refused(_UNKNOWN_PARTITION), error_code=_NO_ERROR)),
    _answered("a commit for no group had the error from before its own",
              change=alter("wire_calls", refused(_GROUP_NOT_FOUND),
                           error_code=_ILLEGAL_GENERATION)),
    _answered("a stale member epoch had the error from before its own",
              change=alter("wire_calls", refused(_STALE_MEMBER_EPOCH),
                           error_code=_ILLEGAL_GENERATION)),
    _answered("a member that its group does not have was accepted",
              change=alter("wire_calls", refused(_UNKNOWN_MEMBER), error_code=_NO_ERROR)),
    _answered("a commit that is right was refused",
              change=alter("wire_calls", accepted, error_code=_UNKNOWN_MEMBER)),
)  # fmt: skip
_kept = partial(_lie, table="committed_offsets", check=Check.WRONG_STORED_COMMIT)
STORED = (
    _kept("an accepted commit by a request is not stored", Verb.DROP,
          change=drop("committed_offsets", stored, same=("group", "partition", "metadata"))),
    _kept("a commit by a request is stored with another offset", Verb.SHIFT,
          change=alter("committed_offsets", stored, offset=plus("offset", 1))),
    _kept("a commit by a request is stored with another epoch", Verb.ALTER,
          change=alter("committed_offsets", stored, committed_epoch=99)),
    _kept("a commit by a topic id is stored without it", Verb.ALTER,
          change=stored_by_id(topic_id=None)),
    _kept("a commit by a topic id is stored in a version without ids", Verb.ALTER,
          change=stored_by_id(value_version=3)),
    _kept("a refused commit is stored", Verb.ADD, change=a_refused_commit_is_stored),
)  # fmt: skip
_returned = partial(_lie, table="wire_calls", check=Check.WRONG_FETCHED_COMMIT)
FETCHED = (
    _returned("another offset was fetched than is stored", Verb.SHIFT,
              change=alter("wire_calls", fetched, offset=plus("offset", 1))),
    _returned("another epoch was fetched than is stored", Verb.ALTER,
              change=alter("wire_calls", fetched, epoch=99)),
    _returned("a stored offset was fetched as none", Verb.ALTER,
              change=alter("wire_calls", fetched, offset=-1, epoch=-1)),
)  # fmt: skip
