"""The Spark session that judges runs."""

from pyspark.sql import SparkSession

LOCAL = "local[*]"
_SMALL_INPUT_PARTITIONS = "2"


def open_session(master: str | None = None) -> SparkSession:
    """A session on this machine (`local[*]`), or on a master given as Spark's `--master` is."""
    builder = (
        SparkSession.builder.appName("fencepost")
        .master(master or LOCAL)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", _SMALL_INPUT_PARTITIONS)
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    )
    if master is None:
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
