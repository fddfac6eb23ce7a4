"""Members that join their groups again and again, in the logs of Java and of kafka-python.

The lines come from `AbstractMembershipManager.transitionTo` (KIP-848), and from
`AbstractCoordinator.sendJoinGroupRequest` of both clients.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from harness.decode.client_logs.lines import INT, log_lines, micros_of

_WORDS = ("to JOINING", "joining group")
_JOINING = re.compile(
    rf"^(?:\(Re-\)joining group|Member [A-Za-z0-9_-]{{1,36}} with epoch -?{INT} transitioned from "
    r"[A-Z_]{1,20} to JOINING)"
)
_APART_MICROS = 1_000_000
_TIMES = 10


def join_loops(lines: Iterable[str], *, worker: str) -> Iterator[dict[str, Any]]:
    """Yield rows of the table `join_loops`, from the lines of one worker's client log."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for line in log_lines(line for line in lines if any(words in line for words in _WORDS)):
        if not _JOINING.match(line.text):
            continue
        at, key = micros_of(line.time), (line.group, line.member)
        loop = last.get(key)
        if loop is None or at - loop["ended_micros"] > _APART_MICROS:
            if loop is not None and loop["times"] >= _TIMES:
                yield loop
            of_member = {"worker": worker, "group": line.group, "member": line.member}
            loop = last[key] = of_member | {"times": 0, "began_micros": at}
        loop |= {"times": loop["times"] + 1, "ended_micros": at}
        last[key] = loop
    yield from (loop for loop in last.values() if loop["times"] >= _TIMES)
