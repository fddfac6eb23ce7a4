"""The findings of a run as its page shows them: each with its story, by what was expected."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analysis.report.commands import command_to_paste
from analysis.report.run_facts import RunFacts
from analysis.report.standings import Standing, in_words, numbers, standing_of
from analysis.report.story import Moment, Moments, Passage, Story, story_of
from contract.verdicts import (
    FINDINGS_FILE,
    CheckResult,
    Finding,
    FindingVerdict,
    UnexpectedFindings,
    Verdict,
)

UNEXPECTED_MAX = 5
"""Of the cards on the first screen."""
EXPECTED_STORIES = 3
"""Of each check whose findings were expected or are permitted; all unexpected ones have one."""
FINDINGS_MAX = 250
"""Of the page, unless more checks than that have findings."""
FOLDED_MAX = 60
"""Of the moments of one fold; `explain` has all."""
_EVIDENCE_LENGTH = 400


@dataclass(frozen=True)
class PassageView:
    """Events of a story in a row, as lines of text.

    Attributes:
        lines: each with whether it is the decisive one.
        summary: the line into which they are folded; empty if each is shown.
    """

    lines: list[tuple[str, bool]]
    summary: str


@dataclass(frozen=True)
class FindingView:
    """A finding on the page.

    Attributes:
        anchor: its id there.
        name: as `fencepost explain` takes it.
        where: its partition, offsets and group.
        story: the events behind it, in passages; empty where only `explain` shows them.
        ends: lines of what each replica has at the end, or why there is no story.
        evidence: the values that it rests on, by name.
        explain: the command that shows the story in the terminal.
        seconds: its time from the origin of the stories; empty where it has none.
        subjects: the lanes of the timeline that it is about, a line each.
    """

    anchor: str
    name: str
    finding: Finding
    where: str
    story: list[PassageView]
    ends: str
    evidence: list[tuple[str, str]]
    explain: str
    seconds: str
    subjects: str


@dataclass(frozen=True)
class CheckView:
    """The findings of one check that have one standing.

    numbers: of all such findings, by their verdict; the page has the first of them.
    """

    name: str
    result: CheckResult
    findings: list[FindingView]
    numbers: dict[FindingVerdict, int]

    @property
    def shown(self) -> str:
        """How many findings of which verdict there are, and where those are that the page lacks."""
        reported = in_words(self.numbers)
        left_out = sum(self.numbers.values()) - len(self.findings)
        if left_out:
            reported += f", {left_out:,} of them only in report/{FINDINGS_FILE}"
        return reported


def anchor(check: str, number: int) -> str:
    """The id of a check's Nth finding on the page."""
    return f"finding-{check}-{number}"


@dataclass(frozen=True)
class FindingsView:
    """The findings of a run, by what they mean for its verdict.

    origin: the name of the moment from which their stories count seconds.
    """

    checks: dict[Standing, list[CheckView]]
    origin: str


def findings_of(facts: RunFacts, verdict: Verdict) -> FindingsView:
    """The findings of a run, each with its place on the page."""
    most = _most(verdict)
    chosen: dict[tuple[str, Standing], dict[int, Finding]] = {}
    for check, result in verdict.checks.items():
        for number, finding in sorted(
            dict(_findings_to_show(check, result, verdict.unexpected, most)).items()
        ):
            chosen.setdefault((check, standing_of(finding, verdict)), {})[number] = finding
    teller = _Teller(facts, _with_stories(chosen))
    views: dict[Standing, list[CheckView]] = {standing: [] for standing in Standing}
    for check, result in verdict.checks.items():
        for standing in Standing:
            found, counted = chosen.get((check, standing), {}), numbers(result, standing)
            if found or counted:
                shown = [teller.view(check, number, finding) for number, finding in found.items()]
                views[standing].append(CheckView(check, result, shown, counted))
    return FindingsView(views, facts.origin)


def _with_stories(
    chosen: Mapping[tuple[str, Standing], Mapping[int, Finding]],
) -> dict[tuple[str, int], Finding]:
    """The findings whose stories the page has, by check and number."""
    return {
        (check, number): finding
        for (check, standing), found in chosen.items()
        for place, (number, finding) in enumerate(found.items())
        if standing in (Standing.UNEXPECTED, Standing.UNDECIDED) or place < EXPECTED_STORIES
    }


def _most(verdict: Verdict) -> int:
    """How many findings of each check the page has."""
    examples = [len(result.examples) for result in verdict.checks.values() if result.examples]
    if sum(examples) <= FINDINGS_MAX:
        return max(examples, default=0)
    return max(1, FINDINGS_MAX // len(examples))


def _findings_to_show(
    check: str, result: CheckResult, unexpected: list[UnexpectedFindings], most: int
) -> Iterator[tuple[int, Finding]]:
    """The first findings of a check, and the first unexpected one of some groups, by number."""
    yield from enumerate(result.examples[:most], start=1)
    of_check = [entry for entry in unexpected if entry.check == check]
    yield from ((entry.number, entry.first) for entry in of_check[: max(most, UNEXPECTED_MAX)])


def where(finding: Finding) -> str:
    """Its partition, offsets and group, in words."""
    parts = []
    if finding.topic is not None:
        of_topic = "" if finding.partition is None else f"-{finding.partition}"
        parts.append(f"{finding.topic}{of_topic}")
    if finding.offset_first is not None:
        first, last = finding.offset_first, finding.offset_last
        span = (
            f"offsets {first:,} to {last:,}" if last not in (None, first) else f"offset {first:,}"
        )
        parts.append(span)
    if finding.group is not None:
        client = f" ({finding.client})" if finding.client else ""
        parts.append(f"group {finding.group}{client}")
    return ", ".join(parts)


class _Teller:
    """Makes the views of a run's findings."""

    def __init__(self, facts: RunFacts, reported: Mapping[tuple[str, int], Finding]) -> None:
        self._facts = facts
        self._numbers = {name: number for number, name in enumerate(reported)}
        self._moments = Moments(facts, list(reported.values()))

    def view(self, check: str, number: int, finding: Finding) -> FindingView:
        name = f"{check}:{number}"
        passages, ends = self._story(self._numbers.get((check, number)), finding)
        return FindingView(
            anchor=anchor(check, number),
            name=name,
            finding=finding,
            where=where(finding),
            story=passages,
            ends=ends,
            evidence=[(key, _short(value)) for key, value in finding.evidence.items()],
            explain=command_to_paste(
                shlex.join(["fencepost", "explain", str(self._facts.folder.path), name])
            ),
            seconds="" if finding.at is None else f"{self._facts.seconds(finding.at):.3f}",
            subjects=_subjects(finding),
        )

    def _story(self, number: int | None, finding: Finding) -> tuple[list[PassageView], str]:
        """The events behind a finding, and what each replica has at the end."""
        if number is None:
            return [], ""
        story = story_of(self._moments, number, finding)
        width = max((len(moment.who) for moment in story.moments), default=0)
        passages = [self._passage(part, story, width) for part in story.fold()]
        return passages, "\n".join(f"at the end, {line}" for line in story.ends)

    def _passage(self, passage: Passage, of: Story, width: int) -> PassageView:
        shown = passage.moments[:FOLDED_MAX]
        lines = [(self._line(moment, of, width), moment is of.decisive) for moment in shown]
        if left := len(passage.moments) - len(shown):
            lines.append((f"{left} more events: see `explain --all`", False))
        return PassageView(lines, passage.summary)

    def _line(self, moment: Moment, of: Story, width: int) -> str:
        mark = ">" if moment is of.decisive else " "
        return (
            f"{mark} {self._facts.seconds(moment.at_micros):+9.3f}  {moment.who:{width}}  "
            f"{moment.what}"
        )


def _subjects(finding: Finding) -> str:
    lines = []
    if finding.topic is not None and finding.partition is not None:
        lines.append(f"partition {finding.topic}-{finding.partition}")
    if finding.group is not None:
        lines.append(f"group {finding.group}")
    return "\n".join(lines)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _EVIDENCE_LENGTH else f"{text[:_EVIDENCE_LENGTH]}…"
