"""A run that is too large for a task: judged by Spark SQL, over all executors."""

from dataclasses import replace

from pyspark.sql import SparkSession

from analysis.engine.session import require_jvm
from analysis.judging import judge_folder, withdrawn
from analysis.report.night_rows import Judged
from analysis.runs.load import load_trace
from analysis.runs.remote import RemoteFolder, RemoteRun
from contract.errors import FencepostError
from contract.run_folder import RunFolder
from contract.verdicts import Engine


def judge_by_sql(
    spark: SparkSession, folder: RunFolder, why: str, remote: RemoteFolder | None = None
) -> Judged:
    """Judge a run, as `judge_folder` does.

    Args:
        spark: the session.
        folder: the run's, or the local one of its descriptions.
        why: by this engine, in words.
        remote: where it is really, if elsewhere; the report is written there too.
    """
    if remote is None:
        return _judge_local(spark, folder, why)
    try:
        run = remote.run(folder)
        judged = _judge_local(spark, folder, why, run)
        run.scratch.remove()
        if judged.verdict is None:
            judged = withdrawn(judged, remote)
        remote.publish(folder.report)
    except (FencepostError, OSError) as error:
        code = getattr(error, "exit_code", FencepostError.exit_code)
        judged = Judged(folder, None, str(error), code)
    return replace(judged, error=judged.error and remote.shown(judged.error))


def _judge_local(
    spark: SparkSession, folder: RunFolder, why: str, remote: RemoteRun | None = None
) -> Judged:
    return judge_folder(
        folder,
        lambda _: load_trace(spark, folder, remote),
        engine=Engine.SPARK_SQL,
        why=why,
        require=require_jvm,
    )
