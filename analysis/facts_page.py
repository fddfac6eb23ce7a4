"""The facts in docs/facts.md, from their declarations (`make facts-page`)."""

import textwrap
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import pyarrow as pa

from analysis import facts
from analysis.facts.declared import FACTS, Fact
from analysis.statements.facts import fact_named
from analysis.statements.source import sources
from contract.made_pages import MadePage

_MADE = MadePage("facts.md", "make facts-page")
PAGE = _MADE.path
_WIDTH = 100
_SUBJECTS = {
    "wire": "What a broker knew when it answered a request: its leader epoch, its epoch cache, its"
    " log end.",
    "commit_calls": "What the cluster had when it answered a request about committed offsets.",
    "quorum_calls": "What a controller knew when it answered a request about the metadata log.",
}
"""What the facts of a subject are about, unless a module of that name says it."""
_HEAD = "| column | type | |\n|---|---|---|"


def declared() -> dict[str, Fact]:
    """Every fact, by its key; those of one subject stand together."""
    for module in iter_modules(facts.__path__, f"{facts.__name__}."):
        import_module(module.name)
    for name in sources("facts"):
        fact_named(name)
    return dict(sorted(FACTS.items(), key=lambda item: item[1].subject))


def with_tables(page: str) -> str:
    """Return the page with its facts made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(page, "\n\n".join(_sections()))


def _sections() -> Iterator[str]:
    subject = ""
    for one in declared().values():
        if one.name.startswith("_"):
            continue
        if one.subject != subject:
            subject = one.subject
            yield f"## {subject}\n\n{_filled(_about(subject))}"
        yield "\n\n".join([f"### {one.name}", _filled(one.about), _table(one)])


def _about(subject: str) -> str:
    if subject in _SUBJECTS:
        return _SUBJECTS[subject]
    return import_module(f"{facts.__name__}.{subject}").__doc__ or ""


def _filled(text: str) -> str:
    paragraphs = (" ".join(one.split()) for one in text.strip().split("\n\n"))
    return "\n\n".join(
        textwrap.fill(one, _WIDTH, break_long_words=False, break_on_hyphens=False)
        for one in paragraphs
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
