"""Commits while a member polls on: by the client itself, or by an application that does not wait.

The member's worker is killed at second 12, and another member takes over.
"""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.scenes import copies
from tests.exam.verbs import cluster, joined, left, watched

JAVADOC = (
    "KafkaConsumer, Automatic Offset Committing: at least once, if all data that a poll returned "
    "is consumed before the next one"
)
PROVIDED = (
    "librdkafka, CONFIGURATION.md: enable.auto.offset.store stores the offset of the last message "
    "provided to the application"
)
IN_BACKGROUND = "KafkaConsumer of kafka-python: offsets are committed in the background"
SUCCESSOR = "2"


@asks_each(
    "100 is the last commit of a member that was delivered 0 to 149 and is killed; its client:",
    source=f"{JAVADOC}; {PROVIDED}",
    check="duplicate_delivery",
    cases={
        f"{client}.": (
            {
                "duplicate_delivery": f"{PERMITTED}: redelivered",
                "skipped_record": NONE,
                "commit_beyond_processed": NONE,
                "start_mismatch": NONE,
            },
            {"client": client},
        )
        for client in ("java", "librdkafka", "kafka-python")
    },
)
def read_again_after_a_crash(h: History, *, client: str) -> None:
    _begun(h, client=client)
    h.polled(0, 99, at=6.0)
    h.stored(100, 0, at=8.0, brokers=(1, 2))
    h.polled(100, 149, at=9.0)
    _killed(h)
    _goes_on(h, 100)


@asks(
    "The clients of all groups commit by themselves, so that no history has a commit.",
    source="contract/outcomes.py, BY_THE_CLIENT: they report nothing",
    expects={
        "history_complete": NONE,
        "duplicate_delivery": f"{PERMITTED}: redelivered",
        "skipped_record": NONE,
    },
    alone=True,
)
def nothing_reports_a_commit(h: History) -> None:
    read_again_after_a_crash(h, client="java")


BEYOND = {"commit_beyond_processed": VIOLATION, "skipped_record": VIOLATION}
INTERRUPTED = {
    "commit_beyond_processed": f"{UNDECIDED}: interrupted",
    "skipped_record": f"{UNDECIDED}: skipped in an interrupted poll",
}


@asks_each(
    "A member was delivered 0 to 119. 150 is stored, it is killed, and the next one begins at 150. "
    "Its client:",
    source=f"{JAVADOC}; KAFKA-18641; {PROVIDED}; {IN_BACKGROUND}",
    check="commit_beyond_processed",
    cases={
        "java.": (BEYOND, {}),
        "java-consumer.": (BEYOND, {"client": "java-consumer"}),
        "librdkafka.": (INTERRUPTED, {"client": "librdkafka"}),
        "kafka-python.": (INTERRUPTED, {"client": "kafka-python"}),
        "librdkafka, and the application commits.": (
            BEYOND,
            {"client": "librdkafka", "manner": "sync"},
        ),
        "librdkafka, and the application awaits no response.": (
            INTERRUPTED,
            {"client": "librdkafka", "manner": "unawaited"},
        ),
        "kafka-python, and the application awaits no response.": (
            BEYOND,
            {"client": "kafka-python", "manner": "unawaited"},
        ),
        "librdkafka, which had another poll since.": (
            BEYOND,
            {"client": "librdkafka", "stored": 8.0, "polled_since": True},
        ),
        "librdkafka, whose worker is not killed.": (
            BEYOND,
            {"client": "librdkafka", "is_killed": False},
        ),
        "librdkafka, and 150 is stored when the next member has the partition.": (
            {"commit_beyond_processed": VIOLATION},
            {"client": "librdkafka", "stored": 15.5},
        ),
    },
)
def committed_and_not_returned(
    h: History,
    *,
    client: str = "java",
    manner: str = "periodic",
    stored: float = 11.9,
    polled_since: bool = False,
    is_killed: bool = True,
) -> None:
    _begun(h, client=client, manner=manner)
    h.polled(0, 119, at=6.0)
    h.stored(150, 0, at=stored, brokers=(1, 2))
    if polled_since:
        h.polled(150, 159, at=11.0, sequence=150)
    if is_killed:
        _killed(h)
    _goes_on(h, 160 if polled_since else 150)


@asks(
    "Commits that an application did not wait for are stored; its member is killed without their "
    "responses.",
    source="docs/findings.md, M4: the last commits of a killed worker may lack their reports",
    expects={
        "history_complete": f"{PERMITTED}: last commit of a killed worker",
        "commit_beyond_processed": NONE,
        "commit_regressed": NONE,
        "skipped_record": NONE,
    },
    alone=True,
)
def killed_before_the_responses(h: History) -> None:
    _begun(h, client="java", manner="unawaited")
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=7.0, brokers=(1, 2), generation=1)
    h.rows["commits"][-1].update(began_micros=h.at(6.9), committed_micros=h.at(8.2))
    h.polled(50, 99, at=8.0)
    h.stored(100, 0, at=8.1, brokers=(1, 2))
    h.polled(100, 149, at=11.8)
    h.stored(150, 0, at=11.9, brokers=(1, 2))
    _killed(h)
    _goes_on(h, 150)


def _begun(h: History, *, client: str, manner: str = "periodic") -> None:
    h.topic()
    h.group(client=client, manner=manner)
    cluster(h)
    h.sent(0, 199, at=2.0)
    watched(h, 1, 200, times=(5.0, 9.0, 12.0, 20.0, 30.0))
    copies(h, (1, 2), (0, 199, 0), high_watermark=200)
    joined(h, 0, at=5.0)


def _killed(h: History) -> None:
    h.fault("kill", h.on_client("w"), injected=12.0, proved=12.1)
    h.worker(ended_by_itself=False)


def _goes_on(h: History, position: int) -> None:
    """The next member, in a worker of its own, reads from a position to the end."""
    joined(h, position, at=15.0, member=SUCCESSOR, generation=2)
    h.polled(position, 199, at=16.0, member=SUCCESSOR, sequence=position)
    left(h, 200, at=80.0, member=SUCCESSOR, generation=2, caught_up=True)
    h.worker("w2")
    for table in ("polls", "group_events"):
        for row in h.rows[table]:
            if row["member"].endswith(f"#{SUCCESSOR}"):
                row["worker"] = h.own("w2")
