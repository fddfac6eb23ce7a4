"""Files that people write, in YAML or JSON: one reader, with limits, whose errors have the line."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml
from msgspec import inspect

from contract.errors import UsageError
from contract.files import open_regular

_T = TypeVar("_T")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")

_BLANK = "matching regex"
"""What msgspec says of a text that has no character but spaces."""
_NO_VALUE = "Invalid enum value"
"""What msgspec says of a text that is none of an enumeration."""
_BYTES_MAX = 1 << 20
_DEPTH_MAX = 30
_ENTRIES_MAX = 20_000
_DIGITS_MAX = 18
"""All such integers have 64 bits."""
_INTEGER = re.compile(r"[-+]?[0-9_]+")
_OPENING = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSING = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads a date as the text that it is."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _RefusedError(Exception):
    """What is wrong with a text, and the number of its line, from 1."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


class Written:
    """The content of a file that a user wrote, with the lines of its parts.

    It is a regular file of at most 1 MiB, 20,000 entries, 30 levels and integers of 18 digits,
    without keys that are there twice, and without YAML's tags, anchors and aliases.

    Attributes:
        path: of the file.
        content: its bytes.
    """

    def __init__(self, path: Path, *, what: str = "", is_json: bool = False) -> None:
        """Read a file.

        Args:
            path: of the file.
            what: names it before its path in an error, such as the option that names it.
            is_json: the file is JSON, else YAML.

        Raises:
            UsageError: it can't be read, or is not within these limits; names file and line.
        """
        self.path = path
        try:
            with open_regular(path) as file:
                self.content = file.read(_BYTES_MAX + 1)
        except OSError as error:
            raise UsageError(
                f"{what} {path} can't be read: {error.strerror or error}".lstrip()
            ) from error
        self._root, self._value = _parse(self.content, str(path), is_json=is_json)

    def convert(
        self, kind: type[_T], *, empty: _T | None = None, hints: Mapping[str, str] | None = None
    ) -> _T:
        """Return the content as a type of msgspec.

        Args:
            kind: the type.
            empty: of an empty file, if that is valid.
            hints: what to write, by the name of the field; of "" for the whole.

        Raises:
            UsageError: it is none; names the file, the line, and what is wrong.
        """
        if self._value is None and empty is not None:
            return empty
        try:
            return msgspec.convert(self._value, kind)
        except msgspec.ValidationError as error:
            said, _, place = str(error).partition(" - at `$")
            steps = [name or number for name, number in _STEP.findall(place)]
            where = f"`{place.rstrip('`').lstrip('.')}`: " if steps else ""
            problem = "it is empty" if _BLANK in said else said.replace("Object ", "it ")
            if _NO_VALUE in said and (values := _values(kind, steps)):
                problem += f": valid are {', '.join(values)}"
            if found := [hint for name, hint in (hints or {}).items() if name in (steps or [""])]:
                problem += f"; {found[0]}"
            raise UsageError(f"{self.path}:{self.line(*steps)}: {where}{problem}") from error

    def line(self, *steps: str) -> int:
        """Return the line of a part: keys of mappings and numbers of a list, as far as they are."""
        node = self._root
        line = 1
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                found = [(key, value) for key, value in node.value if key.value == step]
                if not found:
                    break
                key, node = found[0]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and step.isdecimal():
                node = node.value[int(step)]
                line = node.start_mark.line + 1
            else:
                break
        return line

    def refuse(self, problem: str, *steps: str) -> UsageError:
        """Return the error of a part, with its file and line."""
        return UsageError(f"{self.path}:{self.line(*steps)}: {problem}")


def read_json(text: str, *, what: str) -> Any:
    """Return the value of a JSON text of a command line, within the limits of a file.

    Raises:
        UsageError: it is none; begins with `what`.
    """
    return _parse(text.encode(errors="surrogateescape"), what, is_json=True)[1]


def _parse(content: bytes, where: str, *, is_json: bool) -> tuple[yaml.Node | None, Any]:
    """Return the nodes of a text, which have their lines, and its value."""
    kind = "JSON" if is_json else "YAML"
    try:
        text = _text(content)
        if is_json:
            json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
            # JSON is YAML but for its tabs, which stand in no text of it.
            text = text.replace("\t", " ")
        _require_limits(text)
        loader = _Loader(text)
        root = loader.get_single_node()
        _require_single_keys(root)
        if is_json:
            return root, json.loads(text)
        return root, None if root is None else loader.construct_document(root)
    except _RefusedError as error:
        raise UsageError(f"{where}:{error.line}: {error}") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}:{error.lineno}: it is not JSON: {error.msg}") from error
    except RecursionError:
        raise UsageError(f"{where}:1: it has more than {_DEPTH_MAX} levels") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        said = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{where}:{line}: it is not {kind}: {said}") from error


def _text(content: bytes) -> str:
    if len(content) > _BYTES_MAX:
        raise _RefusedError(f"it has more than {_BYTES_MAX} bytes", 1)
    return content.decode()


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _require_limits(text: str) -> None:
    """Check what would make a small text large or deep, before anything is built of it."""
    depth = entries = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1
        depth += isinstance(event, _OPENING) - isinstance(event, _CLOSING)
        entries += isinstance(event, yaml.NodeEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _RefusedError("it has an anchor or an alias (& or *): write the part again", line)
        if getattr(event, "tag", None) is not None:
            raise _RefusedError(f"it has the tag {event.tag}: leave it out", line)
        if depth > _DEPTH_MAX:
            raise _RefusedError(f"it has more than {_DEPTH_MAX} levels", line)
        if entries > _ENTRIES_MAX:
            raise _RefusedError(f"it has more than {_ENTRIES_MAX} entries", line)
        if isinstance(event, yaml.ScalarEvent) and event.style is None:
            _require_short(event.value, line)


def _require_short(value: str, line: int) -> None:
    if len(value) > _DIGITS_MAX and _INTEGER.fullmatch(value):
        raise _RefusedError(f"it has an integer of more than {_DIGITS_MAX} digits", line)


def _require_single_keys(node: yaml.Node | None) -> None:
    """Check that no mapping has a key twice: readers differ in which one they take."""
    if isinstance(node, yaml.MappingNode):
        seen = set[str]()
        for key, value in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise _RefusedError(f"the key {key.value} is there twice", line)
            seen.add(key.value)
            _require_single_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _require_single_keys(value)


def _values(kind: type, steps: Iterable[str]) -> list[str]:
    """Return the values of the enumeration that is at a place of a type; none if it is none."""
    at = inspect.type_info(kind)
    for step in steps:
        match at:
            case inspect.StructType(fields=fields):
                (at,) = (field.type for field in fields if field.encode_name == step)
            case inspect.ListType(item_type=of) | inspect.DictType(value_type=of):
                at = of
            case _:
                return []
    match at:
        case inspect.LiteralType(values=values):
            return [str(value) for value in values]
        case inspect.EnumType(cls=cls):
            return [str(member.value) for member in cls]
    return []
