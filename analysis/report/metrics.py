"""The verdicts of runs as OpenMetrics text (docs/outputs.md).

All families are gauges, so that Prometheus's own text format reads them too.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from analysis.report.run_output import RunOutput
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import RunVerdict

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
        yield f"# HELP {self.name} {_escaped(self.about)}"
        for labels, value in self.samples:
            shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{{{shown}}} {_number(value)}"


def metrics(outputs: Iterable[RunOutput]) -> str:
    """The text of some runs: each family once, with a sample a run, verdict, check or stage."""
    families = _families()
    for output in outputs:
        _add(families, output)
    lines = [line for family in families.values() if family.samples for line in family.lines()]
    return "".join(f"{line}\n" for line in lines) + _EOF


def _families() -> dict[str, _Family]:
    unit = "seconds"
    return {
        name: _Family(name, about, unit if name.endswith(unit) else "")
        for name, about in FAMILIES.items()
    }


def _add(families: dict[str, _Family], output: RunOutput) -> None:
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
    for one in verdict.unexpected:
        by_check[one.check] += one.findings
    required = [one for one in verdict.expectations if not one.is_optional]
    families["fencepost_run_unexpected_findings"].add(labels, by_check.total())
    families["fencepost_expectations_met"].add(labels, sum(one.is_met for one in required))
    families["fencepost_expectations"].add(labels, len(required))
    families["fencepost_faults_landed"].add(labels, sum(one.landed for one in verdict.faults))
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


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
