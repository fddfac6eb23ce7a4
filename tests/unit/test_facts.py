"""Facts are as declared."""

from analysis.statements.files import facts


def test_every_fact_says_what_a_row_is() -> None:
    assert facts()
    assert [one.name for one in facts().values() if not one.about] == []


def test_every_fact_is_a_statement_or_computed() -> None:
    wrong = [one.name for one in facts().values() if bool(one.text) == (one.compute is not None)]
    assert wrong == []
