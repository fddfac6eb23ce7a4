"""Unique values with their producer, their number and a checksum.

A value reads `producer:sequence:crc32`, e.g. `writer-1:42:7d9c2a10`.
"""

import zlib

_DIGITS = 18
"""Of a sequence number at most, so that it is an int64."""


def make_value(producer: str, sequence: int) -> str:
    """Make the value that a producer writes under a sequence number."""
    body = f"{producer}:{sequence}"
    return f"{body}:{zlib.crc32(body.encode()):08x}"


def parse_value(value: str | None) -> tuple[str, int] | None:
    """Return the producer and the sequence number of an intact value; None of any other."""
    if value is None:
        return None
    body, _, checksum = value.rpartition(":")
    producer, separator, sequence = body.rpartition(":")
    if not separator or f"{zlib.crc32(body.encode()):08x}" != checksum:
        return None
    is_number = sequence.isascii() and sequence.isdigit() and len(sequence) <= _DIGITS
    return (producer, int(sequence)) if is_number and str(int(sequence)) == sequence else None


def is_intact(value: str) -> bool:
    """Return whether a value is an unchanged value of `make_value`."""
    return parse_value(value) is not None
