"""Cells that are known to fail (`expected.yml`), and what a job makes of those that came out."""

import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from contract.errors import lacking
from contract.terms import ResetPolicy
from contract.verdicts import EXIT_CODES, RunVerdict
from contract.written import Written
from extras.conform.features import Features, promised_kinds
from extras.conform.vocabulary import (
    COMMITS,
    DECIDED,
    MEETS,
    Cell,
    Hazard,
    Kind,
    Place,
    outcome_in_words,
)

FAILURES = (Kind.SKIPS, Kind.REPEATS, Kind.RAISES, Kind.STANDS_STILL, Kind.VARIES)
_COUNTED = (Kind.SKIPS, Kind.REPEATS)


class Expected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cell that is known not to keep its place.

    cell: HAZARD.MEETS.COMMIT.RESET, as `truncation_above.restart.explicit.earliest`.
    outcome: `skips`, `skips 100`, `repeats`, `raises`, `raises NAME`, `stands still`; or `varies`,
        which any outcome fits.
    reason: why it is known; `link`: to more about it.
    line: of the file.
    """

    cell: str
    outcome: str
    reason: Annotated[str, msgspec.Meta(pattern=r"\S")]
    link: str = ""
    line: int = 0

    @property
    def kind(self) -> Kind:
        """What it expects."""
        return next(failure for failure in FAILURES if self.outcome.startswith(failure))

    @property
    def detail(self) -> str:
        """The number of records or the name of the error; empty: any."""
        return self.outcome.removeprefix(self.kind).strip()

    def fits(self, cell: "Merged") -> bool:
        """Whether an outcome is the expected one."""
        if self.kind is Kind.VARIES:
            return cell.kind in (*DECIDED, Kind.VARIES)
        return cell.kind is self.kind and self.detail in ("", *cell.details)


def read_expected(path: Path) -> list[Expected]:
    """Read a file of expected failures.

    Raises:
        UsageError: it is missing or invalid; names the file, the line and what to write.
    """
    file = Written(path, what="--expected")
    found = file.convert(list[Expected], empty=[])
    for number, entry in enumerate(found):
        if problem := _problem(entry):
            raise file.refuse(problem[1], str(number), problem[0])
    seen: set[str] = set()
    for number, entry in enumerate(found):
        if entry.cell in seen:
            raise file.refuse(f"{entry.cell} is there twice", str(number), "cell")
        seen.add(entry.cell)
    return [
        msgspec.structs.replace(entry, line=file.line(str(number), "cell"))
        for number, entry in enumerate(found)
    ]


def _problem(entry: Expected) -> tuple[str, str] | None:
    """The field of an entry that is wrong, and why; None if none is."""
    if problem := _problem_of_cell(entry.cell):
        return "cell", problem
    if not any(entry.outcome.startswith(kind) for kind in FAILURES):
        failures = ", ".join(FAILURES)
        return "outcome", f"{entry.outcome!r} is no failure that can be expected: {failures}"
    if entry.kind in _COUNTED and entry.detail and not entry.detail.isdecimal():
        return "outcome", f"{entry.outcome!r} is not like `{entry.kind} 100`"
    if entry.kind in (Kind.STANDS_STILL, Kind.VARIES) and entry.detail:
        return "outcome", f"{entry.outcome!r} has more than `{entry.kind}`"
    return None


def _problem_of_cell(cell: str) -> str:
    hazard, *further = cell.split(".")
    if hazard not in set(Hazard):
        return lacking("hazard", hazard, Hazard)
    known: tuple[Iterable[str], ...] = (MEETS[Hazard(hazard)], COMMITS, ResetPolicy)
    if len(further) != len(known):
        return f"{cell} is not like HAZARD.MEETS.COMMIT.RESET"
    for value, values in zip(further, known, strict=True):
        if value not in set(values):
            return lacking("part of a cell", value, values)
    return ""


class Merged(Place, frozen=True, kw_only=True):
    """What all stories say of one cell.

    kind: of all, `varies` if they differ; stories that show nothing do not count.
    details: the numbers of records, or the errors, of these stories.
    kept: the number of stories in which it kept its place, of the decided ones.
    reason: why none is decided; else empty.
    causes: of these stories.
    """

    kind: Kind
    details: list[str]
    kept: int
    of: int
    reason: str = ""
    causes: list[str] = msgspec.field(default_factory=list)

    @property
    def words(self) -> str:
        """Its outcome, as the table has it."""
        if self.kind is Kind.VARIES:
            return f"varies (keeps in {self.kept} of {self.of})"
        if self.kind in _COUNTED:
            counts = sorted(map(int, self.details))
            least, most = counts[0], counts[-1]
            return outcome_in_words(self.kind, least) + (f" to {most}" if most > least else "")
        return outcome_in_words(self.kind, error=" or ".join(self.details))


def merge_cells(cells: Sequence[Cell]) -> Merged:
    """Return what the stories of one cell say."""
    first = cells[0]
    decided = [cell for cell in cells if cell.kind in DECIDED]
    counted = decided or list(cells)
    kinds = Counter(cell.kind for cell in counted)
    kind = counted[0].kind if len(kinds) == 1 else Kind.VARIES
    details = {
        str(cell.records) if cell.kind in _COUNTED else cell.error
        for cell in decided
        if cell.kind in (*_COUNTED, Kind.RAISES)
    }
    return Merged(
        client=first.client,
        hazard=first.hazard,
        meets=first.meets,
        commit=first.commit,
        reset=first.reset,
        kind=kind,
        details=sorted(details),
        kept=kinds[Kind.KEEPS] if decided else 0,
        of=len(decided),
        reason="" if decided else first.reason,
        causes=list(dict.fromkeys(cause for cell in counted for cause in cell.causes)),
    )


def join_cells(first: Merged, second: Merged) -> Merged:
    """Return what the stories of both say of one cell; each has decided ones."""
    return msgspec.structs.replace(
        first,
        kind=first.kind if first.kind is second.kind else Kind.VARIES,
        details=sorted({*first.details, *second.details}),
        kept=first.kept + second.kept,
        of=first.of + second.of,
        causes=list(dict.fromkeys([*first.causes, *second.causes])),
    )


class Standing(enum.StrEnum):
    """What a job makes of a cell.

    kept: it keeps its place, or does what its reset policy says.
    expected: it fails as the file expects.
    unexpected: it fails, and it did not keep its place again, alone.
    unconfirmed: it failed beside others, and kept its place when it was run again alone.
    better: the file expects a failure, and it keeps its place: the line is to be removed.
    not evaluable: the stories show nothing, also the one alone.
    not applicable: the client lacks it.
    """

    KEPT = "kept"
    EXPECTED = "expected"
    UNEXPECTED = "unexpected"
    UNCONFIRMED = "unconfirmed"
    BETTER = "better"
    NOT_EVALUABLE = "not evaluable"
    NOT_APPLICABLE = "not applicable"


FAILING = (Standing.UNEXPECTED, Standing.BETTER)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a job: what came, what the job makes of it, and the entry that expects it.

    alone: what came when it was run again alone; None: it was not.
    broken: the document of a claim that it breaks, so that it is wrong; empty: it breaks none.
    """

    cell: Merged
    standing: Standing
    expected: Expected | None = None
    alone: Merged | None = None
    broken: str = ""

    @property
    def words(self) -> str:
        """What the job makes of it, in a sentence."""
        match self.standing:
            case Standing.UNEXPECTED:
                again = "" if self.alone is None else f", and {self.alone.words} when run alone"
                expected = "" if self.expected is None else f"; expected: {self.expected.outcome}"
                wrong = f"; wrong by {self.broken}" if self.broken else "; it breaks no claim"
                return f"{self.cell.words}{again}{expected}{wrong}"
            case Standing.UNCONFIRMED:
                return f"{self.cell.words}; it kept its place when it was run again alone"
            case Standing.BETTER:
                line = 0 if self.expected is None else self.expected.line
                outcome = "" if self.expected is None else self.expected.outcome
                return f"{self.cell.words}, though `{outcome}` is expected: remove line {line}"
            case Standing.NOT_EVALUABLE | Standing.NOT_APPLICABLE:
                return f"{self.cell.words}: {self.cell.reason}"
            case _:
                return self.cell.words


def is_kept(cell: Merged) -> bool:
    """Whether it keeps its place, or does what its reset policy says."""
    return cell.kind in DECIDED and cell.kind in promised_kinds(cell.hazard, cell.reset)


def result_of(
    cell: Merged,
    expected: Mapping[str, Expected],
    features: Features,
    alone: Merged | None = None,
) -> Result:
    """Return what a job makes of a cell.

    Args:
        cell: what came.
        expected: the entries of the file, by cell.
        features: of the client.
        alone: what came when it was run again alone; None: it was not. It counts if the other
            stories show nothing.
    """
    if cell.kind is Kind.NOT_EVALUABLE and alone is not None:
        cell, alone = alone, None
    entry = expected.get(cell.place)
    return Result(
        cell=cell,
        standing=_standing(cell, entry, alone),
        expected=entry,
        alone=alone,
        broken=features.broken_claim(cell.hazard, cell.kind, cell.reset),
    )


def _standing(cell: Merged, entry: Expected | None, alone: Merged | None) -> Standing:
    if cell.kind in (Kind.NOT_APPLICABLE, Kind.NOT_EVALUABLE):
        return Standing(cell.kind)
    if entry is not None and entry.fits(cell):
        return Standing.EXPECTED
    if is_kept(cell):
        return Standing.KEPT if entry is None else Standing.BETTER
    return Standing.UNCONFIRMED if alone is not None and is_kept(alone) else Standing.UNEXPECTED


def exit_code(results: Iterable[Result]) -> int:
    """Return the exit code of a job: as a run's that fails, is undecided, or passes."""
    standings = {result.standing for result in results}
    if standings & set(FAILING):
        return EXIT_CODES[RunVerdict.FAIL]
    decided = standings - {Standing.NOT_APPLICABLE}
    if not decided or Standing.NOT_EVALUABLE in decided:
        return EXIT_CODES[RunVerdict.UNDECIDED]
    return EXIT_CODES[RunVerdict.PASS]


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """A story of a job: where its run is, and how it is repeated.

    page: of the run, relative to the job's folder; empty without a run.
    problem: why its cells are not evaluable; empty if they are.
    """

    hazard: str
    seed: int
    page: str
    rerun: str
    problem: str
    seconds: float


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What `fencepost conform` found (`conform.json`).

    name: of the client.
    version: as the client reported it; empty if it never ran.
    exit_code: of the command.
    """

    schema: int
    name: str
    version: str
    kafka: str
    seed: int
    exit_code: int
    results: list[Result]
    stories: list[Story]

    @property
    def badge(self) -> str:
        """How many of the decided cells are kept."""
        decided = [result for result in self.results if result.cell.kind in (*DECIDED, Kind.VARIES)]
        kept = [result for result in decided if is_kept(result.cell)]
        return f"{len(kept)} of {len(decided)} cells kept"


JOB_FILE = "conform.json"
