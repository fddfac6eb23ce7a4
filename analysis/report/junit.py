"""JUnit XML of Fencepost's verdicts: a suite per run, a test case per check (docs/outputs.md).

A failure is an unexpected violation, or a canary that passed. An error is what leaves a run
undecided. A check without a case that the scenario does not need is skipped.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from analysis.report.first_screen import expected_line
from analysis.report.run_output import RunOutput
from analysis.report.standings import Standing, in_words, numbers
from analysis.report.stories import where
from analysis.report.words import with_noun
from contract.nights import Outcome
from contract.run_folder import RunDescription
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    RunVerdict,
    UnexpectedFindings,
    Verdict,
)

RUN_CASE = "run"
"""The name of the test case of a run as a whole."""
_NO_FAILURE = {
    Standing.UNEXPECTED: "as the suite expects",
    Standing.EXPECTED: "as the scenario expects",
    Standing.PERMITTED: "by the configuration",
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outputs: Iterable[RunOutput]) -> bytes:
    """The document of some runs."""
    root = Element("testsuites", name="fencepost")
    for output in outputs:
        _suite(root, output)
    _count(root, root.iter("testcase"))
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(root: Element, output: RunOutput) -> None:
    suite = SubElement(root, "testsuite", name=_text(output.name))
    if output.run is not None:
        with suppress(OverflowError, ValueError):  # The times of a damaged run may be no times.
            began = datetime.fromtimestamp(output.run.started_micros // MICROS_PER_SECOND, UTC)
            suite.set("timestamp", began.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = SubElement(suite, "properties")
    for name, value in _properties(output):
        SubElement(properties, "property", name=name, value=_text(value))
    _run_case(suite, output)
    if output.verdict is not None:
        for check in output.verdict.checks:
            _check_case(suite, output, output.verdict, check)
    suite.set("time", f"{output.seconds or 0:.3f}")
    _count(suite, suite.iter("testcase"))


def _properties(output: RunOutput) -> Iterator[tuple[str, str]]:
    yield "verdict", str(output.word)
    yield "expected_verdict", str(output.expect)
    if output.run is not None:
        yield "seed", str(output.run.seed)
        yield "kafka", output.run.on
        yield "cluster", output.run.cluster
    if output.rerun:
        yield "rerun", output.rerun
    if output.page:
        yield "page", output.page


def _count(element: Element, cases: Iterable[Element]) -> None:
    found = list(cases)
    element.set("tests", str(len(found)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in found)))


def _case(suite: Element, output: RunOutput, name: str, seconds: float = 0.0) -> Element:
    classname = f"fencepost.{_text(output.scenario)}"
    return SubElement(suite, "testcase", classname=classname, name=name, time=f"{seconds:.3f}")


def _run_case(suite: Element, output: RunOutput) -> None:
    """The run as a whole: what no check can report."""
    case = _case(suite, output, RUN_CASE, output.seconds or 0.0)
    verdict = output.verdict
    if verdict is None:
        _add(case, "error", "not judged", output.error or "")
        return
    if output.expect is RunVerdict.FAIL and output.outcome is Outcome.UNEXPECTED:
        _add(case, "failure", "canary passed", "the suite expects a failure, and the run passed")
    elif problems := list(_problems(output.run, verdict)):
        _add(case, "error", "undecided", "; ".join(problems))
    SubElement(case, "system-out").text = _text(f"{verdict.answer}\n{expected_line(verdict)}")


def _problems(run: RunDescription | None, verdict: Verdict) -> Iterator[str]:
    if run is not None and run.error is not None:
        yield f"the scenario did not finish: {run.error}"
    yield from verdict.doubts
    for fault in verdict.faults:
        if not fault.landed:
            yield f"no effect of {fault.fault} {fault.target} was observed"
    for one in verdict.expectations:
        if not one.is_met and not one.is_optional:
            yield f"an expected finding was not seen: {one.check} ({one.verdict})"


def _check_case(suite: Element, output: RunOutput, verdict: Verdict, check: str) -> None:
    result = verdict.checks[check]
    case = _case(suite, output, check)
    unexpected = [one for one in verdict.unexpected if one.check == check]
    if unexpected and output.expect is not RunVerdict.FAIL:
        count = with_noun(sum(one.findings for one in unexpected), "unexpected finding")
        first = f"{count}: {unexpected[0].first.cause}"
        _add(case, "failure", "violation", first, "\n".join(map(_line, unexpected)))
    elif _leaves_undecided(result, check, verdict):
        _add(case, "error", str(result.verdict), _why(result))
    elif result.verdict is CheckVerdict.NOT_EVALUABLE:
        SubElement(case, "skipped", message=_text(result.reason))
    elif result.findings:
        reported = "; ".join(_standings(result))
        SubElement(case, "system-out").text = _text(f"{reported}: {_why(result)}")


def _standings(result: CheckResult) -> Iterator[str]:
    """How many findings of which verdict there are, and why they are no failure."""
    for standing, reason in _NO_FAILURE.items():
        if counted := numbers(result, standing):
            yield f"{in_words(counted)} {reason}"


def _leaves_undecided(result: CheckResult, check: str, verdict: Verdict) -> bool:
    return result.verdict is CheckVerdict.UNDECIDED or (
        result.verdict is CheckVerdict.NOT_EVALUABLE and check in verdict.must_judge
    )


def _why(result: CheckResult) -> str:
    first = result.examples[0].cause if result.examples else ""
    return result.summary or result.reason or first


def _line(one: UnexpectedFindings) -> str:
    place = where(one.first)
    return f"{one.check}:{one.number} {one.first.kind}: {one.first.cause}" + (
        f" [{place}]" if place else ""
    )


def _add(case: Element, tag: str, kind: str, message: str, text: str = "") -> None:
    SubElement(case, tag, type=kind, message=_text(message)).text = _text(text or message)


def _text(value: str) -> str:
    """Text without the characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", value)
