"""Statements in which each use of a macro is one word, so that macros are changed apart.

A macro of `analysis/macros` is one text, which several statements use. What is wrong in it is wrong
in all of them: so it is changed in all of them at once, not in each statement again. In a word's
place stands the macro with its arguments: `_use_with_permit_1`, and in the macro's own text
`_arg_offset` for an argument.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from analysis.statements.files import ROOT, environment
from lab.changes import Change, changes

_MACRO = re.compile(r"{% macro (\w+)\(")
_WORD = re.compile(r"(?<!AS )\b_(?:use|arg)_\w+")
_NUMBERED = re.compile(r"\b_use_(\w+?)_\d+\b")
_LEAVES_ROWS_OUT = re.compile(r"\(select (\w+)\.\*\s+from _arg_rows as \1\s")
"""A macro of the rows that it is given, as they are."""
_BODY = "body_of_"
_SELECT = "SELECT "


@dataclass(frozen=True)
class Use:
    """A use of a macro.

    Attributes:
        macro: its name.
        given: the arguments by their names; texts may have words for further uses.
    """

    macro: str
    given: tuple[tuple[str, Any], ...]

    def __hash__(self) -> int:
        """An argument may be a mapping, which has none."""
        return hash((self.macro, str(self.given)))

    @property
    def texts(self) -> dict[str, str]:
        """The arguments that are SQL."""
        return {name: text for name, text in self.given if isinstance(text, str) and text}

    @property
    def form(self) -> "Use":
        """The macro with a word in the place of each argument that is SQL."""
        form = self
        for name, text in self.texts.items():
            form = form.with_text(name, f"_arg_{name}{_comma(text)}")
        return form

    def with_text(self, name: str, text: str) -> "Use":
        """The same with another argument."""
        return replace(self, given=tuple((n, text if n == name else o) for n, o in self.given))


@dataclass(frozen=True)
class Template:
    """A text of SQL with a word for each use of a macro."""

    text: str
    uses: Mapping[str, Use] = field(default_factory=dict)


Bodies = Mapping[Use, Template]
"""Texts of macros other than their own, by their form."""


@cache
def template(text: str) -> Template:
    """A text with macros, of a check or of a case."""
    uses: dict[str, Use] = {}
    made = environment().from_string(text, globals=_recorders(uses)).render().strip()
    return Template(made, uses)


@cache
def body(form: Use) -> Template:
    """The text of a macro."""
    uses: dict[str, Use] = {}
    module = environment().from_string(_renamed_macros(), globals=_recorders(uses)).module
    return Template(str(getattr(module, _BODY + form.macro)(**dict(form.given))).strip(), uses)


def complete(whole: Template, bodies: Bodies | None = None) -> str:
    """The statement, in which macros are replaced by their texts, or by other ones."""
    return _complete(whole, bodies or {}, {})


def _complete(whole: Template, bodies: Bodies, given: Mapping[str, str]) -> str:
    def of_word(found: re.Match[str]) -> str:
        word = found[0]
        if word not in whole.uses:
            return given.get(word, word)
        use = whole.uses[word]
        inside = bodies.get(use.form) or body(use.form)
        return _complete(
            inside,
            bodies,
            {
                f"_arg_{name}": _complete(Template(text.rstrip(","), whole.uses), bodies, given)
                for name, text in use.texts.items()
            },
        )

    return _WORD.sub(of_word, whole.text)


def forms(whole: Template) -> Iterator[Use]:
    """Yield the forms of all macros that a text uses, also by way of others."""
    for use in whole.uses.values():
        yield use.form
        yield from forms(body(use.form))


def changes_of_template(whole: Template, *, only_steps: bool = False) -> Iterator[Change]:
    """Yield each change of a text, of an argument of a macro, and of rows that a macro leaves out.

    Args:
        whole: a statement.
        only_steps: as of `changes`; of the last SELECT only arguments of macros are changed.
    """
    for change in changes(whole.text, only_steps=only_steps):
        yield _without_numbers(replace(change, text=complete(replace(whole, text=change.text))))
    for word, use in whole.uses.items():
        for changed, change in _changes_of_arguments(use):
            yield _without_numbers(replace(change, text=complete(_with_use(whole, word, changed))))
        if _LEAVES_ROWS_OUT.match(body(use.form).text):
            rows = use.texts["rows"]
            text = whole.text.replace(word, rows)
            uses = {name: _without(other, word, rows) for name, other in whole.uses.items()}
            yield _without_numbers(Change("", word, rows, complete(Template(text, uses))))


def changes_of_macro(form: Use) -> Iterator[tuple[Change, Template]]:
    """Yield each change of a macro's text, with the changed one."""
    own = body(form)
    for change in changes(_SELECT + own.text):
        yield _without_numbers(change), replace(own, text=change.text.removeprefix(_SELECT))
    for word, use in own.uses.items():
        for changed, change in _changes_of_arguments(use):
            yield _without_numbers(change), _with_use(own, word, changed)


def _changes_of_arguments(use: Use) -> Iterator[tuple[Use, Change]]:
    for name, text in use.texts.items():
        for change in changes(_SELECT + text.rstrip(",")):
            changed = change.text.removeprefix(_SELECT) + _comma(text)
            words = (side.removeprefix(_SELECT) for side in (change.before, change.after))
            before, after = (f"{use.macro}({name}={word})" for word in words)
            yield use.with_text(name, changed), replace(change, before=before, after=after)


def _with_use(whole: Template, word: str, use: Use) -> Template:
    return replace(whole, uses={**whole.uses, word: use})


def _without(use: Use, word: str, text: str) -> Use:
    for name, given in use.texts.items():
        use = use.with_text(name, given.replace(word, text))
    return use


def _without_numbers(change: Change) -> Change:
    """A change whose words have no numbers of uses."""
    before, after = (_NUMBERED.sub(r"\1(…)", text) for text in (change.before, change.after))
    return replace(change, before=before, after=after)


def _comma(text: str) -> str:
    """The comma after columns that a macro may be given, or not."""
    return "," if text.endswith(",") else ""


def _recorders(uses: dict[str, Use]) -> dict[str, Callable[..., str]]:
    """Functions in the place of macros that give a word for each use."""

    def record(macro: str, *values: Any, **named: Any) -> str:
        names = getattr(_macros(), macro).arguments
        given = dict(zip(names, values, strict=False)) | named
        use = Use(macro, tuple((name, given[name]) for name in names if name in given))
        for word, known in uses.items():
            if known == use:
                return word
        word = f"_use_{macro}_{len(uses) + 1}"
        uses[word] = use
        return word

    return {macro: partial(record, macro) for macro in _MACRO.findall(_text())}


@cache
def _text() -> str:
    files = sorted((ROOT / "macros").glob("*.sql"))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@cache
def _macros() -> Any:
    return environment().from_string(_text()).module


@cache
def _renamed_macros() -> str:
    """The macros under other names, so that they use what is in the place of the others."""
    return _MACRO.sub(rf"{{% macro {_BODY}\1(", _text())
