"""A line of a history: a verb, and what it is given.

    led 2 1 at=23 isr=2 starts=100

calls the verb `led` as Python would: `led(2, 1, at=23, isr=[2], starts=100)`. The verbs are the
methods of `History` and the functions of the modules in `_MODULES`; their signatures say what a
line may give, and how it is read:

- a number, `true`, `false`, `null`, or text, which has quotes where it has spaces;
- several values as `1,2` and none as `()`; by keys as `0:40,50:100`;
- a target of a fault by its kind: `broker:1`, `partition:t:0`, `group:g` (`History.on_...`);
- a batch in parentheses: `(0 4 pid=1)`;
- `@2` and `@name`, which are the history's own number and name, where a verb does not make them so.

Columns of a table are in the terms of a history: seconds, names and brokers without what makes them
its own, and a value as its producer and sequence number, `p,7`.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import msgspec

from contract.terms import FaultTarget
from tests.exam.history import History
from tests.exam.transaction_verbs import Batch

_MODULES = (
    "verbs",
    "scenes",
    "commit_verbs",
    "coordinator_verbs",
    "transaction_verbs",
    "quorum_verbs",
)
_WORD = re.compile(r"""(?:[^\s"'()]|"[^"]*"|'[^']*'|\([^()]*\))+""")
_NAMED = re.compile(r"(\w+)=(.*)", re.DOTALL)
_ITEM = re.compile(r"""(?:[^,"']|"[^"]*"|'[^']*')+""")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_CONSTANTS = {"null": None, "true": True, "false": False}
_TEXTS = ("control", "producer")
"""Of a batch."""
_SEVERAL = {tuple, list, Sequence, Iterable}
_BY_KEYS = {dict, Mapping}


@cache
def verbs() -> dict[str, Callable[..., Any]]:
    """All verbs, by their names."""
    found = {
        name: method
        for name, method in inspect.getmembers(History, inspect.isfunction)
        if not name.startswith(("_", "on_"))
    }
    for module in map(importlib.import_module, (f"tests.exam.{name}" for name in _MODULES)):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if (
                function.__module__ == module.__name__
                and "h" in inspect.signature(function).parameters
            ):
                if name in found:
                    raise ValueError(f"two verbs are called {name}")
                found[name] = function
    return found


@cache
def _signature(verb: str) -> inspect.Signature:
    return inspect.signature(verbs()[verb], eval_str=True)


def words(line: str) -> list[str]:
    """What a line consists of: the verb, and what it is given; a comment is left out."""
    found: list[str] = _WORD.findall(line)
    if "".join(found) != "".join(line.split()) and _WORD.sub("", line).strip():
        raise ValueError("a quote or a parenthesis is not closed")
    return list(takewhile(lambda word: not word.startswith("#"), found))


def values_by_place(found: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Values by their places, and by their names."""
    placed: list[str] = []
    named: dict[str, str] = {}
    for word in found:
        if match := _NAMED.fullmatch(word):
            named[match[1]] = match[2]
        else:
            placed.append(word)
    return placed, named


def carry_out(h: History, verb: str, found: Iterable[str]) -> None:
    """Call a verb."""
    if verb not in verbs():
        near = get_close_matches(verb, verbs(), n=1)
        raise ValueError(f"no verb {verb!r}" + (f"; perhaps {near[0]!r}" if near else ""))
    placed, named = values_by_place(found)
    bound = _signature(verb).bind(h, *placed, **named)
    parameters = list(bound.signature.parameters.values())
    for parameter in parameters[1:]:
        if parameter.name in bound.arguments:
            raw = bound.arguments[parameter.name]
            if parameter.kind is parameter.VAR_KEYWORD:
                value: Any = {name: _column(h, name, text) for name, text in raw.items()}
            elif parameter.kind is parameter.VAR_POSITIONAL:
                value = tuple(_value(h, text, parameter.annotation) for text in raw)
            else:
                value = _value(h, raw, parameter.annotation)
            bound.arguments[parameter.name] = value
    verbs()[verb](*bound.args, **bound.kwargs)


def _value(h: History, raw: str, annotation: Any) -> Any:
    """A text as a value of what a verb's signature asks for."""
    parts = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    kinds = {get_origin(part) or part for part in parts}
    value: Any
    if raw == "null" and NoneType in kinds:
        value = None
    elif FaultTarget in kinds:
        kind, *names = raw.split(":")
        value = getattr(h, f"on_{kind}")(*(_scalar(h, name) for name in names if name))
    elif Batch in kinds:
        placed, named = values_by_place(words(raw.removeprefix("(").removesuffix(")")))
        own = {name: text if name in _TEXTS else _scalar(h, text) for name, text in named.items()}
        value = Batch(*(_scalar(h, text) for text in placed), **own)
    elif str in kinds:
        value = _scalar(h, raw) if raw.startswith("@") else _unquote(raw)
    elif kinds & _BY_KEYS:
        pairs = (item.rsplit(":", 1) for item in _items(raw))
        value = {_scalar(h, key): _scalar(h, text) for key, text in pairs}
    elif kinds & _SEVERAL:
        value = tuple(_scalar(h, item) for item in _items(raw))
    else:
        value = _scalar(h, raw)
        if kinds <= {int, float, bool, NoneType}:
            msgspec.convert(value, annotation)
    return value


def _items(raw: str) -> list[str]:
    return [] if raw == "()" else _ITEM.findall(raw)


def _scalar(h: History, raw: str) -> Any:
    """A text as what it looks like."""
    if raw in _CONSTANTS:
        return _CONSTANTS[raw]
    if _NUMBER.fullmatch(raw):
        return float(raw) if "." in raw else int(raw)
    if raw.startswith("@"):
        own = raw[1:]
        return h.place.number(int(own)) if _NUMBER.fullmatch(own) else h.own(own)
    if raw == "()" or raw.endswith(",") or len(_items(raw)) > 1:
        return [_scalar(h, item) for item in _items(raw)]
    return _unquote(raw)


def _unquote(raw: str) -> str:
    return raw[1:-1] if raw[:1] in ("'", '"') and raw[-1:] == raw[:1] else raw


def _column(h: History, name: str, raw: str) -> Any:
    """A text as it stands in a column."""
    if name == "producer_id" and raw.startswith("@"):
        return h.place.producer_id(int(raw[1:]))
    if raw[:1] in ("'", '"', "@"):
        return _scalar(h, raw)
    return h.as_stored(name, raw.split(",") if name == "value" and "," in raw else _scalar(h, raw))
