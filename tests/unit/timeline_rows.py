"""Rows of a small run for the tests of its timeline, and the lanes that are made of them."""

import re
from pathlib import Path
from typing import Any

import msgspec
from pages_of import phase, result, run_folder, sent, verdict_of, with_tables

from analysis.report.run_facts import RunFacts
from analysis.report.timeline import timeline
from contract.run_folder import RunFolder
from contract.tables import TABLES as CONTRACT
from contract.verdicts import Finding, Verdict

SECOND = 1_000_000
Row = dict[str, Any]
HERE: Row = {"topic": "t", "partition": 0}


def lead(leader: int, epoch: int, at: int, isr: list[int], elr: list[int] | None = None) -> Row:
    return {
        **HERE,
        "leader": leader,
        "leader_epoch": epoch,
        "replicas": [1, 2],
        "isr": isr,
        "elr": elr or [],
        "metadata_offset": at,
        "at_micros": at * SECOND,
    }


def fault(*seconds: int | None, name: str = "kill") -> Row:
    times = ("injected", "proved", "heal_began", "healed")
    micros = [None if one is None else one * SECOND for one in seconds]
    named = dict(zip((f"{one}_micros" for one in times), micros, strict=True))
    target = {"target_kind": "leader", "topic": "orders", "partition": 0, "brokers": [1]}
    target["transactional_ids"] = []
    return {"fault": name, **target, "landed": True, "evidence": "{}", **named}


def poll(first: int, last: int, at: int, group: str = "java.g", **fields: Any) -> Row:
    span = {"first_offset": first, "last_offset": last, "polled_micros": at * SECOND}
    return {**HERE, "group": group, "member": f"{group}#1", "seq": at, **span, **fields}


def stored(offset: int, epoch: int, at: int, group: str = "java.g") -> Row:
    place = {"offsets_offset": at, "committed_micros": at * SECOND, "is_tombstone": False}
    return {**HERE, "group": group, "offset": offset, "committed_epoch": epoch, **place}


def event(change: str, at: int, **fields: Any) -> Row:
    row = {"group": "java.g", "member": "java.g#1", "change": change, "topic": "", "partition": -1}
    return {**row, "generation": 1, "seq": at, "at_micros": at * SECOND, **fields}


def sample(end: int, at: int, broker: int = 1, start: int = 0) -> Row:
    offsets = {"log_start_offset": start, "log_end_offset": end, "at_micros": at * SECOND}
    return {**HERE, "broker": broker, "leader": broker, "leader_epoch": 0, "isr": [1], **offsets}


TABLES: dict[str, list[Row]] = {
    "phases": [phase("writes", SECOND, 30 * SECOND)],
    "faults": [fault(10, 12, 18, 20)],
    "leaderships": [lead(1, 0, 1, [1, 2]), lead(2, 1, 11, [2], [1])],
    "sends": [sent(0, 9), sent(10, 19, answered_micros=13 * SECOND)],
    "polls": [poll(0, 9, 3), poll(10, 19, 14)],
    "committed_offsets": [stored(10, 0, 4), stored(20, 1, 15)],
    "group_events": [
        event("opened", 2),
        event("assigned", 3, **HERE),
        event("revoked", 16, **HERE),
        event("closed", 17),
    ],
    "samples": [sample(10, 5), sample(20, 14, broker=2)],
}


def made(path: Path, **changed: list[Row]) -> RunFolder:
    others: dict[str, list[Row]] = {name: [] for name in CONTRACT}
    return with_tables(run_folder(path), **others | TABLES | changed)


def verdict(*findings: Finding) -> Verdict:
    checks = {one.check: result(one) for one in findings}
    return verdict_of(checks)


def lanes(folder: RunFolder, *findings: Finding) -> dict[str, Row]:
    return {lane["title"]: lane for lane in data(folder, *findings)["lanes"]}


def data(folder: RunFolder, *findings: Finding) -> Any:
    html = timeline(RunFacts(folder), verdict(*findings))
    found = re.search(r'class="fp-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return msgspec.json.decode(found[1])


def mark(lane: Row, **wanted: Any) -> Row:
    (only,) = [one for one in lane["marks"] if wanted.items() <= one.items()]
    return dict(only)


def key_of(lane: Row, text: str) -> str:
    (color,) = [color for name, color in lane["keys"] if name == text]
    return str(color)


def spans(one: Row) -> list[tuple[float, float]]:
    return list(zip(one["x"], one["end"], strict=True))
