"""Facts are as declared."""

from analysis.statements.files import facts


def test_every_fact_says_what_a_row_is() -> None:
    assert facts()
    assert [fact.name for fact in facts().values() if not fact.about] == []


def test_every_fact_is_a_statement_or_computed() -> None:
    wrong = [
        fact.name for fact in facts().values() if bool(fact.text) == (fact.compute is not None)
    ]
    assert wrong == []
