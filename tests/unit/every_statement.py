"""Every statement of the facts and checks, by the tables and facts that it names."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa

from analysis.engine.prepared import prepared
from analysis.statements.files import ROOT, Fact, facts
from analysis.statements.plan import PLANNED
from analysis.statements.registry import CHECKS, CheckDefinition
from analysis.statements.trace import schema_of
from contract.tables import TABLES
from contract.terms import Check


@cache
def statements() -> dict[str, str]:
    """By what they are of: `permits`, `lost_record: findings`."""
    found = {fact.name: fact.text for fact in facts().values() if fact.text}
    for check, definition in CHECKS.items():
        found |= {
            f"{check}: findings": definition.findings,
            f"{check}: evaluated": definition.evaluated,
        }
        if definition.summary:
            found[f"{check}: summary"] = definition.summary
        if definition.header.is_by_rules:
            found[f"{check}: rows"] = definition.rows.text
    return found


def declared_schemas() -> dict[str, pa.Schema]:
    """Of all tables and facts, by their names."""
    return {**TABLES, **PLANNED, **{fact.name: schema_of(fact) for fact in facts().values()}}


def tables_of(definition: Fact | CheckDefinition) -> Iterable[str]:
    """The tables and facts that it names itself."""
    if isinstance(definition, CheckDefinition):
        texts = (
            text for name, text in statements().items() if name.startswith(f"{definition.name}: ")
        )
        return {table for text in texts for table in prepared(text).tables} - {definition.name}
    if definition.compute is not None:
        return facts_named_in(ROOT / "facts" / f"{definition.subject}.py")
    return prepared(definition.text).tables


def read_by(check: Check) -> set[str]:
    """The tables and facts that a check names, or a fact that it reads."""
    return made_of(tables_of(CHECKS[check]))


def made_of(names: Iterable[str]) -> set[str]:
    """Tables and facts, and all that these facts are made of."""
    found: set[str] = set()
    more = set(names)
    while more:
        found |= more
        each = (tables_of(facts()[name]) for name in more & facts().keys())
        more = {table for tables in each for table in tables} - found
    return found


@cache
def facts_named_in(path: Path) -> set[str]:
    """The facts that statements in a module name, or that a text in it consists of."""
    texts = list(texts_in(ast.parse(path.read_text())))
    read = {name for text in texts for name in re.findall(r"\b(?:from|join)\s+(\w+)", text)}
    return {*texts, *read} & facts().keys()


def texts_in(tree: ast.AST) -> Iterator[str]:
    """But for docstrings."""
    reported = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in reported
        ):
            yield node.value
