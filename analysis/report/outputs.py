"""What a report has for machines, beside its page: docs/outputs.md."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from analysis.report.first_screen import (
    expected_line,
    failed_clients,
    has_failed_client,
    reasons,
)
from analysis.report.matrix import row_name
from analysis.report.night_rows import Judged
from analysis.report.run_output import RunOutput, named_apart, output_of, outputs_of_night
from analysis.report.standings import Standing, in_words, numbers
from analysis.report.stories import where
from analysis.report.templating import environment
from analysis.report.words import duration, with_noun
from contract.files import printable, replace_file
from contract.nights import FindingState, Morning, NightSummary, Outcome, Stability, TrendChange
from contract.program import escape_orders, plain
from contract.run_folder import RunDescription
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    RunVerdict,
    UnexpectedFindings,
    Verdict,
)

JUNIT_FILE, MARKDOWN_FILE, METRICS_FILE = "junit.xml", "summary.md", "metrics.txt"
OUTPUT_FILES = (JUNIT_FILE, MARKDOWN_FILE, METRICS_FILE)
SCHEMA = 1


def write_run_outputs(judged: Judged) -> None:
    """Write the outputs of one run."""
    outputs = [output_of(judged, judged.folder.report)]
    write_outputs(judged.folder.report, outputs[0].name, outputs)


def write_session_outputs(session: Path, runs: Sequence[Judged]) -> None:
    """Write the outputs of a session; a single run has its own."""
    if runs and session != runs[0].folder.path:
        report = session / "report"
        outputs = named_apart(output_of(run, report) for run in runs)
        write_outputs(report, printable(session.resolve().name), outputs)


def write_night_outputs(path: Path, summary: NightSummary, runs: Sequence[Judged]) -> None:
    """Write the outputs of a night."""
    outputs = named_apart(outputs_of_night(path, summary, runs))
    write_outputs(path / "report", summary.night, outputs, summary.morning)


def write_outputs(
    report: Path, title: str, outputs: Sequence[RunOutput], morning: Morning | None = None
) -> None:
    """Write the files for machines beside a page."""
    files = {
        JUNIT_FILE: junit(outputs),
        MARKDOWN_FILE: escape_orders(markdown(title, outputs, morning)).encode(),
        METRICS_FILE: escape_orders(metrics(outputs, morning)).encode(),
    }
    for name, content in files.items():
        replace_file(report / name, content)


def as_json(runs: Sequence[Judged], nights: Sequence[tuple[Path, NightSummary]]) -> str:
    """The JSON document that `--json` prints.

    Args:
        runs: outside of nights, with their whole verdicts.
        nights: by their folders.
    """
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "runs": [
            {
                "folder": printable(str(run.folder.path)),
                "page": _page(run),
                "error": run.error,
                "verdict": run.verdict,
            }
            for run in runs
        ],
        "nights": [
            {
                "folder": printable(str(path)),
                "page": printable(str(path / "report" / "index.html")),
                "summary": summary,
            }
            for path, summary in nights
        ],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _page(judged: Judged) -> str | None:
    page = judged.folder.report / "index.html"
    return printable(str(page)) if page.is_file() else None


# The Markdown summary of runs, e.g. for the job summary of a CI system.

_SIGNS = {
    Outcome.EXPECTED: "✅",
    Outcome.UNEXPECTED: "❌",
    Outcome.UNDECIDED: "⚠️",
    Outcome.OMITTED: "⏭️",
    Outcome.KNOWN: "☑️",
}


def markdown(title: str, outputs: Sequence[RunOutput], morning: Morning | None = None) -> str:
    """A table of the runs, what follows from them, and what is unexpected or open in each."""
    counts = {outcome: sum(output.outcome is outcome for output in outputs) for outcome in Outcome}
    follows = [
        f"- **{plain(output.scenario)}**: {plain(str(output.verdict.follows))}"
        for output in outputs
        if output.verdict is not None and output.verdict.follows is not None
    ]
    template = environment(escapes=False).get_template("summary.md.j2")
    return template.render(
        title=title,
        morning=morning,
        outputs=outputs,
        counts=", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count),
        follows=list(dict.fromkeys(follows)),
        signs=_SIGNS,
        expected_line=expected_line,
        duration=duration,
        reasons=reasons,
        failed_clients=failed_clients,
        has_failed_client=has_failed_client,
        where=where,
    )


# JUnit XML: a suite per run, a test case per check. A failure is an unexpected violation, or a
# canary that passed. An error is what leaves a run undecided. A check without a case that the
# scenario does not need is skipped, and one whose violations are all known.

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
    count_cases(root, root.iter("testcase"))
    return xml_document(root)


def xml_document(root: Element) -> bytes:
    """The bytes of a document, without the characters that XML does not allow."""
    for element in root.iter():
        element.text = _NOT_XML.sub("\ufffd", element.text or "")
        for name, value in element.items():
            element.set(name, _NOT_XML.sub("\ufffd", value))
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(root: Element, output: RunOutput) -> None:
    suite = SubElement(root, "testsuite", name=output.name)
    if output.run is not None:
        with suppress(OverflowError, ValueError):  # The times of a damaged run may be no times.
            began = datetime.fromtimestamp(output.run.started_micros // MICROS_PER_SECOND, UTC)
            suite.set("timestamp", began.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = SubElement(suite, "properties")
    for name, value in _properties(output):
        SubElement(properties, "property", name=name, value=value)
    _run_case(suite, output)
    if output.verdict is not None:
        for check in output.verdict.checks:
            _check_case(suite, output, output.verdict, check)
    suite.set("time", f"{output.seconds or 0:.3f}")
    count_cases(suite, suite.iter("testcase"))


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


def count_cases(element: Element, cases: Iterable[Element]) -> None:
    """Set the numbers of test cases, failures, errors and skipped ones."""
    found = list(cases)
    element.set("tests", str(len(found)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(attribute, str(sum(case.find(tag) is not None for case in found)))


def _case(suite: Element, output: RunOutput, name: str, seconds: float = 0.0) -> Element:
    classname = f"fencepost.{output.scenario}"
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
    SubElement(case, "system-out").text = f"{verdict.answer}\n{expected_line(verdict)}"


def _problems(run: RunDescription | None, verdict: Verdict) -> Iterator[str]:
    if run is not None and run.error is not None:
        yield f"the scenario did not finish: {run.error}"
    yield from verdict.doubts
    for fault in verdict.faults:
        if not fault.landed:
            yield f"no effect of {fault.fault} {fault.target} was observed"
    for expectation in verdict.expectations:
        if not expectation.is_met and not expectation.is_optional:
            yield f"an expected finding was not seen: {expectation.check} ({expectation.verdict})"


def _check_case(suite: Element, output: RunOutput, verdict: Verdict, check: str) -> None:
    result = verdict.checks[check]
    case = _case(suite, output, check)
    unexpected = [entry for entry in verdict.unexpected if entry.check == check]
    if unexpected and output.known:
        SubElement(case, "skipped", message=f"known: {'; '.join(output.known)}")
    elif unexpected and output.expect is not RunVerdict.FAIL:
        count = with_noun(sum(entry.findings for entry in unexpected), "unexpected finding")
        first = f"{count}: {unexpected[0].first.cause}"
        _add(case, "failure", "violation", first, "\n".join(map(_line, unexpected)))
    elif _leaves_undecided(result, check, verdict):
        _add(case, "error", str(result.verdict), _why(result))
    elif result.verdict is CheckVerdict.NOT_EVALUABLE:
        SubElement(case, "skipped", message=result.reason)
    elif result.findings:
        reported = "; ".join(_standings(result))
        SubElement(case, "system-out").text = f"{reported}: {_why(result)}"


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


def _line(unexpected: UnexpectedFindings) -> str:
    place = where(unexpected.first)
    return (
        f"{unexpected.check}:{unexpected.number} {unexpected.first.kind}: {unexpected.first.cause}"
        + (f" [{place}]" if place else "")
    )


def _add(case: Element, tag: str, kind: str, message: str, text: str = "") -> None:
    SubElement(case, tag, type=kind, message=message).text = text or message


# OpenMetrics: all families are gauges, so that Prometheus's own text format reads them too.

FAMILIES = {
    "fencepost_run_verdict": "1 for the verdict of the run, 0 for the others.",
    "fencepost_run_as_expected": "1 if the verdict is as the run's suite expects.",
    "fencepost_run_seed": "Seed of the run.",
    "fencepost_run_end_timestamp_seconds": "End of the run.",
    "fencepost_run_duration_seconds": "Duration of the run.",
    "fencepost_stage_duration_seconds": "Duration of a stage.",
    "fencepost_run_unexpected_findings": "Violations that no expectation covers.",
    "fencepost_expectations_met": "Expected findings that were seen.",
    "fencepost_expectations": "Findings that the scenario requires.",
    "fencepost_faults_landed": "Faults whose effect was observed.",
    "fencepost_faults": "Faults that were injected.",
    "fencepost_check_findings": "Findings of the check.",
    "fencepost_check_unexpected_findings": "Those that no expectation covers.",
    "fencepost_check_evaluated": "What the check judged.",
    "fencepost_check_exercised": "Cases in which the check could have failed.",
    "fencepost_night_findings": "Findings of the night by their state over the nights.",
    "fencepost_night_worse_findings": "Findings that became more frequent.",
    "fencepost_scenario_verdict": "1 for the verdict on the scenario from its history, else 0.",
    "fencepost_scenario_failed_runs": "Runs of its history that were not as expected.",
    "fencepost_scenario_runs": "Decided runs of its history.",
    "fencepost_trend_changes": "Numbers of the runs that are larger or smaller than before.",
}
"""What each family counts, by its name; one that ends in its unit has it."""
_EOF = "# EOF\n"


@dataclass
class _Family:
    name: str
    about: str
    unit: str = ""
    samples: list[tuple[dict[str, str], float]] = field(default_factory=list)

    def add(self, labels: dict[str, str], value: float) -> None:
        self.samples.append((labels, value))

    def lines(self) -> Iterator[str]:
        yield f"# TYPE {self.name} gauge"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {_escape(self.about)}"
        for labels, value in self.samples:
            shown = ",".join(f'{name}="{_escape(text)}"' for name, text in labels.items())
            yield f"{self.name}{f'{{{shown}}}' if shown else ''} {_number(value)}"


def metrics(outputs: Iterable[RunOutput], morning: Morning | None = None) -> str:
    """The text of some runs: each family once, with a sample a run, verdict, check or stage."""
    families = _families()
    for output in outputs:
        if output.outcome is not Outcome.OMITTED:
            _add_run(families, output)
    if morning is not None:
        _add_morning(families, morning)
    lines = [line for family in families.values() if family.samples for line in family.lines()]
    return "".join(f"{line}\n" for line in lines) + _EOF


def _families() -> dict[str, _Family]:
    unit = "seconds"
    return {
        name: _Family(name, about, unit if name.endswith(unit) else "")
        for name, about in FAMILIES.items()
    }


def _add_morning(families: dict[str, _Family], morning: Morning) -> None:
    for state in FindingState:
        found = sum(finding.state is state for finding in morning.findings)
        families["fencepost_night_findings"].add({"state": state}, found)
    worse = sum(finding.is_worse for finding in morning.findings)
    families["fencepost_night_worse_findings"].add({}, worse)
    for history in morning.scenarios:
        name = row_name(history.scenario, msgspec.json.decode(history.parameters))
        labels = {"scenario": name, "kafka": history.kafka}
        for verdict in Stability:
            families["fencepost_scenario_verdict"].add(
                labels | {"verdict": verdict}, history.verdict is verdict
            )
        families["fencepost_scenario_failed_runs"].add(labels, history.failed)
        families["fencepost_scenario_runs"].add(labels, history.runs)
    for change in (TrendChange.LARGER, TrendChange.SMALLER):
        marked = sum(trend.change is change for trend in morning.trends)
        families["fencepost_trend_changes"].add({"change": change}, marked)


def _add_run(families: dict[str, _Family], output: RunOutput) -> None:
    labels = {"run": output.name, "scenario": output.scenario}
    if output.run is not None:
        run = output.run
        labels |= {"kafka": run.on, "cluster": run.cluster}
        families["fencepost_run_seed"].add(labels, run.seed)
        if run.ended_micros is not None and run.seconds is not None:
            ended = run.ended_micros / MICROS_PER_SECOND
            families["fencepost_run_end_timestamp_seconds"].add(labels, ended)
    for verdict in RunVerdict:
        families["fencepost_run_verdict"].add(
            labels | {"verdict": str(verdict)}, output.word is verdict
        )
    is_expected = output.outcome == "expected"
    families["fencepost_run_as_expected"].add(labels, is_expected)
    if output.seconds is not None:
        families["fencepost_run_duration_seconds"].add(labels, output.seconds)
    _add_verdict(families, output, labels)


def _add_verdict(families: dict[str, _Family], output: RunOutput, labels: dict[str, str]) -> None:
    verdict = output.verdict
    if verdict is None:
        return
    by_check: Counter[str] = Counter()
    for entry in verdict.unexpected:
        by_check[entry.check] += entry.findings
    required = [expectation for expectation in verdict.expectations if not expectation.is_optional]
    families["fencepost_run_unexpected_findings"].add(labels, by_check.total())
    families["fencepost_expectations_met"].add(
        labels, sum(expectation.is_met for expectation in required)
    )
    families["fencepost_expectations"].add(labels, len(required))
    families["fencepost_faults_landed"].add(labels, sum(fault.landed for fault in verdict.faults))
    families["fencepost_faults"].add(labels, len(verdict.faults))
    if verdict.timing is not None:
        seconds: dict[str, float] = {}
        for phase in verdict.timing.phases:
            seconds[phase.stage] = seconds.get(phase.stage, 0.0) + phase.seconds
        for stage, value in seconds.items():
            families["fencepost_stage_duration_seconds"].add(labels | {"stage": stage}, value)
    for check, result in verdict.checks.items():
        of_check = labels | {"check": check}
        families["fencepost_check_findings"].add(of_check, result.findings)
        families["fencepost_check_unexpected_findings"].add(of_check, by_check[check])
        families["fencepost_check_evaluated"].add(of_check, result.evaluated)
        families["fencepost_check_exercised"].add(of_check, result.exercised)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.6f}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
