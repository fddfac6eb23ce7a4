"""What every command of the driver to a worker carries."""

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag=True):
    """A command; the worker answers it in its history with an `Answered` of the same request."""

    request: int = -1
