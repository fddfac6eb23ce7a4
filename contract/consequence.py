"""What follows from a run for an application or a cluster, and the document that it rests on."""

import msgspec


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence of a scenario for its readers; in a verdict, with the figures of the run.

    sentence: with figures as in an answer (`contract.answers`); true whatever a run comes to.
    document: a KIP, a page of Kafka's Javadoc, or a section of its documentation.
    """

    sentence: str
    document: str

    def __str__(self) -> str:
        """The sentence with its document."""
        return f"{self.sentence} ({self.document})"
