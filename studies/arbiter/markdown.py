"""Sections and runs as Markdown."""

from collections.abc import Iterable, Iterator

from contract.markdown import table_row
from studies.arbiter.runs_shown import GroupShown, RunShown, anchor
from studies.arbiter.shown import Cell, Section

RUNS_PAGE = "arbiter-runs.md"
PREDICTIONS = "../studies/arbiter/predictions.yml"
_LINKS = 4
"""As many runs of a sentence have a link of their own."""
_HEAD = ("topic", "protocol", "manner", "style", "reset", "committed", "came out", "predicted")


def sections_as_markdown(shown: Iterable[Section]) -> Iterator[str]:
    """Return the lines of sections; figures lead to their runs, on RUNS_PAGE."""
    for section in shown:
        yield f"## {section.title}\n"
        for sentence in section.sentences:
            yield f"- {sentence.text} ({', '.join(_links(sentence))})"
        if section.sentences:
            yield ""
        for paragraph in section.text:
            yield f"{paragraph}\n"
        for table in section.tables:
            if table.caption:
                yield f"{table.caption}\n"
            yield table_row(*table.head)
            yield "|---" * len(table.head) + "|"
            yield from (table_row(*map(_cell, row)) for row in table.rows)
            yield ""


def runs_as_markdown(runs: Iterable[RunShown]) -> Iterator[str]:
    """Return the lines of every run: how to repeat it, and the outcome of each group."""
    for run in runs:
        yield f"### {run.story.name}\n"
        jars = "".join(f", `{jar}`" for jar in run.jars)
        yield (
            f"Kafka {run.story.verdict.kafka}, client {run.story.build}{jars}. Judged by "
            f"{run.story.judged_by}; took {run.seconds} s.\n"
        )
        yield f"```\n{run.command}\n```\n"
        if run.groups:
            yield table_row(*_HEAD)
            yield "|---" * len(_HEAD) + "|"
            yield from map(_group, run.groups)
            yield ""


def _group(group: GroupShown) -> str:
    row = group.row
    came_out = f"**{group.came_out}**" if group.is_otherwise else group.came_out
    return table_row(
        row.hazard.partition("/")[2],
        row.client,
        row.manner,
        row.style,
        row.reset,
        group.commits,
        came_out,
        f"[{group.predicted}]({PREDICTIONS}#L{group.line})",
    )


def _cell(one: Cell) -> str:
    if one.line:
        return f"[{one.text}]({PREDICTIONS}#L{one.line})"
    if one.stories:
        return f"[{one.text}]({_run(one.stories[0])})"
    return one.text


def _links(sentence: Cell) -> Iterator[str]:
    """Return what shows a sentence: a line, some of its runs, and where all are."""
    if sentence.source:
        is_code = sentence.source.startswith("https:")
        yield f"[{'source' if is_code else sentence.source}]({sentence.source})"
    for number, story in enumerate(sentence.stories[:_LINKS], start=1):
        yield f"[{'run' if number == 1 else number}]({_run(story)})"
    if len(sentence.stories) > _LINKS:
        yield f"[all {len(sentence.stories)}]({RUNS_PAGE}#every-run)"


def _run(story: str) -> str:
    return f"{RUNS_PAGE}#{anchor(story)}"
