"""Stretches of a log that its sources tell alike, so that no record there needs a closer look.

On a large trace, nearly every record is where it should be, and joins of whole records cost most of
the time. So the log is cut into buckets of offsets, and the rows of each source in a bucket are
told by a digest: how many they are, and two hashes over their offsets and values. Where the digests
of two sources are equal, so are their rows, but for one chance in 2^60; only the other buckets are
joined record by record (docs/decisions/0010).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

BUCKET_OFFSETS = 8192
BROADCAST_ROWS_MAX = 300_000
"""More rows are not sent to every task."""

LOG = ("topic", "partition")
BUCKET = (*LOG, "_bucket")


def with_bucket(rows: DataFrame) -> DataFrame:
    """Rows with the bucket of their `offset`, as `_bucket`."""
    return rows.withColumn("_bucket", F.expr(f"offset div {BUCKET_OFFSETS}"))


def digest(*columns: str) -> Column:
    """An aggregate that is equal for equal sets of rows, whatever their order."""
    # Each hash is cut to 48 bits, so that a bucket's sum can't overflow.
    hashed = F.xxhash64(*columns)
    return F.struct(F.count(F.lit(1)), F.bit_xor(hashed), F.sum(F.shiftrightunsigned(hashed, 16)))


def digests(rows: DataFrame, *keys: str) -> DataFrame:
    """(*keys, topic, partition, _bucket, told): of rows with topic, partition, offset, value."""
    return with_bucket(rows).groupBy(*keys, *BUCKET).agg(digest("offset", "value").alias("told"))


def alike(one: DataFrame, other: DataFrame, *keys: str) -> DataFrame:
    """(*keys, topic, partition, _bucket): where two sources' digests are equal.

    Args:
        one: digests by keys.
        other: digests without.
        keys: what `one` has besides.
    """
    return (
        one.join(other.withColumnRenamed("told", "other"), on=list(BUCKET), how="inner")
        .where("told = other")
        .select(*keys, *BUCKET)
    )


def outside(rows: DataFrame, buckets: DataFrame, *keys: str) -> DataFrame:
    """Rows with `_bucket` that lie in none of the buckets; few enough to be sent to every task."""
    return rows.join(F.broadcast(buckets), on=[*keys, *BUCKET], how="left_anti")


def missing_from(rows: DataFrame, others: DataFrame, *keys: str) -> DataFrame:
    """Rows whose keys no other row has, where the rows are few and the others many.

    The others are read, but not moved: only those with the keys of a row are.

    Args:
        rows: materialized.
        others: many.
        keys: in both.
    """
    if rows.count() > BROADCAST_ROWS_MAX:
        return rows.join(others, on=list(keys), how="left_anti")
    wanted = F.broadcast(rows.select(*keys).distinct())
    found = others.select(*keys).join(wanted, on=list(keys), how="left_semi").distinct()
    return rows.join(F.broadcast(found), on=list(keys), how="left_anti")
