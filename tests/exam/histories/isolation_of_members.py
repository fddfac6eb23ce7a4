"""Groups of which one member reads committed values only, by its client's default."""

from typing import Any

from msgspec.structs import replace

from contract.run_folder import MemberPlan
from tests.exam.history import NONE, VIOLATION, History, asks_each
from tests.exam.transaction_verbs import Batch, started, step, written
from tests.exam.verbs import joined, left

OWN = (
    "librdkafka's CONFIGURATION.md: isolation.level is read_committed by default; Java's "
    "ConsumerConfig: read_uncommitted"
)
MIXED = ("librdkafka", "java")


@asks_each(
    "A group of librdkafka and Java is given records of a transaction that is aborted later.",
    source=OWN,
    check="aborted_read",
    cases={
        "They are given to its member of Java.": (
            {"aborted_read": NONE, "divergent_readers": NONE},
            {"member": "1.2"},
        ),
        "They are given to its member of librdkafka.": (VIOLATION, {"member": "1.1"}),
        "They are given to its member of Java, the client by which the plan names it.": (
            {"aborted_read": NONE, "divergent_readers": NONE},
            {"member": "1.1", "clients": ("java", "librdkafka")},
        ),
        "They are given to its member of librdkafka, and the plan names it by Java.": (
            VIOLATION,
            {"member": "1.2", "clients": ("java", "librdkafka")},
        ),
        "They are given to its member of Java; by the plan all read committed values.": (
            VIOLATION,
            {"member": "1.2", "isolation": "read_committed"},
        ),
    },
)
def members_are_given_an_aborted_transaction(h: History, **of_group: Any) -> None:
    _reads(h, is_given=True, **of_group)


@asks_each(
    "A group of librdkafka and Java passes over an aborted transaction, which another one reads.",
    source=OWN,
    check="poll_skip",
    cases={
        "Its member of librdkafka does.": (
            {"poll_skip": NONE, "skipped_record": NONE, "divergent_readers": NONE},
            {"member": "1.1"},
        ),
        "Its member of librdkafka does, and the plan names it by Java.": (
            {"poll_skip": NONE, "skipped_record": NONE, "divergent_readers": NONE},
            {"member": "1.2", "clients": ("java", "librdkafka")},
        ),
        "Its member of Java does.": (
            {"poll_skip": VIOLATION, "divergent_readers": VIOLATION},
            {"member": "1.2"},
        ),
    },
)
def members_pass_over_an_aborted_transaction(h: History, **of_group: Any) -> None:
    _reads(h, is_given=False, **of_group)


@asks_each(
    "A group of librdkafka and Java is given records before their producer asks for the commit.",
    source=OWN,
    check="precommitted_read",
    cases={
        "They are given to its member of Java.": (NONE, {"member": "1.2"}),
        "They are given to its member of librdkafka.": (VIOLATION, {"member": "1.1"}),
    },
)
def members_read_before_a_commit(h: History, **of_group: Any) -> None:
    _reads(h, is_given=True, end="commit", **of_group)


def _reads(
    h: History,
    *,
    is_given: bool,
    member: str,
    clients: tuple[str, str] = MIXED,
    isolation: str | None = None,
    end: str = "abort",
) -> None:
    """A member is given all records, or passes over 3 to 7, which are of a transaction.

    Of two other groups one has a member of librdkafka, which passes over the transaction if it was
    aborted, and the other has one of Java, which is given it. The transaction ends at second 30.
    """
    written(
        h,
        Batch(0, 2, producer="q", sequence=0, is_transactional=False),
        Batch(3, 7, pid=1, base_sequence=0, sequence=0),
        Batch(8, 8, pid=1, control=end),
        Batch(9, 11, producer="q", sequence=3, is_transactional=False),
    )
    h.groups[-1] = replace(
        h.groups[-1],
        client=clients[0],
        isolation=isolation,
        members=2,
        others={2: MemberPlan(client=clients[1])},
    )
    h.group("rd", client="librdkafka", isolation="read_committed")
    h.group("java", isolation="read_uncommitted")
    h.sent(0, 2, at=4.0, producer="q", sequence=0)
    started(h, at=5.0)
    h.sent(3, 7, at=8.0, sequence=0, transaction=0)
    step(h, end, "committed" if end == "commit" else "aborted", at=30.0, took=1.0)
    h.sent(9, 11, at=31.0, producer="q", sequence=3)
    readers = (
        ("g", member, is_given),
        ("rd", "1", end == "commit"),
        ("java", "1", True),
    )
    for number, (group, reader, is_all) in enumerate(readers):
        later = number / 10
        joined(h, 0, at=20.0 + later, group=group, member=reader)
        h.polled(0, 2, at=21.0 + later, producer="q", sequence=0, group=group, member=reader)
        if is_all:
            at = (40.0 if group == "rd" else 22.0) + later
            h.polled(3, 7, at=at, sequence=0, group=group, member=reader)
        at = 41.0 + later
        h.polled(9, 11, at=at, producer="q", sequence=3, group=group, member=reader)
        left(h, 12, at=80.0 + later, group=group, member=reader, caught_up=True)
