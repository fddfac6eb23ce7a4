"""The page of one run."""

from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from analysis.facts.load import Trace
from analysis.report.timeline import timeline
from analysis.report.times import told_timing
from analysis.verdict.styles import IN_WORDS, said_epochs
from contract.run_folder import RunFolder
from contract.tables import MICROS_PER_SECOND
from contract.verdicts import Verdict, several_partitions


def environment() -> Environment:
    """Templates with every value escaped, and unknown names an error."""
    return Environment(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_report(folder: RunFolder, verdict: Verdict, trace: Trace) -> None:
    """Write `report/index.html`: one file that needs nothing else."""
    labels = {group.group: group.labels for group in trace.plan.groups}
    figure = timeline(trace)
    page = (
        environment()
        .get_template("run.html.j2")
        .render(
            verdict=verdict,
            run=trace.run,
            conditions=msgspec.structs.replace(trace.run, jars={}),
            question=trace.plan.question,
            several=several_partitions(verdict.resumption),
            labels=labels,
            label_names=sorted({name for label in labels.values() for name in label}),
            in_words=IN_WORDS,
            epochs_known=said_epochs(verdict.resumption),
            # Both come from plotly, which escapes what it is given.
            figure=Markup(figure),  # noqa: S704
            plotly=Markup(get_plotlyjs() if figure else ""),  # noqa: S704
            seconds=_seconds(trace),
            timing=told_timing(verdict.timing) if verdict.timing else "",
            as_json=_as_json,
        )
    )
    (folder.report / "index.html").write_text(page)


def _seconds(trace: Trace) -> str:
    if trace.run.ended_micros is None:
        return "did not end"
    return f"{(trace.run.ended_micros - trace.run.started_micros) / MICROS_PER_SECOND:.0f} s"


def _as_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
