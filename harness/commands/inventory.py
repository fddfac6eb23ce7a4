"""What `fencepost list` has besides scenarios: checks, verbs, faults and settings, a line each."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_type_hints

import msgspec

from cluster.kafka.settings import Of, setting_types
from contract.terms import Check
from harness.faults.language import FAULTS
from harness.story.run import Run

Row = tuple[str, str]
"""What is listed, and what it is in one line."""
_CHECKS = Path(__file__).resolve().parents[2] / "analysis" / "checks"
_WITHOUT_STATEMENT = {
    Check.RESUMPTION: "Where each group resumed, of each commit style and policy.",
    Check.VACUOUS_CHECK: "A check of `must_judge` that had nothing to judge.",
}


class _Header(msgspec.Struct):
    definition: str


def checks() -> Iterator[Row]:
    """What each check finds, as the header of its statement defines it."""
    for check in Check:
        file = _CHECKS / f"{check}.sql"
        if check in _WITHOUT_STATEMENT:
            yield check, _WITHOUT_STATEMENT[check]
            continue
        header = file.read_text().partition("/*")[2].partition("*/")[0]
        definition = msgspec.yaml.decode(header, type=_Header).definition
        yield check, " ".join(definition.split())


def verbs() -> Iterator[Row]:
    """What a story is written in: the methods of a run, and of what it has."""
    story = Run.__module__.rpartition(".")[0]
    parts = {"run": Run} | {
        f"run.{name}": kind
        for name, kind in get_type_hints(Run).items()
        if inspect.isclass(kind) and kind.__module__.startswith(f"{story}.")
    }
    for speaker, kind in parts.items():
        for name, found in vars(kind).items():
            if inspect.isfunction(found) and not name.startswith("_"):
                given = [*inspect.signature(found).parameters][1:]
                yield f"{speaker}.{name}({', '.join(given)})", _summary(found)


def faults() -> Iterator[Row]:
    """The faults by their classes; by hand it is a verb and its target."""
    for fault in FAULTS:
        if inspect.isabstract(fault):
            continue
        given = [*inspect.signature(fault).parameters]
        by_hand = [form.verb for form in vars(fault).get("by_hand", ())]
        hint = f" By hand: {', '.join(by_hand)}." if by_hand else ""
        yield f"{fault.__name__}({', '.join(given)})", f"{_summary(fault)}{hint}"


def settings() -> Iterator[Row]:
    """The settings of Kafka's classes, in any locked version, with their types and bounds."""
    for of in Of:
        for name, kind in sorted(setting_types(of).items()):
            yield f"{of} {name}", kind.lower()


def _summary(described: object) -> str:
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())


LISTS: dict[str, Callable[[], Iterator[Row]]] = {
    "checks": checks,
    "verbs": verbs,
    "faults": faults,
    "settings": settings,
}
