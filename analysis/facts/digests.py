"""How stretches of a log are compared: what is equal in a digest is equal row by row.

A log is divided into buckets of offsets, and the rows of each source in a bucket are summed up: how
many they are, and two hashes over their offsets and values. Where the digests of two sources are
equal, so are their rows, but for one chance in 2^60 (docs/decisions/0010).
"""

from collections.abc import Iterable

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame

BUCKET_OFFSETS = 256

LOG = ("topic", "partition")
BUCKET = (*LOG, "_bucket")
DIGEST = ("records", "_xor", "_sum")


def with_bucket(rows: Frame, offset: str = "offset") -> Frame:
    """Rows with the bucket of an offset, as `_bucket`."""
    return rows.withColumn("_bucket", bucket_of(offset))


def bucket_of(offset: str) -> Column:
    """The bucket of a column of offsets."""
    return F.expr(f"({offset}) div {BUCKET_OFFSETS}")


def buckets_of(first: str, last: str) -> Column:
    """One row for each bucket that offsets from the first to the last lie in; none if none do."""
    first_bucket, last_bucket = f"({first}) div {BUCKET_OFFSETS}", f"({last}) div {BUCKET_OFFSETS}"
    # sequence() counts downwards where the last is below the first.
    return F.expr(
        f"explode(if({last} < {first}, array(), sequence({first_bucket}, {last_bucket})))"
    )


def bucket_start(ahead: int = 0) -> Column:
    """The first offset of a row's bucket, or of the bucket that is `ahead` buckets later."""
    return (F.col("_bucket") + ahead) * BUCKET_OFFSETS


def digest(*columns: str) -> Iterable[Column]:
    """Aggregates that are equal for equal sets of rows, whatever their order: DIGEST."""
    hashed = F.xxhash64(*columns)
    yield F.count(F.lit(1)).alias("records")
    yield F.bit_xor(hashed).alias("_xor")
    # Of 31 bits, so that a sum overflows beyond 2^32 rows only.
    yield F.sum(F.shiftrightunsigned(hashed, 33)).alias("_sum")


def summed(prefix: str = "", *, where: Column | None = None) -> Iterable[Column]:
    """Aggregates that join digests of disjoint rows to that of all, with a prefix to their names.

    Args:
        prefix: of the names, as in `sent_records`.
        where: of which rows; 0 where there are none.
    """
    for name in DIGEST:
        value = F.col(name) if where is None else F.when(where, F.col(name))
        whole = F.bit_xor(value) if name == "_xor" else F.sum(value)
        yield F.coalesce(whole, F.lit(0)).alias(f"{prefix}{name}")


def is_same(one: str, other: str) -> Column:
    """Whether two digests of a row are equal, by the prefixes of their names."""
    return F.expr(" and ".join(f"{one}{name} <=> {other}{name}" for name in DIGEST))


def within(rows: Frame, others: Frame, *columns: str) -> Frame:
    """Rows that have their equal among the others in these columns, which are never null."""
    return _by_hash(rows, others, *columns, how="left_semi")


def outside(rows: Frame, others: Frame, *columns: str) -> Frame:
    """Rows that have no equal among the others in these columns, which are never null."""
    return _by_hash(rows, others, *columns, how="left_anti")


def _by_hash(rows: Frame, others: Frame, *columns: str, how: str) -> Frame:
    key = key_of(*columns)
    return rows.select("*", key).join(others.select(key), on="_key", how=how).drop("_key")


def key_of(*columns: str) -> Column:
    """The hash of columns, as `_key`: moved and compared in a fraction of the time they take."""
    return F.xxhash64(*columns).alias("_key")
