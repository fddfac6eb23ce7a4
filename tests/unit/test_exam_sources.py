"""Each question of the exam names the document that decides it: Kafka's, a client's or ours."""

import re

import pytest

from tests.exam.exam import questions
from tests.unit.test_tidy import ROOT

DOCUMENT = re.compile(
    r"\b(?:KIP|KAFKA)-\d+"
    r"|Kafka's documentation|librdkafka|confluent_kafka|Adya|\bJavadoc"
    r"|\b(?:docs|contract)/\w|\bdecisions? \d|CONTRIBUTING\.md"
    r"|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b|\b[A-Z]\w+\.\w+"
    r"|(?<![\w./])[a-z]+(?:\.[a-z]+)+\b|\backs=\w"
)
"""A KIP, an issue of Kafka, a page, a class or method, a configuration."""

OURS = re.compile(r"\bissues? \d|\btaxonom|\breview\b|\bdesign\b|\bcontract:", re.IGNORECASE)
"""Lists that a reader of this repository does not have, and a folder in place of its module."""

FILE = re.compile(r"(?<![\w/])(?:[\w-]+/)*[\w-]+\.(?:md|py)\b")
ELSEWHERE = {"CONFIGURATION.md"}
"""Files of librdkafka."""


def faults(source: str) -> list[str]:
    """Return what is wrong with the source of a question."""
    found = [f"names {match[0]!r}" for match in OURS.finditer(source)]
    found += [
        f"there is no {match[0]}"
        for match in FILE.finditer(source)
        if match[0] not in ELSEWHERE and not (ROOT / match[0]).is_file()
    ]
    found += [
        f"there is no decision {number}"
        for number in re.findall(r"\bdecisions? (\d+)", source)
        if not list((ROOT / "docs" / "decisions").glob(f"{int(number):04}-*.md"))
    ]
    if not DOCUMENT.search(source):
        found.append("names no document")
    return found


def test_every_question_names_a_document() -> None:
    wrong = {question.name: found for question in questions() if (found := faults(question.source))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("KIP-320; issue 7, section 2", "names 'issue 7'"),
        ("Taxonomy, Verdicts; KIP-320", "names 'Taxonom'"),
        ("KIP-101; the review of May", "names 'review'"),
        ("contract: unknown; KIP-98", "names 'contract:'"),
        ("contract/of_dreams.py: null where not known", "there is no contract/of_dreams.py"),
        ("outcomes.py: failed; KIP-98", "there is no outcomes.py"),
        ("decision 999: undecided", "there is no decision 999"),
        ("a high watermark belongs to one partition", "names no document"),
    ],
)
def test_other_sources_are_refused(source: str, fault: str) -> None:
    assert fault in faults(source)


@pytest.mark.parametrize(
    "source",
    [
        "KIP-320, API Changes",
        "retention.ms: it doesn't wait for groups",
        "acks=1: the leader acknowledges alone",
        "Partition.maybeExpandIsr: a replica that is caught up joins the ISR",
        "RecordTooLargeException: the record is refused",
        "docs/faults.md: evidence",
        "librdkafka, CONFIGURATION.md: enable.auto.commit",
    ],
)
def test_documents_are_sources(source: str) -> None:
    assert faults(source) == []
