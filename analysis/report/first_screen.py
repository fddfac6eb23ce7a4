"""What a run's page says first: what was expected, and why the verdict is what it is."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.report.stories import where
from analysis.report.words import with_noun
from contract.run_folder import RunDescription
from contract.terms import Check
from contract.verdicts import CheckVerdict, FindingVerdict, RunVerdict, Verdict

NAMES_MAX = 3
"""Of the checks that are undecided for one reason."""
WENT_ON = "raised, then "
"""How the kinds of `failed_client` begin whose client did not end."""


@dataclass(frozen=True)
class Reason:
    """Why a run is undecided, and the id of the place on the page that shows more."""

    text: str
    anchor: str = ""


def expected_line(verdict: Verdict) -> str:
    """How many of the expectations were met, in words."""
    required = [expectation for expectation in verdict.expectations if not expectation.is_optional]
    optional = [expectation for expectation in verdict.expectations if expectation.is_optional]
    met = sum(expectation.is_met for expectation in required)
    words = f"expected: {met} of {len(required)} seen" if required else "expected: none"
    if optional:
        seen = sum(bool(expectation.findings) for expectation in optional)
        words += f", {seen} of {len(optional)} optional ones"
    if verdict.expected_by:
        words += f", by {verdict.expected_by}, which is newer than the run"
    return words


def verdict_line(verdict: Verdict) -> str:
    """What the verdict means in this run."""
    count = sum(entry.findings for entry in verdict.unexpected)
    match verdict.verdict:
        case RunVerdict.PASS:
            violated = [
                name
                for name, result in verdict.checks.items()
                if result.verdict is CheckVerdict.VIOLATED
            ]
            if not violated:
                return "Nothing unexpected, and no violation."
            return f"Nothing unexpected: the violations of {', '.join(violated)} are expected."
        case RunVerdict.FAIL:
            are = "is a violation" if count == 1 else "are violations"
            return f"{with_noun(count, 'finding')} {are} that the scenario does not expect."
        case RunVerdict.UNDECIDED:
            return "The evidence does not decide, for these reasons:"


def failed_clients(verdict: Verdict) -> list[str]:
    """What ended clients, where that is no violation: a screen says it before all else.

    A permitted error may be why a run is undecided; of one that passes or fails it stands among the
    findings only.
    """
    result = verdict.checks.get(Check.FAILED_CLIENT)
    if result is None:
        return []
    shown = {FindingVerdict.UNDECIDED}
    if verdict.verdict is RunVerdict.UNDECIDED:
        shown.add(FindingVerdict.PERMITTED)
    ended = [found for found in result.examples if not found.kind.startswith(WENT_ON)]
    return [
        f"a client failed, {found.verdict}: {found.cause}{_in_brackets(where(found))}"
        for found in ended
        if found.verdict in shown
    ]


def _in_brackets(place: str) -> str:
    return f" [{place}]" if place else ""


def has_failed_client(verdict: Verdict) -> bool:
    """Whether a screen says before all else that a client failed."""
    ended = any(entry.check == Check.FAILED_CLIENT for entry in verdict.unexpected)
    return ended or bool(failed_clients(verdict))


def reasons(verdict: Verdict, run: RunDescription) -> Iterator[Reason]:
    """Why a run is undecided: also where it fails, what else is open."""
    if run.error is not None:
        yield Reason("The scenario ended with an error.", "error")
    for doubt in verdict.doubts:
        yield Reason(_sentence(doubt))
    for fault in verdict.faults:
        if not fault.landed:
            yield Reason(f"No effect of {fault.fault} {fault.target} was seen.", "faults")
    for expectation in verdict.expectations:
        if not expectation.is_met and not expectation.is_optional:
            yield Reason(f"An expected finding was not seen: {expectation.check}.", "expected")
    yield from _of_checks(verdict)


def _of_checks(verdict: Verdict) -> Iterator[Reason]:
    """The checks that are undecided, and those without a case that need one, by the reason."""
    idle: dict[str, list[str]] = {}
    for name, result in verdict.checks.items():
        if result.verdict is CheckVerdict.NOT_EVALUABLE and name in verdict.must_judge:
            idle.setdefault(result.reason, []).append(name)
    undecided: dict[str, list[str]] = {}
    for name, result in verdict.checks.items():
        open_findings = result.by_verdict.get(FindingVerdict.UNDECIDED, result.findings)
        # Each of its findings may be a check that has nothing to judge, which is said below.
        is_said = name == Check.VACUOUS_CHECK and open_findings == sum(map(len, idle.values()))
        if result.verdict is CheckVerdict.UNDECIDED and not is_said:
            about = result.reason or with_noun(open_findings, "finding")
            undecided.setdefault(about, []).append(name)
    for about, names in undecided.items():
        yield Reason(f"Undecided: {_list_names(names)} ({about}).", f"check-{names[0]}")
    for reason, names in idle.items():
        yield Reason(f"Nothing to judge: {_list_names(names)} ({reason}).", "not-evaluable")


def _list_names(names: list[str]) -> str:
    left = len(names) - NAMES_MAX
    return ", ".join(names[:NAMES_MAX]) + (
        f" and {with_noun(left, 'other check')}" if left > 0 else ""
    )


def _sentence(text: str) -> str:
    begin = text[:1].upper() if text.split(" ", maxsplit=1)[0].isalpha() else text[:1]
    return f"{begin}{text[1:]}{'' if text.endswith('.') else '.'}"
