"""Files of histories, by subject: what each asks, what decides it, what checks find, and events.

Events are lines (`tests.exam.lines`). What several histories of a file share is a scene, which a
line names like a verb. `$name` in an event stands for what the scene or case gives, `$name+1` for
more; `if name:` and `if not name:` before a line ask whether it gives something that is not null,
false or 0.

A history with `cases` is one for each of them. A variant is another history, with more events.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.exam.history import History, Question
from tests.exam.lines import carry_out, values_by_place, words

FOLDER = Path(__file__).with_name("histories")
_IF = re.compile(r"if (not )?(\w+): +(.*)", re.DOTALL)
_FOR = re.compile(r"for (\w+) in (\S+): +(.*)", re.DOTALL)
_GIVEN = re.compile(r"\$(\w+)([+-]\d+(?:\.\d+)?)?")
_CONTINUED = re.compile(r"\n +")
_NOTHING = ("null", "false", "0")


class WrongLineError(Exception):
    """A line of a file is none of a history."""


class Scene(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Events that several histories have.

    Attributes:
        scene: the name that a line begins with.
        about: what happens, if the name does not say it.
        given: what a line may give, with what holds if it does not.
    """

    scene: str
    events: str
    about: str = ""
    given: dict[str, Any] = {}


class Case(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One of several histories with the same events: the end of its question, and what it gives."""

    asks: str
    finds: str | dict[str, str]
    given: dict[str, Any] = {}


class Written(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One history, or several with `cases`; see `Question`.

    Attributes:
        note: why a check finds this, if the source does not say it.
        check: whose finding the cases expect, if they name none.
        given: what a case may give, with what holds if it does not.
    """

    history: str
    asks: str
    source: str
    events: str
    finds: dict[str, str] = {}
    alone: bool = False
    note: str = ""
    check: str = ""
    given: dict[str, Any] = {}
    cases: list[Case] = []


class Variant(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A history with further events, which most often set a value of one row.

    Attributes:
        of: the history.
        why: what differs, and what decides it, if the source of the history does not say so.
    """

    of: str
    why: str
    events: str
    finds: dict[str, str]


class Subject(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file."""

    scenes: list[Scene] = []
    histories: list[Written] = []
    variants: list[Variant] = []


@dataclass(frozen=True)
class Story:
    """Events, with the scenes of their file and what is given."""

    events: str
    scenes: Mapping[str, Scene]
    given: Mapping[str, str]

    def __call__(self, h: History) -> None:
        """Carry them out."""
        for line in _CONTINUED.sub(" ", self.events).splitlines():
            try:
                self._carry_out(h, line, self.given)
            except WrongLineError:
                raise
            except Exception as error:
                raise WrongLineError(f"{line}: {error}") from error

    def _carry_out(self, h: History, line: str, own: Mapping[str, str]) -> None:
        if condition := _IF.fullmatch(line):
            unless, name, then = condition.groups()
            if (own[name] in _NOTHING) == bool(unless):
                self._carry_out(h, then, own)
        elif loop := _FOR.fullmatch(line):
            name, values, each = loop.groups()
            for value in _each(values):
                self._carry_out(h, each, {**own, name: value})
        elif found := words(line):
            verb, *found = words(_GIVEN.sub(partial(_text, own), line))
            if scene := self.scenes.get(verb):
                Story(scene.events, self.scenes, _values_of(scene.given, *values_by_place(found)))(
                    h
                )
            else:
                carry_out(h, verb, found)


@dataclass(frozen=True)
class Named:
    """The events of a history, by its name."""

    file: str
    name: str
    stories: tuple[Story, ...]

    def __call__(self, h: History) -> None:
        """Carry them out; what the first of several is to find, the variant is not."""
        for story in self.stories:
            h.verdicts.clear()
            try:
                story(h)
            except WrongLineError as error:
                raise WrongLineError(f"{self.file}, {self.name}: {error}") from error


def _text(given_: Mapping[str, str], match: re.Match[str]) -> str:
    """What `$name` or `$name+1` stands for."""
    name, more = match.groups()
    text = given_[name]
    if more is None:
        return text
    is_whole = "." not in text + more
    return str(int(text) + int(more)) if is_whole else str(round(float(text) + float(more), 6))


def _each(values: str) -> list[str]:
    """The values of a loop: `1,2`, or all of `8..60`."""
    first, dots, last = values.partition("..")
    return list(map(str, range(int(first), int(last) + 1))) if dots else values.split(",")


def _values_of(
    usual: Mapping[str, Any], placed: list[str], named: Mapping[str, str]
) -> dict[str, str]:
    """What a line or case gives to events, beside what holds if it does not."""
    if unknown := [*placed[len(usual) :], *(named.keys() - usual.keys())]:
        raise WrongLineError(f"there is no {', '.join(unknown)} to be given")
    return {
        **{name: as_text(value) for name, value in usual.items()},
        **dict(zip(usual, placed, strict=False)),
        **named,
    }


def as_text(value: Any) -> str:
    """A value of YAML as it stands in a line."""
    if isinstance(value, str):
        return f'"{value}"' if " " in value and value[0] != "(" else value
    if isinstance(value, list):
        return ",".join(map(as_text, value)) or "()"
    return str(msgspec.json.encode(value), "utf-8")


def read(path: Path) -> list[Question]:
    """The histories of a file."""
    try:
        subject = msgspec.yaml.decode(path.read_bytes(), type=Subject)
    except msgspec.MsgspecError as error:
        raise WrongLineError(f"{path.name}: {error}") from error
    scenes = {scene.scene: scene for scene in subject.scenes}
    if len(scenes) < len(subject.scenes):
        raise WrongLineError(f"{path.name}: two scenes have one name")
    found: dict[str, Question] = {}
    stories: dict[str, Story] = {}

    def add(name: str, *stories_: Story, **of: Any) -> None:
        if name in found:
            raise WrongLineError(f"{path.name}: two histories are called {name}")
        found[name] = Question(name, tell=Named(path.name, name, stories_), **of)

    for history in subject.histories:
        cases = history.cases or [Case(asks="", finds=history.finds)]
        for number, case in enumerate(cases, 1):
            name = f"{history.history}-{number}" if history.cases else history.history
            own = {key: as_text(value) for key, value in case.given.items()}
            stories[name] = Story(history.events, scenes, _values_of(history.given, [], own))
            add(
                name,
                stories[name],
                question=f"{history.asks} {case.asks}".strip(),
                source=history.source,
                expects={history.check: case.finds} if isinstance(case.finds, str) else case.finds,
                alone=history.alone,
            )
    numbers = Counter[str]()
    for variant in subject.variants:
        if variant.of not in found:
            raise WrongLineError(f"{path.name}: there is no history {variant.of} to vary")
        numbers[variant.of] += 1
        add(
            f"{variant.of}-but-{numbers[variant.of]}",
            stories[variant.of],
            Story(variant.events, scenes, {}),
            question=variant.why,
            source=found[variant.of].source,
            expects=variant.finds,
            alone=False,
        )
    return list(found.values())
