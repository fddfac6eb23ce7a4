"""What members of other clients store behind a patched Java client's commit (mixed_languages)."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from scenarios.mixed_languages_test import BY_CLIENT, READ_FIRST
from studies.arbiter.figures import Ran
from studies.arbiter.predictions import FollowedPrediction, HandedPrediction, first_of, predictions
from studies.arbiter.rows import Story, table_rows

_ORDERS_0 = ("orders", 0)


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """One group of a run: what its Java member stored, and the members that followed.

    story: the name of its run's cell.
    read: whether the Java member read before the election or after it.
    client, call, ends: of the members that follow.
    epoch: that the Java member stored; None if it stored nothing.
    withheld: how many of the four members that follow stored nothing of orders-0.
    """

    story: str
    build: str
    read: str
    client: str
    call: str
    ends: str
    epoch: int | None
    withheld: int

    @property
    def keys(self) -> dict[str, str]:
        """What predictions fit by."""
        return {
            "build": self.build,
            "read": self.read,
            "client": self.client,
            "call": self.call,
            "ends": self.ends,
            "epoch": str(self.epoch),
        }

    @property
    def handed(self) -> HandedPrediction:
        """What its Java member was predicted to store."""
        return first_of(predictions().handed, self.keys)

    @property
    def followed(self) -> FollowedPrediction:
        """What was predicted of the members that follow, by what the Java member stored."""
        return first_of(predictions().followed, self.keys)

    @property
    def is_predicted(self) -> bool:
        """Whether both came out as predicted."""
        return self.epoch in self.handed.epochs and self.withheld == self.followed.withheld


class Followers(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the runs of mixed_languages: the runs, and their groups."""

    runs: list[Ran]
    rows: list[Followed]


def followed(story: Story) -> Iterable[Followed]:
    """Yield the groups of a run of by_client.

    A member is delivered the first record behind Java's commit if all before it stored nothing.
    """
    epochs: dict[str, int] = {}
    for row in sorted(
        table_rows(story.run, "committed_offsets"), key=lambda row: row["offsets_offset"]
    ):
        if (row["topic"], row["partition"]) == _ORDERS_0:
            epochs.setdefault(row["group"], row["committed_epoch"])
    readers = {
        (row["group"], row["member"])
        for row in table_rows(story.run, "polls")
        if (row["topic"], row["partition"]) == _ORDERS_0
        and row["first_offset"] <= READ_FIRST[BY_CLIENT] <= row["last_offset"]
    }
    delivered = Counter(group for group, _ in readers)
    for plan in story.run.plan().groups:
        labels = plan.labels
        yield Followed(
            story=story.name,
            build=story.build,
            read=labels["read"],
            client=plan.client,
            call=labels["call"],
            ends=labels["ends"],
            epoch=epochs.get(plan.group),
            withheld=delivered[plan.group] - 1,
        )
