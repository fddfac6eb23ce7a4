"""One run judged: its verdict, its findings and its report, in its folder."""

import time
from collections.abc import Callable

import msgspec

from analysis.facts.trace import Trace
from analysis.report.answer import answer, consequence
from analysis.report.night_rows import Judged
from analysis.report.outputs import OUTPUT_FILES, write_run_outputs
from analysis.report.page import write_report
from analysis.verdict.every_finding import FindingsFile
from analysis.verdict.judge import judge
from contract.errors import FencepostError
from contract.findings import FINDINGS_FILE
from contract.program import unexpected
from contract.regular_files import replace_file
from contract.run_folder import RunFolder
from contract.verdicts import Engine, Judging, Verdict

_VERDICT, _PAGE = "verdict.json", "index.html"
_TRACEBACK = "traceback.txt"
WRITTEN = (_VERDICT, _PAGE, _TRACEBACK, FINDINGS_FILE, *OUTPUT_FILES)
"""The files of a report that judging a run writes."""


def judge_folder(
    folder: RunFolder,
    load: Callable[[], Trace],
    *,
    engine: Engine,
    why: str,
    require: Callable[[], None] = lambda: None,
) -> Judged:
    """Judge a run. If that fails, no earlier verdict and no earlier page stay in its folder.

    Args:
        folder: the run's.
        load: reads its tables.
        engine: that judges it.
        why: this engine, in words.
        require: raises AnalysisError if the engine has ended, so that its results are none.
    """
    began = time.monotonic()
    try:
        for earlier in WRITTEN:
            (folder.report / earlier).unlink(missing_ok=True)
        trace = load()
        folder.report.mkdir(exist_ok=True)
        with FindingsFile(folder.report / FINDINGS_FILE) as findings:
            verdict = judge(trace, keep=findings.keep)
        verdict = msgspec.structs.replace(
            verdict, answer=answer(folder, verdict), follows=consequence(folder, verdict)
        )
        require()
        seconds = round(time.monotonic() - began, 1)
        judging = Judging(engine=engine, why=why, seconds=seconds)
        _write(folder, msgspec.structs.replace(verdict, judging=judging))
    except FencepostError as error:
        return Judged(folder, None, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the other runs are judged
        try:
            require()
        except FencepostError as ended:
            return Judged(folder, None, str(ended), ended.exit_code)
        what = unexpected(error, folder.report / _TRACEBACK)
        return Judged(folder, None, f"the analysis failed: {what}", FencepostError.exit_code)
    return Judged(folder, msgspec.structs.replace(verdict, judging=judging))


def _write(folder: RunFolder, verdict: Verdict) -> None:
    write_report(folder, verdict)
    write_run_outputs(Judged(folder, verdict))
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")
