"""Unique values with their producer, their number and a checksum.

A value reads `producer:sequence:crc32`, e.g. `writer-1:42:7d9c2a10`.
"""

import zlib


def make_value(producer: str, sequence: int) -> str:
    """Make the value that a producer writes under a sequence number."""
    body = f"{producer}:{sequence}"
    return f"{body}:{zlib.crc32(body.encode()):08x}"


def is_intact(value: str) -> bool:
    """Return whether a value is an unchanged value of `make_value`."""
    body, separator, checksum = value.rpartition(":")
    return bool(separator) and f"{zlib.crc32(body.encode()):08x}" == checksum
