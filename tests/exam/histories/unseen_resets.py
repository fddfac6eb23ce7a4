"""Histories about groups that may have been reset unseen: a guest's log is not read."""

from tests.exam.history import UNDECIDED, VIOLATION, History, asks_each
from tests.exam.scenes import copies, started, written
from tests.exam.verbs import cut, left, reads_to

GUEST = "guest@mine"
SOURCE = (
    "docs/guests.md: a guest does not report resets; auto.offset.reset: `earliest` leads to the "
    "log start, `latest` to the log end"
)


def _by_clients(kind: str, *, is_forward: bool) -> dict[str, tuple[str, dict[str, str]]]:
    """The verdicts on a jump: Java's reset would have been logged, a guest's is not known.

    `earliest` leads no group past records that are in the log.
    """
    earliest = VIOLATION if is_forward else UNDECIDED
    return {
        "The client is Java's.": (f"{VIOLATION}: {kind}", {}),
        "Java's, with policy latest.": (f"{VIOLATION}: {kind}", {"reset": "latest"}),
        "A guest's.": (f"{earliest}: {kind}", {"client": GUEST}),
        "A guest's, with policy latest.": (
            f"{UNDECIDED}: {kind}",
            {"client": GUEST, "reset": "latest"},
        ),
        "A guest's, with policy none.": (
            f"{earliest}: {kind}",
            {"client": GUEST, "reset": "none"},
        ),
    }


@asks_each(
    "A member reads 0 to 49, and 20 to 99 in its next polls.",
    source=SOURCE,
    check="nonmonotonic_poll",
    cases=_by_clients("between polls", is_forward=False),
)
def member_goes_back_between_polls(h: History, **group: str) -> None:
    _goes_back(h, **group)


@asks_each(
    "A member is delivered 20 to 49 twice, in two polls.",
    source=SOURCE,
    check="duplicate_delivery",
    cases=_by_clients("within a session", is_forward=False),
)
def records_are_delivered_in_two_polls(h: History, **group: str) -> None:
    _goes_back(h, **group)


@asks_each(
    "A member never gets 50 to 59.",
    source=SOURCE,
    check="skipped_record",
    cases=_by_clients("skipped without an error", is_forward=True),
)
def member_goes_past_records(h: History, **group: str) -> None:
    _begun(h, **group)
    h.polled(60, 99, at=12.0)
    _ended(h, 100)


@asks_each(
    "A group committed 50; its next member begins at 20.",
    source=SOURCE,
    check="start_mismatch",
    cases=_by_clients("behind", is_forward=False),
)
def member_begins_behind_the_commit(h: History, **group: str) -> None:
    _begins_again(h, 20, **group)


@asks_each(
    "A group committed 50; its next member begins at 70, and 50 to 69 are never delivered.",
    source=SOURCE,
    check="start_mismatch",
    cases=_by_clients("ahead", is_forward=True),
)
def member_begins_ahead_of_the_commit(h: History, **group: str) -> None:
    _begins_again(h, 70, **group)


@asks_each(
    "A member commits 50, and then 30.",
    source=SOURCE,
    check="commit_regressed",
    cases=_by_clients("silent", is_forward=False),
)
def member_commits_less(h: History, **group: str) -> None:
    _begun(h, **group)
    h.commit(50, 0, at=12.0, brokers=(1, 2))
    h.commit(30, 0, at=15.0, brokers=(1, 2))
    _ended(h, 50)


@asks_each(
    "A member reads 50 to 99; they are truncated, and it reads on from 100, of other records.",
    source="KIP-320; " + SOURCE,
    check="truncation_undetected",
    cases=_by_clients("silent", is_forward=True),
)
def truncation_is_not_reported(h: History, **group: str) -> None:
    _reads_through_a_truncation(h, **group)


@asks_each(
    "Its position of 100 became valid again by new records.",
    source="KIP-320; " + SOURCE,
    check="silent_revalidation",
    cases=_by_clients("silent", is_forward=True),
)
def position_is_valid_again(h: History, **group: str) -> None:
    _reads_through_a_truncation(h, **group)


def _reads_through_a_truncation(
    h: History, *, client: str = "java", reset: str = "earliest"
) -> None:
    h.topic(unclean_election=True)
    h.group(client=client, reset=reset)
    cut(h)
    reads_to(h, 49)
    h.polled(50, 99, at=13.0)
    h.polled(100, 149, at=32.0, epoch=1, sequence=150)
    left(h, 150, at=80.0, caught_up=True)


def _begun(h: History, *, client: str = "java", reset: str = "earliest") -> None:
    written(h)
    h.group(client=client, reset=reset)
    started(h, 0, at=5, fresh=client == "java", policy=reset)
    h.polled(0, 49, at=6)


def _ended(h: History, position: int, member: str = "1") -> None:
    h.changed("caught_up", at=40, position=position, member=member)
    h.changed("closed", at=41, member=member)
    copies(h, (1, 2), (0, 99, 0), high_watermark=100)


def _goes_back(h: History, **group: str) -> None:
    _begun(h, **group)
    h.polled(20, 99, at=12.0)
    _ended(h, 100)


def _begins_again(h: History, position: int, **group: str) -> None:
    _begun(h, **group)
    h.commit(50, 0, at=8.0, brokers=(1, 2))
    h.changed("closed", at=10)
    started(h, position, at=20, member="2")
    h.polled(position, 99, at=21, member="2")
    _ended(h, 100, member="2")
