"""Runs in folders whose names are no text, or would be orders to a terminal, have reports."""

import os
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from pages_of import run_folder, verdict_of

from analysis.engine.scratch import in_full
from analysis.report.night_rows import Judged
from analysis.report.outputs import as_json, write_session_outputs
from analysis.report.session_page import write_session
from analysis.tasks import Share, judge_here
from contract.errors import UsageError
from contract.run_folder import RunFolder
from simulator.history import Request, description, universes_of, write_history

NAMES = {
    "no UTF-8": (os.fsdecode(b"caf\xe9"), r"caf\xe9"),
    "escapes": ("a\x1b[2Jb\x07", r"a\x1b[2Jb\x07"),
    "turned": ("a\u202eb", r"a\u202eb"),
    "markup": ("<b>&[red]", "<b>&[red]"),
}
ORDERS = set("\x1b\x07\u202e")


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_a_session_of_an_odd_name_has_all_outputs(tmp_path: Path, kind: str) -> None:
    name, told = NAMES[kind]
    session = tmp_path / name
    (session / "report").mkdir(parents=True)
    runs = [
        Judged(run_folder(session / name), verdict_of({})),
        Judged(RunFolder(session / f"{name}-2"), None, f"the tables of {told} are gone", 64),
    ]
    write_session(session, runs)
    write_session_outputs(session, runs)
    report = session / "report"
    page = (report / "index.html").read_text()
    link = page.partition('href="../')[2].partition('"')[0]
    assert (report / "..").joinpath(os.fsdecode(unquoted(link))).parent.is_dir()
    rows = msgspec.json.decode((report / "summary.json").read_bytes())["runs"]
    assert rows[1]["error"] == f"the tables of {told} are gone"
    summary, metrics = ((report / one).read_text() for one in ("summary.md", "metrics.txt"))
    assert not ORDERS & set(summary + metrics)
    assert ET.fromstring((report / "junit.xml").read_bytes()) is not None  # noqa: S314
    assert as_json(runs, [])


def unquoted(link: str) -> bytes:
    from urllib.parse import unquote_to_bytes  # noqa: PLC0415 - as bytes, not as text

    return unquote_to_bytes(link)


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_a_run_of_an_odd_name_is_judged_or_says_why_not(tmp_path: Path, kind: str) -> None:
    name, told = NAMES[kind]
    folder = RunFolder(tmp_path / name)
    universes = universes_of(Request(events=1_000, seed=1))
    write_history(folder, universes, description(1, "test", "0", {}))
    found = judge_here(Share(at_once=1), folder, "a test")
    assert found.verdict is not None, found.error
    (folder.path / "plan.json").write_text("{")
    error = judge_here(Share(at_once=1), folder, "a test").error
    assert error is not None
    error.encode()
    assert kind != "no UTF-8" or told in error


def test_spark_refuses_a_name_that_java_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"caf\\xe9, whose name is not UTF-8"):
        in_full(tmp_path / NAMES["no UTF-8"][0])
