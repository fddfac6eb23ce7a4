"""A tampering: what is changed in a genuine run, and the check that must notice it.

Tamperings are data (`*.yml`). A file has the name of a run, of `runs.yml`, and a list; an entry
with `each` stands for several, in whose texts `<name>` is replaced. See `Tampering` and `Step`.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import yaml

from contract.tables import TABLES
from contract.terms import Check
from contract.verdicts import CheckVerdict, FindingVerdict

FOLDER = Path(__file__).parent
VERDICTS = {
    "violation": (CheckVerdict.VIOLATED,),
    "undecided": (CheckVerdict.UNDECIDED,),
    "permitted": (CheckVerdict.PERMITTED,),
    "unclear": (CheckVerdict.NOT_EVALUABLE, CheckVerdict.UNDECIDED),
}
"""What the named check may result in, where a tampering is judged alone."""

Verb = Literal[
    "drop", "change", "repeat", "swap", "add", "pick", "empty", "remove", "rename", "retype",
    "truncate",
]  # fmt: skip
"""`pick` changes nothing: it chooses the row that the next steps name."""

_OF_ROWS = ("drop", "change", "repeat", "swap", "add", "pick")


class Step(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One change.

    Values in `set` are as they are to stand; after a `=` stands an expression over the row. It and
    `where` are Spark's SQL, over all tables of the run; `{column}` is the value that the row has
    which the first step chose.

    Attributes:
        verb: what is done.
        of: the table, or the file below the run's folder.
        where: the rows of which one is chosen by chance; of a file, the text of such lines.
        all: change all of these rows, not one.
        same: change also the rows that are equal to the chosen one in these columns.
        set: new values by column; of `swap` the columns, each with that of the rows' order; of a
            file by field, where null leaves it out, and `groups.client` is each group's client.
        column: that is renamed or retyped.
        times: how often rows are repeated; `number` counts from 1.
        share: of a file, that is kept; of one line, `line`, `half line` at the end.
        renumbered: whether the lines that stay are numbered as if the others had never been.
    """

    verb: Verb
    of: str
    where: str = ""
    all: bool = False
    same: list[str] = []
    set: dict[str, Any] = {}
    column: str = ""
    times: int = 1
    share: float | str | None = None
    renumbered: bool = False


class Tampering(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One tampering.

    Attributes:
        name: what the changed run says, or lacks.
        run: in which genuine run, by its name in `runs.yml`.
        steps: what is changed, in turn.
        check: must notice it; named from the definitions, before any run. None: the run as a whole
            must not pass.
        verdict: of the finding that it must make, or (alone) of the check; see `VERDICTS`.
        alone: judged from a folder of its own, as it can make a whole run undecided.
    """

    name: str
    run: str
    steps: list[Step]
    check: Check | None = None
    verdict: Literal["violation", "undecided", "permitted", "unclear"] = "violation"
    alone: bool = False

    @property
    def first(self) -> Step:
        """The step that says what is tampered with: the first that changes something."""
        return next(step for step in self.steps if step.verb != "pick")

    @property
    def finding(self) -> FindingVerdict:
        """The verdict of the finding."""
        return FindingVerdict(self.verdict)

    @property
    def is_of_rows(self) -> bool:
        """Whether it changes rows of tables, not files or columns."""
        return self.first.of in TABLES and self.first.verb in _OF_ROWS

    @property
    def tables(self) -> set[str]:
        """The table that is damaged as a file: only its readers can accuse anybody of it."""
        return set() if self.is_of_rows else {self.first.of} & TABLES.keys()

    @property
    def decodes(self) -> bool:
        """Whether histories or logs change, so that they are decoded again."""
        return self.first.of.startswith(("history/", "brokers/"))


class GenuineRun(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A part of a scenario's run that is small enough to be laid many times into one trace.

    Attributes:
        scenario: its name, as in `plan.json`.
        parameters: those of the run; others may have any value.
        topics, partitions, groups: what is kept; empty: all.
        views: by name, a statement over the run's tables that tamperings of it read.
    """

    scenario: str
    parameters: dict[str, Any] = {}
    topics: list[str] = []
    partitions: list[int] = []
    groups: list[str] = []
    views: dict[str, str] = {}


@cache
def runs() -> dict[str, GenuineRun]:
    """The genuine runs, by name."""
    return msgspec.convert(_read(FOLDER / "runs.yml"), dict[str, GenuineRun])


@cache
def tamperings() -> tuple[Tampering, ...]:
    """All tamperings, in the order of their files."""
    files = sorted(path for path in FOLDER.glob("*.yml") if path.stem not in ("runs", "hidden"))
    return tuple(tampering for path in files for tampering in of_file(_read(path)))


def hidden_tamperings() -> list[dict[str, str]]:
    """Tamperings that no evidence could show: name, verb, of and the reason."""
    entries: list[dict[str, str]] = _read(FOLDER / "hidden.yml")
    return entries


def of_file(content: dict[str, Any]) -> Iterator[Tampering]:
    """The tamperings of one file: what it says of all of them, then a list."""
    entries = content.pop("tamperings")
    for entry in entries:
        for variant in _each({**content, **entry}):
            yield _tampering(variant)


def _each(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    names = entry.pop("each", [{}])
    for values in names:
        named = values if isinstance(values, dict) else {"each": values}
        yield _fill(entry, named)


def _fill(content: Any, values: dict[str, Any]) -> Any:
    """Replace `<name>` in all texts; a text that is only that becomes the value as it is."""
    if isinstance(content, dict):
        return {key: _fill(value, values) for key, value in content.items()}
    if isinstance(content, list):
        return [_fill(value, values) for value in content]
    if not isinstance(content, str):
        return content
    for name, value in values.items():
        if content == f"<{name}>":
            return value
        content = content.replace(f"<{name}>", str(value))
    return content


def _tampering(entry: dict[str, Any]) -> Tampering:
    """One entry, whose first step's fields stand beside its own."""
    own = {name: entry.pop(name) for name in Tampering.__struct_fields__ if name in entry}
    then = entry.pop("then", [])
    tampering = msgspec.convert(
        {**own, "steps": [_step(step) for step in (entry, *then)]}, Tampering
    )
    is_unclear = tampering.verdict in ("undecided", "unclear")
    is_alone = tampering.alone or is_unclear or not tampering.is_of_rows
    return msgspec.structs.replace(tampering, alone=is_alone)


def _step(entry: dict[str, Any]) -> dict[str, Any]:
    """A step whose verb is the key of what it is about: `drop: polls`."""
    entry = dict(entry)
    (verb,) = set(entry) & set(get_args(Verb))
    return {"verb": verb, "of": entry.pop(verb), **entry}


def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())
