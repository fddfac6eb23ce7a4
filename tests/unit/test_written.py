"""Files that people write are read within limits, and a mistake is named with its line."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from contract.errors import UsageError
from contract.written import Written, read_json


def refusal_of(file: Path, text: str, *, is_json: bool) -> str:
    """What a file of this text is refused with."""
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        Written(file, is_json=is_json)
    return str(refused.value)


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30))


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("runs: [1]\nruns: [2]", ":2: the key runs is there twice"),
        ("- a:\n  - {b: 1,\n     b: 2}", ":3: the key b is there twice"),
        (BOMB, ":1: it has an anchor"),
        ("a: !!int x", ":1: it has the tag tag:yaml.org,2002:int"),
        ("a: !!python/object/apply:os.getcwd []", ":1: it has the tag"),
        ("\n" + "[" * 100_000, ":2: it has more than 30 levels"),
        ("a:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1, 40)), ":31: it has more"),
        ("a: 1\nb: " + "9" * 5000, ":2: it has an integer of more than 18 digits"),
        ("- x\n" * 100_000, ": it has more than 20000 entries"),
        ("x" * (1 << 21), ":1: it has more than 1048576 bytes"),
        ("a: [", ":1: it is not YAML"),
        ("a: \x00", ": it is not YAML"),
    ],
)
def test_a_file_beyond_the_limits_is_refused(tmp_path: Path, text: str, reported: str) -> None:
    assert reported in refusal_of(tmp_path / "suite.yml", text, is_json=False)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('{"a": 1,\n "a": 2}', ":2: the key a is there twice"),
        ("[" * 100_000, "it has more than 30 levels"),
        ('{"a": ' + "9" * 5000 + "}", ":1: it has an integer of more than 18 digits"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ("{a: 1}", ":1: it is not JSON"),
    ],
)
def test_so_is_json(tmp_path: Path, text: str, reported: str) -> None:
    assert reported in refusal_of(tmp_path / "plan.json", text, is_json=True)
    with pytest.raises(UsageError, match=r"^--parameters"):
        read_json(text, what="--parameters")


def test_json_is_read_as_json(tmp_path: Path) -> None:
    """YAML reads some of it otherwise."""
    content: dict[str, Any] = {"a": "1:30", "b": [1e3, None, "\U0001f642/\t"], "c": "2026-11-29"}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(content, indent="\t"))
    assert Written(file, is_json=True).convert(dict) == content


@pytest.mark.parametrize("kind", ["device", "folder", "pipe", "none"])
def test_what_is_no_file_is_not_read(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "suite.yml"
    match kind:
        case "device":
            file.symlink_to("/dev/zero")
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
    with pytest.raises(UsageError, match=r"--known .* can't be read"):
        Written(file, what="--known")
