"""Unique values that tell who wrote them and whether they arrived whole.

A value reads `producer:sequence:crc32`, e.g. `writer-1:42:7d9c2a10`.
"""

import zlib


def make_value(producer: str, sequence: int) -> str:
    """The value that a producer writes under a sequence number."""
    body = f"{producer}:{sequence}"
    return f"{body}:{zlib.crc32(body.encode()):08x}"


def is_intact(value: str) -> bool:
    """Whether a value is one that `make_value` made, unchanged."""
    body, separator, checksum = value.rpartition(":")
    return bool(separator) and f"{zlib.crc32(body.encode()):08x}" == checksum
