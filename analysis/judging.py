"""One run judged: its verdict, its findings and its report, in its folder or at its URI."""

from dataclasses import replace

import msgspec
from pyspark.sql import SparkSession

from analysis.engine.session import is_jvm_alive, jvm_ended, require_jvm
from analysis.facts.load import load_trace
from analysis.facts.remote import RemoteFolder, RemoteRun
from analysis.report.answer import answer
from analysis.report.night_rows import Judged
from analysis.report.outputs import OUTPUT_FILES, write_run_outputs
from analysis.report.page import write_report
from analysis.verdict.every_finding import FindingsFile
from analysis.verdict.judge import judge
from contract.errors import AnalysisError, FencepostError
from contract.findings import FINDINGS_FILE
from contract.program import unexpected
from contract.regular_files import replace_file
from contract.run_folder import RunFolder
from contract.verdicts import Verdict

_VERDICT, _PAGE = "verdict.json", "index.html"
_TRACEBACK = "traceback.txt"
_WRITTEN = (_VERDICT, _PAGE, _TRACEBACK, FINDINGS_FILE, *OUTPUT_FILES)


def judge_run(spark: SparkSession, folder: RunFolder, remote: RemoteFolder | None = None) -> Judged:
    """Judge a run. If that fails, no earlier verdict and no earlier page stay in its folder.

    Args:
        spark: the session.
        folder: the run's, or the local one of its descriptions.
        remote: where it is really, if elsewhere; the report is written there too.
    """
    if remote is None:
        return _judge_local(spark, folder)
    try:
        remote.remove(folder, _WRITTEN)
        run = remote.run(folder)
        judged = _judge_local(spark, folder, run)
        run.scratch.remove()
        remote.publish(folder.report)
    except (FencepostError, OSError) as error:
        code = getattr(error, "exit_code", FencepostError.exit_code)
        judged = Judged(folder, None, str(error), code)
    return replace(judged, error=judged.error and remote.shown(judged.error))


def _judge_local(spark: SparkSession, folder: RunFolder, remote: RemoteRun | None = None) -> Judged:
    try:
        for earlier in _WRITTEN:
            (folder.report / earlier).unlink(missing_ok=True)
        trace = load_trace(spark, folder, remote)
        folder.report.mkdir(exist_ok=True)
        with FindingsFile(folder.report / FINDINGS_FILE) as findings:
            verdict = judge(trace, keep=findings.keep)
        verdict = msgspec.structs.replace(verdict, answer=answer(folder, verdict))
        require_jvm()
        _write(folder, verdict)
        spark.catalog.clearCache()
    except FencepostError as error:
        return Judged(folder, None, str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001 - the other runs are judged
        if not is_jvm_alive():
            return Judged(folder, None, str(jvm_ended()), AnalysisError.exit_code)
        what = unexpected(error, folder.report / _TRACEBACK)
        return Judged(folder, None, f"the analysis failed: {what}", FencepostError.exit_code)
    return Judged(folder, verdict)


def _write(folder: RunFolder, verdict: Verdict) -> None:
    write_report(folder, verdict)
    write_run_outputs(Judged(folder, verdict))
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")
