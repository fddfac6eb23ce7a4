"""The changes of statements that the exam is judged by, and the page about them."""

import pytest
from sqlglot import parse_one

from analysis.statements.registry import CHECKS
from contract.tables import TABLES
from contract.terms import Check
from lab.changes import DETERMINED, Change, changes, changes_of_condition, in_one_spelling
from lab.macros import changes_of_macro, changes_of_template, complete, template
from lab.mutants import changes_of, macros
from lab.mutants_page import (
    Counts,
    Judged,
    Mutants,
    Outcome,
    Reason,
    count_outcomes,
    part,
    reasons,
    survivors,
    together,
)
from tests.exam.exam import questions

pytestmark = pytest.mark.extended


def changes_in(text: str) -> list[str]:
    """All changes of a statement, of which the words around are left out."""
    return [change.text.removeprefix("SELECT ") for change in changes(f"select {text}")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a >= b", ["a > b"]),
        ("a = b", ["a <> b"]),
        ("not a", ["a"]),
        ("a is null", ["NOT a IS NULL"]),
        ("a is not null", ["a IS NULL"]),
        ("a between b and c", ["(a > b AND a <= c)", "(a >= b AND a < c)"]),
        ("a > 1", ["a >= 1", "a > 2"]),
        ("a > b * 1000000", ["a >= b * 1000000"]),
        ("a > 50000", ["a >= 50000", "a > 100000"]),
        ("a + 1", ["a + 2"]),
        ("get(a, 1)", []),
        ("a and b", ["(a OR b)", "a", "b"]),
        (
            "a and b and c",
            ["((a AND b) OR c)", "(a OR b) AND c", "a AND b", "a AND c", "b AND c"],
        ),
        ("a or b", ["(a AND b)"]),
        ("min(a)", ["MAX(a)"]),
        ("max_by(a, b)", ["MIN_BY(a, b)"]),
        ("coalesce(a, 0)", ["COALESCE(a, 1)"]),
        ("coalesce(a, false)", ["COALESCE(a, TRUE)"]),
        ("coalesce(a, b)", ["a"]),
        ("count(distinct a)", ["COUNT(a)"]),
        ("distinct a", ["a"]),
        ("1 union select 2", ["1 UNION ALL SELECT 2"]),
        ("1 from t where a", ["1 FROM t WHERE TRUE"]),
        (
            "1 from t semi join u on a",
            ["1 FROM t ANTI JOIN u ON a", "1 FROM t SEMI JOIN u ON TRUE"],
        ),
        ("1 from t left join u using (a)", ["1 FROM t JOIN u USING (a)"]),
        (
            "1 from t join u using (a, b)",
            [
                "1 FROM t LEFT JOIN u USING (a, b)",
                "1 FROM t JOIN (SELECT * EXCEPT (a) FROM u) AS u USING (b)",
                "1 FROM t JOIN (SELECT * EXCEPT (b) FROM u) AS u USING (a)",
            ],
        ),
        (
            "1 from t semi join u using (group, member)",
            ["1 FROM t ANTI JOIN u USING (group, member)", "1 FROM t SEMI JOIN u USING (group)"],
        ),
        (
            "1 from t join u on a where b",
            [
                "1 FROM t LEFT JOIN u ON a WHERE b",
                "1 FROM t JOIN u ON TRUE WHERE b",
                "1 FROM t JOIN u ON a WHERE TRUE",
            ],
        ),
        (
            "1 from t join u on a where u.b",
            ["1 FROM t JOIN u ON TRUE WHERE u.b", "1 FROM t JOIN u ON a WHERE TRUE"],
        ),
        (
            "1 from t join sends on a where acks",
            ["1 FROM t JOIN sends ON TRUE WHERE acks", "1 FROM t JOIN sends ON a WHERE TRUE"],
        ),
        ("1 order by a desc", ["1 ORDER BY a ASC NULLS LAST"]),
        (
            "lag(a) over (partition by topic, b)",
            ["LAG(a) OVER (PARTITION BY b)", "LEAD(a) OVER (PARTITION BY topic, b)"],
        ),
    ],
)
def test_a_statement_is_changed_in_each_place(text: str, expected: list[str]) -> None:
    assert sorted(changes_in(text)) == sorted(expected)


def test_columns_are_determined_by_others_in_the_whole_exam() -> None:
    for question in questions():
        for table, rows in question.history().rows.items():
            columns = {*TABLES[table].names}
            for by, of in DETERMINED.items():
                if not columns.issuperset(of):
                    continue
                named = [row for row in rows if all(map(row.get, by))]
                known = {tuple(row[column] for column in (*by, *of)) for row in named}
                assert len(known) == len({values[: len(by)] for values in known})


def test_a_window_begins_and_ends_elsewhere() -> None:
    window = "sum(a) over (order by b rows between unbounded preceding and 1 preceding)"
    edges = {text.lower().partition("rows ")[2] for text in changes_in(window)}
    assert edges == {
        "between unbounded preceding and 1 preceding)",
        "between 1 preceding and 1 preceding)",
        "between unbounded preceding and 2 preceding)",
    }


def test_a_condition_also_holds_always_and_never() -> None:
    assert [change.text for change in changes_of_condition("a < 1")] == [
        "a <= 1",
        "a < 2",
        "TRUE",
        "FALSE",
    ]


def test_the_last_select_is_left_as_it_is() -> None:
    (change,) = changes("with s as (select a < b as c) select c = d from s", only_steps=True)
    assert change.step == "s"
    assert (change.before, change.after) == (
        "s AS (SELECT a < b AS c) SELECT",
        "s AS (SELECT a <= b AS c) SELECT",
    )


def test_every_change_of_a_check_is_another_statement_and_the_same_each_time() -> None:
    definition = CHECKS[Check.COMMIT_REGRESSED]
    made = list(changes_of(definition))
    assert made == list(changes_of(definition))
    texts = {in_one_spelling(change.text) for change in made}
    assert len(texts) == len(made)
    assert in_one_spelling(definition.findings) not in texts
    assert {change.step for change in made} >= {"pairs", "back", "case 1, when"}
    assert all(parse_one(text, read="spark") for text in texts)


def test_a_check_whose_rows_are_kept_is_changed_in_its_own_steps() -> None:
    assert "compared" in {change.step for change in changes_of(CHECKS[Check.WRONG_EPOCH_ERROR])}


def test_a_statement_is_complete_again_with_its_macros() -> None:
    for source in (check.source for check in CHECKS.values()):
        assert complete(template(source.statement)).split() == source.text.split()


def test_a_macro_is_changed_in_all_its_uses() -> None:
    used = template(
        "{{ is_overwritten('epoch', '1', 'a') }} or {{ is_overwritten('2', 'b', 'c') }}"
    )
    (form,) = {use.form for use in used.uses.values()}
    (changed,) = (body for change, body in changes_of_macro(form) if "<=" in change.after)
    text = complete(used, {form: changed})
    assert "one.start_high <= 1" in text
    assert "one.start_high <= b" in text


def test_arguments_of_a_macro_are_changed_and_rows_that_it_leaves_out() -> None:
    used = template("select * from {{ of_present_topic('(select * from t where a)', 'at') }} as r")
    made = {(change.before, change.after): change.text for change in changes_of_template(used)}
    assert [after for _, after in made] == [
        "of_present_topic(rows=* FROM t WHERE TRUE))",
        "(select * from t where a)",
    ]
    text = made["of_present_topic(…)", "(select * from t where a)"]
    assert text == "select * from (select * from t where a) as r"


def test_every_macro_that_a_check_uses_is_judged_by_it() -> None:
    assert "spans" in macros()
    assert {form.macro for forms in macros().values() for form in forms} == macros().keys()


def test_the_page_counts_what_was_noticed_and_lists_what_was_not() -> None:
    outcomes = [Outcome.VERDICT, Outcome.PLACE, Outcome.ERROR, Outcome.WORDS, Outcome.NONE]
    judged = Judged(
        [(Change("s", f"a{outcome}", f"b{outcome}", ""), outcome) for outcome in outcomes]
    )
    reported = part(Mutants(count_outcomes({"lost_record": judged}), [], []))
    assert "| lost_record | 5 | 3 | 1 | 1 | 1 | 0 | 0.60 |" in reported
    reported = "\n".join(survivors({"lost_record": judged}))
    assert "- s: `anot noticed` → `bnot noticed`" in reported
    assert "- s (in words): `ain words` → `bin words`" in reported


def test_a_survivor_with_a_reason_does_not_count() -> None:
    judged = Judged(
        [(Change("s", "a", "b", ""), Outcome.NONE), (Change("s", "c", "d", ""), Outcome.PLACE)]
    )
    given = [Reason("x", before, after, "") for before, after in (("a", "b"), ("c", "d"))]
    assert judged.excuse(given) == [given[1]]
    assert judged.counts() == {Outcome.EQUIVALENT: 1, Outcome.PLACE: 1}
    (counts,) = count_outcomes({"x": judged})
    assert counts == Counts("x", 2, 1, 0, 0, 0, equivalent=1)
    assert counts.share == "1.00"
    assert together([counts, counts]) == Counts("all", 4, 2, 0, 0, 0, equivalent=2)


def test_every_reason_is_of_a_check_or_macro_and_in_one_sentence() -> None:
    assert {reason.of for reason in reasons()} <= set(map(str, CHECKS)) | macros().keys()
    assert [reason for reason in reasons() if not reason.reason.endswith(".")] == []
