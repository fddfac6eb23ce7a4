"""Commits and fetches of offsets by single requests: of groups of `orders`, at every version."""

import base64
from collections.abc import Sequence
from functools import partial
from random import Random

from contract.commit_rules import (
    COMMIT,
    FIRST_WITH_GENERATION,
    FIRST_WITH_STABLE,
    OFFSET_FETCH,
    TXN_COMMIT,
)
from contract.events import NO_EPOCH
from harness.story.copying import PER_EPOCH
from harness.story.run import Run
from harness.story.wire_commits import FIRST_WITHOUT_ADD_OFFSETS, Membership, WireCommits
from harness.wire.commits import Offset, offset_commit, offset_fetch

NO_SUCH_PARTITION = 99
SIMPLE = Membership(group="simple")


class Committing:
    """Steps of scenarios that commit without a client; each request is recorded.

    Attributes:
        topic_id: of the topic.
        no_id: an id that no topic has.
        epochs: of the records of partition 0.
        made: how many times offsets were made.
    """

    random: Random
    topic_id: str
    no_id: str
    epochs: Sequence[int]
    made: int

    def identify(self, run: Run, epochs: Sequence[int] = (0,)) -> None:
        """Note the id of the topic, one that no topic has, and the epochs of its records."""
        self.topic_id = run.wire.topic_id("orders")
        self.no_id = base64.urlsafe_b64encode(self.random.randbytes(16)).decode().rstrip("=")
        self.epochs = epochs
        self.made = 0

    def offsets(self, name: str, *, only: int | None = None) -> list[Offset]:
        """An offset of each partition, and of a partition and a topic that there are not.

        With `only` there is one partition.
        Each is another offset, with the epoch of the record before it.
        """
        self.made += 1
        number = self.made % PER_EPOCH
        at = partial(Offset, topic="orders", topic_id=self.topic_id, metadata=name)
        offsets = [
            at(partition=0, offset=number + 1, epoch=self.epochs[0]),
            at(partition=1, offset=number + 1, epoch=self.epochs[0]),
            at(partition=NO_SUCH_PARTITION, offset=1, epoch=NO_EPOCH),
            Offset(topic="nothing", topic_id=self.no_id, offset=1, metadata=name),
        ]
        return offsets if only is None else [offsets[only]]

    def commit(self, commits: WireCommits, by: Membership) -> None:
        """Commit at each version, and fetch what is stored at each version."""
        for version in commits.versions(by.group, COMMIT):
            if version >= FIRST_WITH_GENERATION[COMMIT]:
                offsets = self.offsets(f"{by} version {version}", only=by.only)
                commits.send(
                    by.group,
                    offset_commit(
                        group=by.group,
                        member=by.member,
                        generation=by.generation,
                        offsets=offsets,
                        version=version,
                    ),
                )
        self.fetch(commits, by.group)

    def fetch(self, commits: WireCommits, group: str, *, is_stable: bool = False) -> None:
        """Fetch a group's offsets at each version."""
        for version in commits.versions(group, OFFSET_FETCH):
            if version < (FIRST_WITH_STABLE if is_stable else 1):
                continue
            request = offset_fetch(
                group=group, offsets=self.offsets(""), version=version, is_stable=is_stable
            )
            commits.send(group, request)

    def commit_in_transaction(
        self, commits: WireCommits, members: list[Membership], version: int
    ) -> None:
        """Commit by each member in one transaction; then by a producer that was succeeded."""
        producer = commits.initialize(f"version-{version}")
        if version < FIRST_WITHOUT_ADD_OFFSETS:
            for group in sorted({member.group for member in members}):
                commits.add_group(producer, group)
        for by in members:
            if by == SIMPLE or version >= FIRST_WITH_GENERATION[TXN_COMMIT]:
                name = f"{by} version {version} in a transaction"
                commits.commit_in(producer, by, self.offsets(name, only=by.only), version=version)
        known = self.offsets("")[:2]
        self.fetch(commits, SIMPLE.group, is_stable=True)
        commits.end(producer)
        commits.await_stable(SIMPLE.group, known)
        self.fetch(commits, SIMPLE.group)
        commits.initialize(f"version-{version}")
        name = f"zombie version {version}"
        commits.commit_in(producer, SIMPLE, self.offsets(name), version=version)

    def fetch_of(self, run: Run, commits: WireCommits, groups: list[str]) -> None:
        """Fetch what is stored of groups, once no transaction is pending."""
        self.identify(run)
        for group in groups:
            commits.await_stable(group, self.offsets("")[:2])
            self.fetch(commits, group)

    def ask(self, run: Run, groups: list[str]) -> None:
        """Commit at each version that a coordinator supports now, and fetch what is stored."""
        commits = WireCommits(run.wire, run.observer)
        self.commit(commits, SIMPLE)
        for version in commits.versions(SIMPLE.group, TXN_COMMIT):
            self.commit_in_transaction(commits, [SIMPLE], version)
        for group in groups:
            self.fetch(commits, group)
