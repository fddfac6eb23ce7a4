"""What a statement leaves out: columns that nothing reads, and what has no rows for certain."""

from dataclasses import replace
from functools import reduce

import pytest

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame, View
from analysis.engine.sharing import resolved, shared, used_once
from analysis.engine.statements import statement


def table(name: str, *columns: str) -> Frame:
    return Frame(None, columns, View(name))  # type: ignore[arg-type] - nothing is run


def empty(name: str, *columns: str) -> Frame:
    return replace(table(name, *columns), is_empty=True)


POLLS = table("polls", "group", "offset", "value")
GROUPS = table("groups", "group", "client")
NONE = empty("nothing", "group", "reason")


def never(frame: Frame) -> Frame:
    raise AssertionError(f"{frame.columns} is computed in vain")


def test_columns_that_nothing_reads_are_left_out() -> None:
    wide = POLLS.withColumns({"next": F.col("offset") + 1, "unread": F.col("offset") * 2})
    text = statement(wide.where("next > 3").select("value"))
    assert "unread" not in text
    assert "`group`" not in text
    assert "(`offset` + 1) AS `next`" in text


def test_all_columns_stay_where_rows_are_compared_or_counted_by_them() -> None:
    assert statement(POLLS.distinct().select("group")).count("`value`") == 1
    grouped = POLLS.groupBy("group", "value").agg(
        F.max("offset").alias("most"), F.min("offset").alias("least")
    )
    text = statement(grouped.where("most > 3").select("group"))
    assert "GROUP BY 1, 2" in text
    assert "`value`" in text
    assert "least" not in text
    listed = POLLS.withColumn("each", F.expr("explode(value)")).where("offset > 1").select("group")
    assert "explode(value)" in statement(listed)
    whole = POLLS.withColumn("next", F.col("offset") + 1).where("next > 1")
    assert "`value`" in statement(whole.selectExpr("struct(*) as whole"))


def test_parts_of_a_union_have_the_same_columns() -> None:
    grouped = POLLS.groupBy("value").agg(F.max("offset").alias("most"))
    united = grouped.union(GROUPS.select("client", "group")).where("most > 2").select("most")
    first, second = statement(united).split("UNION ALL")
    assert "SELECT `most` FROM (SELECT `value`, max(`offset`) AS `most`" in first
    assert "SELECT `group` FROM groups" in second


def test_a_frame_that_is_read_twice_has_what_either_needs() -> None:
    large = POLLS.groupBy("group").agg(
        F.max("offset").alias("most"), F.min("offset").alias("least"), F.count("value").alias("n")
    )
    most, least = large.select("group", "most"), large.select("group", "least")
    text = statement(most.join(least, on="group", how="inner"))
    assert text.startswith("WITH step_1 AS (SELECT `group`, max(`offset`) AS `most`, min(")
    assert "count(" not in text


@pytest.mark.parametrize(
    "frame",
    [
        NONE.where("reason = 1"),
        NONE.groupBy("group").agg(F.count("reason").alias("n")),
        POLLS.join(NONE, on="group", how="inner"),
        POLLS.join(NONE, on="group", how="left_semi").distinct(),
        POLLS.crossJoin(NONE.toDF("other", "reason")),
        NONE.join(GROUPS, on="group", how="left").limit(3),
        NONE.join(shared(POLLS.where("offset > 1")), on="group", how="left_anti"),
        NONE.union(NONE),
        shared(POLLS.where("offset > 1")).join(NONE, on="group", how="inner"),
    ],
)
def test_what_an_empty_table_makes_empty_is_not_computed(frame: Frame) -> None:
    assert resolved(frame, never, frozenset()) is None
    assert resolved(shared(frame).select("group"), never, frozenset()) is None


@pytest.mark.parametrize(
    "frame",
    [
        NONE.agg(F.count("reason").alias("n")),
        POLLS.join(NONE, on="group", how="left"),
        POLLS.join(NONE, on="group", how="full_outer"),
        NONE.join(GROUPS, on="group", how="full_outer"),
        POLLS.select("group").union(NONE.select("group")),
    ],
)
def test_what_may_have_rows_is_computed(frame: Frame) -> None:
    assert resolved(frame, never, frozenset()) is not None


def test_an_empty_part_and_an_empty_exclusion_are_left_out() -> None:
    left = POLLS.join(NONE, on="group", how="left_anti")
    found = resolved(
        NONE.toDF("first", "second").union(left.select("group", "value")), never, used_once([])
    )
    assert found is not None
    assert found.columns == ("first", "second")
    assert statement(found) == "SELECT `group` AS `first`, `value` AS `second` FROM polls AS _0"


def test_each_union_without_its_first_part_keeps_its_own_rows() -> None:
    tables = [table(f"t{number}", "group", "reason") for number in range(20)]
    parts = [NONE.toDF("first", "second").union(one).where("first > 1") for one in tables]
    found = resolved(reduce(Frame.union, parts), never, frozenset())
    assert found is not None
    assert all(f"FROM t{number} AS" in statement(found) for number in range(20))


def test_what_is_computed_without_rows_counts_as_empty() -> None:
    computed: list[Frame] = []

    def without_rows(frame: Frame) -> Frame:
        computed.append(frame)
        return empty("t1", *frame.columns)

    suspects = shared(POLLS.where("offset > 1"))
    unneeded = shared(GROUPS.where("client = 1"))
    assert (
        resolved(suspects.join(unneeded, on="group", how="inner"), without_rows, frozenset())
        is None
    )
    assert len(computed) == 1
