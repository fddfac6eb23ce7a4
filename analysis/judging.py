"""One run judged: its verdict, its findings and its report, in its folder.

A report is made beside the earlier one, and then put into its place file by file: neither a full
disk nor a kill loses an earlier one.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

from analysis.report.answer import answer, consequence
from analysis.report.night_rows import Judged
from analysis.report.outputs import OUTPUT_FILES, write_run_outputs
from analysis.report.page import write_report
from analysis.report.run_facts import RunFacts
from analysis.runs.remote import RemoteFolder
from analysis.statements.trace import Trace
from analysis.verdict.every_finding import FindingsFile
from analysis.verdict.judge import judge
from contract.errors import AnalysisError, FencepostError, RunFolderError, StorageError
from contract.files import printable, read_described, replace_file, storage_error
from contract.locks import HeldFolder, alone_in, remove_unheld
from contract.program import report_unexpected
from contract.run_folder import JUDGING, RunFolder, report_folder
from contract.verdicts import FINDINGS_FILE, Judging, Verdict

_VERDICT, _PAGE = "verdict.json", "index.html"
_TRACEBACK = "traceback.txt"
WRITTEN = (_VERDICT, _PAGE, _TRACEBACK, FINDINGS_FILE, *OUTPUT_FILES)
"""The files of a report that judging a run writes."""
_ITS = Path("its folder")
"""In an error, which is shown with the path of the run."""
_REMOVED = "its folder was removed while it was judged: if it was moved, judge it where it is now"
_SPILLED = "spilled"


def judge_folder(
    folder: RunFolder,
    load: Callable[[Path], Trace],
    *,
    why: str,
) -> Judged:
    """Judge a run, alone among the processes that write into its folder.

    If the run can't be judged, no earlier report stays. If its folder can't be written, all stays.

    Args:
        folder: the run's.
        load: reads its tables; it may keep files in the folder that it is given.
        why: what is judged, in words.
    """
    try:
        folder.require_own()
        with alone_in(folder.path):
            remove_unheld(folder.path, JUDGING)
            beside = HeldFolder(folder.path, JUDGING)
            try:
                making = replace(folder, report_name=beside.path.name)
                judging = Judging(why=why, seconds=0.0)
                verdict = _judge_run(folder, making, load, judging)
            finally:
                beside.remove()
    except (FencepostError, OSError) as error:
        reported = _reported(error, folder)
        return Judged(folder, None, printable(str(reported)), reported.exit_code)
    return Judged(folder, verdict)


def _reported(error: FencepostError | OSError, folder: RunFolder) -> FencepostError:
    """What is reported of a run that can't be judged."""
    if not folder.path.exists():
        return StorageError(_REMOVED)
    if isinstance(error, FencepostError):
        return error
    return storage_error(error, _ITS) or RunFolderError(str(error))


def kept_verdict(folder: RunFolder) -> Judged:
    """Return a run whose raw data and tables were removed, with the verdict that it has."""
    file = folder.report / _VERDICT
    try:
        return Judged(folder, read_described(file, Verdict))
    except (RunFolderError, FileNotFoundError) as error:
        why = f"its raw data were removed, and {printable(str(file))} can't be read: {error}"
        return Judged(folder, None, why, RunFolderError.exit_code)


def forget_report(folder: RunFolder) -> None:
    """Remove the files of an earlier report."""
    for name in WRITTEN:
        (folder.report / name).unlink(missing_ok=True)


def withdrawn(judged: Judged, remote: RemoteFolder) -> Judged:
    """A run at a URI that can't be judged, after its earlier report there is removed."""
    if judged.exit_code == StorageError.exit_code:
        return judged
    try:
        remote.remove(judged.folder, WRITTEN)
    except FencepostError as error:
        return replace(judged, error=f"{judged.error}; {error}")
    return judged


def _judge_run(
    folder: RunFolder,
    making: RunFolder,
    load: Callable[[Path], Trace],
    judging: Judging,
) -> Verdict:
    """Judge a run into `making`, and put the report into the run's folder.

    Raises:
        FencepostError: that can't be done.
    """
    began = time.monotonic()
    try:
        spilled = making.report / _SPILLED
        spilled.mkdir()
        trace = load(spilled)
        with FindingsFile(making.report / FINDINGS_FILE) as findings:
            verdict = judge(trace, keep=findings.keep)
        if (newer := folder.expected()) is not None:
            verdict = msgspec.structs.replace(verdict, expected_by=newer.source)
        facts = RunFacts(making, trace)
        verdict = msgspec.structs.replace(
            verdict, answer=answer(facts, verdict), follows=consequence(facts, verdict)
        )
        seconds = round(time.monotonic() - began, 1)
        judging = msgspec.structs.replace(judging, seconds=seconds)
        verdict = msgspec.structs.replace(verdict, judging=judging)
        _write(facts, verdict)
        _put_into_place(making, folder)
    except Exception as error:
        if (full := storage_error(error, _ITS)) is not None:
            raise full from error
        if not folder.path.exists():
            raise StorageError(_REMOVED) from error
        forget_report(folder)
        if isinstance(error, FencepostError):
            raise
        what = report_unexpected(error, folder.report / _TRACEBACK)
        raise AnalysisError(f"the analysis failed: {what}") from error
    return verdict


def _write(facts: RunFacts, verdict: Verdict) -> None:
    folder = facts.folder
    write_report(facts, verdict)
    write_run_outputs(Judged(folder, verdict))
    text = msgspec.json.format(msgspec.json.encode(verdict), indent=2)
    replace_file(folder.report / _VERDICT, text + b"\n")


def _put_into_place(made: RunFolder, folder: RunFolder) -> None:
    """Move the files of a report, the verdict last.

    Raises:
        RunFolderError: there is a folder of the name of one.
    """
    report = report_folder(folder.path)
    for name in WRITTEN:
        if (report / name).is_dir():
            raise RunFolderError(f"{report / name} is a folder: remove it")
    for name in sorted(WRITTEN, key=lambda name: name == _VERDICT):
        if (made.report / name).exists():
            (made.report / name).replace(report / name)
        else:
            (report / name).unlink(missing_ok=True)
