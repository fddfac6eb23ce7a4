"""Structures in which only what a test is about is set."""

import dataclasses
import enum
import types
import typing
from typing import Any, TypeVar

import msgspec

from contract.files import SCHEMA

_T = TypeVar("_T")


def make_struct(kind: type[_T], **fields: Any) -> _T:
    """A structure or dataclass with these fields; each other one that has no default is empty."""
    hints = typing.get_type_hints(kind)
    missing = [name for name in _required_fields(kind) if name not in fields]
    empty = {name: SCHEMA if name == "schema" else _empty(hints[name]) for name in missing}
    return kind(**empty, **fields)


def _required_fields(kind: Any) -> list[str]:
    if issubclass(kind, msgspec.Struct):
        return [field.name for field in msgspec.structs.fields(kind) if field.required]
    absent = dataclasses.MISSING
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is absent and field.default_factory is absent
    ]


def _empty(hint: Any) -> Any:
    """None where it may be; the first word of an enum; else what has nothing in it."""
    kind = typing.get_origin(hint) or hint
    if kind in (typing.Union, types.UnionType):
        one_of = typing.get_args(hint)
        return None if type(None) in one_of else _empty(one_of[0])
    if kind is typing.Annotated:
        return _empty(typing.get_args(hint)[0])
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    if issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind):
        return make_struct(kind)
    concrete = {"Mapping": dict, "Sequence": list, "Path": str}
    return concrete.get(kind.__name__, kind)()
