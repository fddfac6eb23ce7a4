"""YAML files that users write: the error of a wrong one has its line."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml
from msgspec import inspect

from contract.errors import UsageError
from contract.files import read_file

_T = TypeVar("_T")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")

_BLANK = "matching regex"
"""What msgspec says of a text that has no character but spaces."""
_NO_VALUE = "Invalid enum value"
"""What msgspec says of a text that is none of an enumeration."""


class Located:
    """The content of a YAML file, with the lines of its parts.

    Attributes:
        path: of the file.
    """

    def __init__(self, path: Path, *, option: str) -> None:
        """Read a file that an option of a command names.

        Raises:
            UsageError: it can't be read, or is not YAML; names the file and the line.
        """
        self.path = path
        try:
            text = read_file(path).decode()
            self._root = yaml.compose(text, Loader=yaml.SafeLoader)
            self._content = yaml.safe_load(text)
        except OSError as error:
            raise UsageError(f"{option} {path} can't be read: {error.strerror or error}") from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = 1 if mark is None else mark.line + 1
            said = getattr(error, "problem", None) or str(error)
            raise UsageError(f"{path}:{line}: it is not YAML: {said}") from error

    def convert(self, kind: type[_T], *, empty: _T | None = None) -> _T:
        """Return the content as a type of msgspec; that of an empty file is `empty`, if given.

        Raises:
            UsageError: it is none; names the file, the line, and what is wrong.
        """
        if self._content is None and empty is not None:
            return empty
        try:
            return msgspec.convert(self._content, kind)
        except msgspec.ValidationError as error:
            said, _, place = str(error).partition(" - at `$")
            steps = [name or number for name, number in _STEP.findall(place)]
            where = f"`{place.rstrip('`').lstrip('.')}`: " if steps else ""
            problem = "it is empty" if _BLANK in said else said.replace("Object ", "it ")
            if _NO_VALUE in said and (values := _values(kind, steps)):
                problem += f": valid are {', '.join(values)}"
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
