"""Lies about what brokers responded to requests of any version (`epoch_protocol`)."""

from functools import partial

from bench.lies.genuine import Row
from bench.lies.lie import Lie, Verb, Where, alter, having, plus
from bench.lies.stories import PROTOCOL
from contract.checks import Check
from contract.protocol import OFFSETS_FOR_TIMES

_lie = partial(Lie, table="wire_calls", story=PROTOCOL)
_FENCED, _UNKNOWN, _UNAUTHORIZED = 74, 75, 29
_NO_ERROR = 0


def of(api: str, **values: object) -> Where:
    """Responses of an API that have these values."""
    return having(api=api, **values)


def ended(row: Row) -> bool:
    """An end offset of an earlier epoch, as the leader has it."""
    return of("OFFSET_FOR_LEADER_EPOCH", error_code=_NO_ERROR, asked_epoch=1)(row)


def read(row: Row) -> bool:
    """Records that a leader returned without a divergence, after the last fetched epoch."""
    is_whole = of("FETCH", error_code=_NO_ERROR, diverging_epoch=-1)(row)
    return is_whole and int(row["asked_epoch"]) >= 0 and int(row["record_bytes"]) > 0


def diverged(row: Row) -> bool:
    """A divergence that a leader returned."""
    return bool(row["api"] == "FETCH" and (row["diverging_epoch"] or 0) > 0)


RESPONSES = (
    _lie("a broker accepted an older leader epoch", Verb.ALTER, check=Check.WRONG_EPOCH_ERROR,
         change=alter("wire_calls", of("LIST_OFFSETS", error_code=_FENCED), error_code=_NO_ERROR)),
    _lie("a broker refused a newer leader epoch as fenced", Verb.ALTER,
         check=Check.WRONG_EPOCH_ERROR,
         change=alter("wire_calls", of("FETCH", error_code=_UNKNOWN), error_code=_FENCED)),
    _lie("a broker refused a request without a leader epoch", Verb.ALTER,
         check=Check.WRONG_EPOCH_ERROR,
         change=alter("wire_calls",
                      of("FETCH", current_leader_epoch=-1, error_code=_NO_ERROR),
                      error_code=_UNKNOWN)),
    _lie("a leader returned a larger end offset of an earlier epoch", Verb.SHIFT,
         check=Check.WRONG_EPOCH_END, change=alter("wire_calls", ended, offset=plus("offset", 7))),
    _lie("a leader returned another epoch than the one that was asked about", Verb.ALTER,
         check=Check.WRONG_EPOCH_END, change=alter("wire_calls", ended, epoch=0)),
    _lie("a leader reported a divergence that its log has not", Verb.ALTER,
         check=Check.WRONG_DIVERGING_EPOCH,
         change=alter("wire_calls", read, diverging_epoch=0, diverging_offset=1, record_bytes=0)),
    _lie("a leader returned another offset of the divergence", Verb.SHIFT,
         check=Check.WRONG_DIVERGING_EPOCH,
         change=alter("wire_calls", diverged, diverging_offset=plus("diverging_offset", -7))),
    _lie("a broker reported an older epoch of the leader", Verb.ALTER,
         check=Check.WRONG_REPORTED_EPOCH,
         change=alter("wire_calls", of("METADATA", error_code=_NO_ERROR, epoch=3), epoch=1)),
    _lie("a leader responded to a principal without a permission", Verb.ALTER,
         check=Check.WRONG_AUTHORIZATION,
         change=alter("wire_calls", having(principal="User:stranger"), error_code=_NO_ERROR)),
    _lie("a leader refused a principal that may describe the topic", Verb.ALTER,
         check=Check.WRONG_AUTHORIZATION,
         change=alter("wire_calls", having(principal="User:reader", error_code=_NO_ERROR),
                      error_code=_UNAUTHORIZED)),
    _lie("a leader refused a principal with ClusterAction", Verb.ALTER,
         check=Check.WRONG_AUTHORIZATION,
         change=alter("wire_calls", having(principal="User:replica", error_code=_NO_ERROR),
                      error_code=_UNAUTHORIZED)),
    _lie("a client returned the epoch of another record", Verb.ALTER,
         check=Check.WRONG_REPORTED_EPOCH,
         change=alter("wire_calls", of(OFFSETS_FOR_TIMES, epoch=1), epoch=3)),
    _lie("a client returned an offset without its epoch", Verb.ALTER,
         check=Check.WRONG_REPORTED_EPOCH,
         change=alter("wire_calls", of(OFFSETS_FOR_TIMES, epoch=0), epoch=None)),
    _lie("a leader served the fetch of a replica with an older epoch", Verb.ALTER,
         check=Check.WRONG_EPOCH_ERROR,
         change=alter("wire_calls", of("FETCH", asked_replica=2, error_code=_FENCED),
                      error_code=_NO_ERROR)),
    _lie("the exception of an error of the epoch is not retriable", Verb.ALTER,
         check=Check.WRONG_EPOCH_ERROR,
         change=alter("wire_calls", of("LIST_OFFSETS", error_code=_UNKNOWN),
                      is_retriable=False)),
    _lie("a response lacks the throttle time", Verb.ALTER, check=Check.MALFORMED_RESPONSE,
         change=alter("wire_calls", of("OFFSET_FOR_LEADER_EPOCH", error_code=_FENCED),
                      throttle_ms=None)),
    _lie("a response lacks the partition that was asked about", Verb.ALTER,
         check=Check.MALFORMED_RESPONSE,
         change=alter("wire_calls", of("LIST_OFFSETS", error_code=_UNKNOWN), error_code=None)),
)  # fmt: skip
