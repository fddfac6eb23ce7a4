"""Prose reads as Kafka's documentation: words that do not belong, and what to write instead.

Docstrings, comments and string literals of all Python files outside tests are checked, and the
pages. docs/glossary.md has the words that do belong.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_tidy import ROOT, tracked_files

WORDS = {
    r"str(?:uck|ikes?|iking)": "inject, injected (a fault)",
    r"offices?": "leadership",
    r"mend(?:s|ed|ing)?": "fix",
    r"tell(?:s|ing)?|told|untold": "report, log, return, print; distinguish",
    r"answers": "returns, responds; results, responses",
    r"li(?:fe|ves)": "incarnation (of a member); run, exist",
    r"anew": "again",
    r"bites?|whether (?:it|they) bit": "take effect, land",
    r"torn": "incomplete",
    r"owe[sd]?": "expected; judged",
    r"forerunners?": "predecessor",
    r"polite(?:ly)?": "controlled (shutdown)",
    r"nobody|somebody|whoever|whomever": "the server, client or process that is meant",
    r"bec(?:a|o)mes? of": "the outcome of",
    r"so many": "the number of",
    r"bro(?:ke|ken) off": "interrupted",
    r"in silence|without a word": "without an error",
    r"in the eyes of|\S+'s? eyes": "according to",
    r"behind \S+(?:'s?|s') backs?|behind their backs?": "without",
    r"cuts? off|(?:log|tail|replica|record|branch|segment)s? (?:is|are|was|were|be|been) cut": (
        "truncated (a log); partitioned (a network)"
    ),
    r"(?-i:Judged|Counted|Compared|Evaluated|Listed) (?:is|are)": "subject first",
}
"""Regular expressions of whole words, and what to write instead."""

ALLOWED: set[tuple[str, str]] = set()
"""Places as (path, word in lower case)."""

NEVER = ("tests/", "CHANGELOG.md", "LICENSE")
"""Names of tests and the history of the project stay as they are."""

_SUFFIXES = {".py", ".md", ".yml", ".toml"}
_NAMES = {"Makefile", "run"}
_FIELD = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(
    r"""\A"[\w.#]+"\Z | `[^`\n]*` | '\w+' | (?<=\sas\s)\w+(?="\Z) | (?<=,\s)\w+(?=\)) """
    r"""| \b[\w.]+(?=\s(?:[!<>=]|is\s(?:not\s)?null) | \.\*) | ^[ ]+\w+(?=:\s)""",
    re.VERBOSE | re.MULTILINE,
)
"""Names in prose: a literal that is one, a code span, an argument, SQL's values and columns."""
_PATTERNS = [
    (re.compile(rf"(?<![\w-])(?:{words})(?![\w-])".replace(" ", r"\s+"), re.IGNORECASE), instead)
    for words, instead in WORDS.items()
]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the prose of a file without names, with its first line.

    Of Python: strings and comments.
    """
    content = path.read_text()
    if path.suffix != ".py":
        yield 1, _NAME.sub("{}", content)
        return
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        kind = tokenize.tok_name[token.type]
        if kind in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
            yield token.start[0], _NAME.sub("{}", _FIELD.sub("{}", token.string))


def found_in(path: Path) -> list[str]:
    """Return a line for each word of a file that does not belong."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return [
        f"{name}:{begin + text.count(chr(10), 0, match.start())}: {match[0]!r}: write {instead}"
        for begin, text in prose(path)
        for pattern, instead in _PATTERNS
        for match in pattern.finditer(text)
        if (name, match[0].lower()) not in ALLOWED
    ]


def is_checked(name: str) -> bool:
    if name.startswith(NEVER):
        return False
    return Path(name).suffix in _SUFFIXES or Path(name).name in _NAMES


def test_no_word_is_out_of_place() -> None:
    names = {path.relative_to(ROOT).as_posix(): path for path in tracked_files()}
    found = [line for name, path in names.items() if is_checked(name) for line in found_in(path)]
    assert not found, "\n" + "\n".join(found)


def test_every_allowance_is_used() -> None:
    for name, word in ALLOWED:
        assert re.search(rf"\b{re.escape(word)}\b", (ROOT / name).read_text(), re.IGNORECASE)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('"""A fault\nwas struck."""\n', 2),
        ("x = 1  # what it told\n", 1),
        ('raise ValueError(f"{told} answers nothing")\n', 1),
        ('"""The log is\ncut."""\n', 1),
        ('"""Judged are commits."""\n', 1),
    ],
)
def test_words_are_found_in_prose(tmp_path: Path, source: str, line: int) -> None:
    (tmp_path / "module.py").write_text(source)
    (found,) = found_in(tmp_path / "module.py")
    assert found.startswith(f"module.py:{line}: ")


@pytest.mark.parametrize(
    "source",
    [
        "told = office = 1\n",
        'x = rows["torn_lines"], rows["told"]\n',
        '"""The column `told`. Cut the controllers; answer."""\n',
        """x = where("told is null or owed = 'told'"), expr(f"if(lives > {n}, '', told)")\n""",
        'x = select("told.*"), expr("max(epoch) as told")\n',
    ],
)
def test_names_and_verbs_of_faults_are_left_alone(tmp_path: Path, source: str) -> None:
    (tmp_path / "module.py").write_text(source)
    assert not found_in(tmp_path / "module.py")
