"""One attempt to break the tool, and how it ended."""

import msgspec

TRACEBACK = "Traceback (most recent call last)"


class Attempt(msgspec.Struct, frozen=True):
    """One attempt.

    Attributes:
        area: the class of attempts that it belongs to.
        tried: what was done, in words.
        problem: what went wrong; empty if the tool held.
        skipped: why it could not be tried; empty if it was.
    """

    area: str
    tried: str
    problem: str = ""
    skipped: str = ""


class Area(msgspec.Struct, frozen=True):
    """A class of attempts.

    Attributes:
        name: of the class.
        promise: what holds.
        by: what makes it hold.
    """

    name: str
    promise: str
    by: str
