"""The base of the driver's commands to workers."""

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=True):
    """A command; the worker writes an `Answered` of the same request to its history."""

    request: int = -1
