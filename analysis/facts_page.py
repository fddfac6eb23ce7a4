"""The facts in docs/facts.md, from their declarations (`make facts-page`)."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

from analysis.facts.library import Fact, facts
from contract.made_pages import MadePage

_MADE = MadePage("facts.md", "make facts-page")
PAGE = _MADE.path
_WIDTH = 100
_SUBJECTS = Path(__file__).resolve().parent / "facts" / "subjects.yml"
"""What the facts of each subject are about, as Markdown."""
_HEAD = "| column | type | |\n|---|---|---|"


def declared() -> list[Fact]:
    """Every fact; those of one subject stand together."""
    return sorted(facts().values(), key=lambda one: (one.subject, one.name))


def with_tables(page: str) -> str:
    """Return the page with its facts made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(page, "\n\n".join(_sections()))


def _sections() -> Iterator[str]:
    subject, about = "", msgspec.yaml.decode(_SUBJECTS.read_bytes(), type=dict[str, str])
    for one in declared():
        if one.subject != subject:
            subject = one.subject
            yield f"## {subject}\n\n{_filled(about[subject])}"
        yield "\n\n".join([f"### {one.name}", _filled(one.about), _table(one)])


def _filled(text: str) -> str:
    """Paragraphs as wide as the page; items of lists stay apart."""
    paragraphs = re.split(r"\n\n|\n(?=- )", text.strip())
    return "\n".join(
        ("" if one.startswith("- ") else "\n") + _wrapped(" ".join(one.split()))
        for one in paragraphs
    ).strip()


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _table(one: Fact) -> str:
    rows = (f"| {column.name} | {_type(column.type)} | {column.about} |" for column in one.columns)
    return "\n".join([_HEAD, *rows])


def _type(kind: pa.DataType) -> str:
    """Return a type in words, e.g. `list of (leader_epoch int32, start_offset int64)`."""
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return f"({', '.join(f'{field.name} {_type(field.type)}' for field in kind)})"
    return str(kind)


def main() -> None:
    """Write the facts."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
