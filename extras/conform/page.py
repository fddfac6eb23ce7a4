"""What `fencepost conform` found: a page, JUnit XML, and the endpoint of a badge."""

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import msgspec

from analysis.report.outputs import count_cases, xml_document
from analysis.report.templating import environment
from analysis.report.words import duration
from contract.files import as_word, replace_file, replace_text
from contract.program import escape_orders, plain, table
from extras.conform.expected import FAILING, Job, Result, Standing

PAGE_FILE, JUNIT_FILE, BADGE_FILE = "index.html", "junit.xml", "badge.json"
MARKDOWN_FILE = "conform.md"
_SKIPPED = (Standing.NOT_APPLICABLE, Standing.EXPECTED, Standing.UNCONFIRMED)
_LABEL = "keeps its place"
_TEMPLATE = Path(__file__).with_name("conform.html.j2")


def write_job(home: Path, job: Job) -> None:
    """Write all of them into the folder of a job."""
    replace_text(home / PAGE_FILE, page(job))
    replace_file(home / JUNIT_FILE, junit(job))
    replace_text(home / MARKDOWN_FILE, escape_orders(markdown(job)))
    replace_file(home / BADGE_FILE, msgspec.json.encode(badge(job)) + b"\n")


def page(job: Job) -> str:
    """The page: a table of the cells, and the stories behind them."""
    return (
        environment()
        .from_string(_TEMPLATE.read_text())
        .render(
            job=job,
            duration=duration,
            as_word=as_word,
            failing=[str(standing) for standing in FAILING],
        )
    )


def markdown(job: Job) -> str:
    """The cells as a table, e.g. for the job summary of a CI system."""
    rows = [
        [plain(text) for text in (result.cell.place, result.words, result.standing)]
        for result in job.results
        if result.standing is not Standing.NOT_APPLICABLE
    ]
    title = plain(f"{job.name} on Kafka {job.kafka}: {job.badge}")
    return f"## {title}\n\n{table(['cell', 'outcome', 'standing'], rows)}\n"


def junit(job: Job) -> bytes:
    """A suite of one test case a cell: a failure is one that makes the job fail."""
    root = Element("testsuites", name="fencepost conform")
    suite = SubElement(root, "testsuite", name=job.name)
    properties = SubElement(suite, "properties")
    known = {"version": job.version, "kafka": job.kafka, "seed": str(job.seed)}
    for name, value in known.items():
        SubElement(properties, "property", name=name, value=value)
    for result in job.results:
        _case(suite, job, result)
    for element in (suite, root):
        count_cases(element, root.iter("testcase"))
    return xml_document(root)


def _case(suite: Element, job: Job, result: Result) -> None:
    cell = result.cell
    name = f"{cell.meets}.{cell.commit}.{cell.reset}"
    classname = f"fencepost.{job.name}.{cell.hazard}"
    case = SubElement(suite, "testcase", classname=classname, name=name)
    message = result.words
    if result.standing in FAILING:
        failure = SubElement(case, "failure", type=result.standing, message=message)
        failure.text = "\n".join([result.words, *cell.causes, *_again(job, result)])
    elif result.standing is Standing.NOT_EVALUABLE:
        error = SubElement(case, "error", type=result.standing, message=message)
        error.text = "\n".join([result.words, *cell.causes, *_again(job, result)])
    elif result.standing in _SKIPPED:
        SubElement(case, "skipped", message=message)


def _again(job: Job, result: Result) -> list[str]:
    """The pages and commands of the stories of a cell."""
    of = [story for story in job.stories if story.hazard == result.cell.hazard]
    return [f"{story.page}; again: {story.rerun}" for story in of]


def badge(job: Job) -> dict[str, object]:
    """The endpoint of a badge, as shields.io reads it."""
    return {
        "schemaVersion": 1,
        "label": _LABEL,
        "message": f"{job.badge}, Kafka {job.kafka}",
        "color": "informational",
    }
