"""All faults, and which of them a text names: found among the classes of this folder."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from contract.errors import UsageError, lacking
from contract.terms import TargetKind
from harness import faults
from harness.faults.fault import ByHand, Fault
from harness.faults.targets import TARGET_FORMS, parse_target


class Form(NamedTuple):
    """A class of faults, and one of the ways in which a text names it."""

    fault: type[Fault]
    by_hand: ByHand


def _every(base: type[Fault] = Fault) -> Iterator[type[Fault]]:
    for subclass in base.__subclasses__():
        if subclass.__module__.startswith(f"{faults.__name__}."):
            yield subclass
            yield from _every(subclass)


for _module in pkgutil.iter_modules(faults.__path__):
    importlib.import_module(f"{faults.__name__}.{_module.name}")
FAULTS = tuple(sorted(_every(), key=lambda fault: (fault.__module__, fault.__name__)))
"""The classes of faults, and what they inherit from each other."""
_FORMS = [Form(fault, by_hand) for fault in FAULTS for by_hand in vars(fault).get("by_hand", ())]
_FORMS.sort(key=lambda form: (form.by_hand.verb, form.fault.on is None))
FORMS = {verb: list(of) for verb, of in groupby(_FORMS, key=lambda form: form.by_hand.verb)}
"""By verb; what is on servers comes last."""
VERBS = tuple(FORMS)


def drawn_forms() -> list[Form]:
    """Return those of random plans, in the order in which seeds draw."""
    drawn = [(form.by_hand.place, form) for form in _FORMS if form.by_hand.place is not None]
    return [form for _, form in sorted(drawn, key=lambda pair: pair[0])]


def _of_kind(kind: TargetKind) -> str:
    """The verbs on targets of a kind, and what such a target is called."""
    verbs = [form.by_hand.verb for form in _FORMS if form.fault.on is kind]
    name = {TargetKind.CLIENT: "WORKER", TargetKind.PARTITION: "TOPIC-PARTITION"}.get(kind, "NAME")
    return f"of {' and '.join(verbs)} {kind}:{name}"


_KINDS = sorted({form.fault.on for form in _FORMS if form.fault.on is not None})
TARGETS = "; ".join([TARGET_FORMS, *map(_of_kind, _KINDS)])
"""What a text may name."""


def is_instant(verb: str) -> bool:
    """Whether the faults of a verb are over when they are proved."""
    return any(form.fault.is_instant for form in FORMS.get(verb, ()))


def parse_fault(verb: str, target: str) -> Fault:
    """Return the fault of a verb and a target, e.g. `pause` and `leader:orders-0`.

    Raises:
        UsageError: there is no such verb or target; names the nearest verb, or all.
    """
    if verb not in FORMS:
        raise UsageError(lacking("verb", verb, VERBS))
    for fault, how in FORMS[verb]:
        make: Callable[..., Fault] = fault
        if (named := _arguments_of(fault.on, target)) is not None:
            return make(*named, **how.arguments)
    raise UsageError(f"{target!r} names no target of {verb}: {TARGETS}")


def _arguments_of(kind: TargetKind | None, target: str) -> tuple[Any, ...] | None:
    """What a fault on targets of a kind is made of; None if a text names none."""
    if kind is None:
        return (parse_target(target),)
    given, _, name = target.partition(":")
    topic, _, partition = name.rpartition("-")
    if given != kind or not name:
        return None
    if kind is TargetKind.PARTITION:
        return (topic, int(partition)) if topic and partition.isdigit() else None
    return ([name],) if kind is TargetKind.TRANSACTIONAL_ID else (name,)
