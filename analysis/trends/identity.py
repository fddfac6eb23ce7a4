"""Which findings of different runs are the same one.

A cause names offsets, epochs, brokers and times of its run; its shape is what is left without them.
"""

import hashlib
import json
import re

from contract.nights import lasting_parameters

_KEPT = re.compile(r"(?:acks=-?\d+|error -?\d+)\b")
"""Numbers that are a part of the cause: what a producer waits for, and Kafka's error codes."""
_ID = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{22}(?![\w-])"
)
"""A UUID, or a topic's id, which Kafka writes as 22 characters of base64."""
_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?:#\d+(?:\.\d+)*)?")
"""Also a time, a version, or the member and incarnation behind a group's name: `readers-2#1`."""
_LIST = re.compile(r"#(?:(?:, | and )\S*?#)+")
_BRACKETS = re.compile(r"\[[#, ]*\]")
_PLURAL = re.compile(r"(# \w+?)s\b")
_LENGTH = 10


def shape(cause: str) -> str:
    """A cause without the numbers, offsets, epochs, partitions and ids of its run."""
    pieces = []
    end = 0
    for kept in _KEPT.finditer(cause):
        pieces += [_without_numbers(cause[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*pieces, _without_numbers(cause[end:])])


def _without_numbers(text: str) -> str:
    text = _NUMBER.sub("#", _ID.sub("#", text))
    text = _BRACKETS.sub("[#]", _LIST.sub("#", text))
    return _PLURAL.sub(r"\1", text)


def subject_of(parameters: str | None) -> str | None:
    """The parameters of a row of the store that say what was done; some rows have none.

    Rows of earlier releases have others, too.
    """
    if parameters is None:
        return None
    given = json.loads(parameters)
    lasting = lasting_parameters(given)
    return parameters if lasting == given else json.dumps(lasting, sort_keys=True)


def identity(
    check: str,
    kind: str,
    shape_of_cause: str,
    *,
    client: str | None,
    scenario: str,
    parameters: str,
    plan: str = "",
) -> str:
    """The name of a finding, the same in each run in which it occurs.

    Args:
        check: its name.
        kind: of the finding.
        shape_of_cause: `shape` of its cause.
        client: of its group; None for a finding about no group.
        scenario: in which it was found.
        parameters: of the scenario (`subject_of`).
        plan: the hash of the random plan that the run was given, such as a shrunk one; empty where
            it drew one, so that the same finding in plans of other seeds is the same one.
    """
    whole = [check, kind, shape_of_cause, client or "", scenario, parameters, plan]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:_LENGTH]
