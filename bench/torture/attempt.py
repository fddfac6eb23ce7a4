"""One attempt to break the tool, and how it ended."""

from dataclasses import dataclass

TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Attempt:
    """What was tried.

    Attributes:
        area: the class of attempts that it belongs to.
        tried: what was done, in words.
        problem: what went wrong; empty if the tool held.
    """

    area: str
    tried: str
    problem: str = ""


@dataclass(frozen=True)
class Area:
    """A class of attempts.

    Attributes:
        name: of the class.
        promise: what holds.
        by: what makes it hold.
    """

    name: str
    promise: str
    by: str
