"""What the site shows of declarations: facts, tables, checks, rules, scenarios, faults."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import prod
from os.path import relpath
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

import analysis.facts
from analysis.statements.cases import Case
from analysis.statements.files import facts
from analysis.statements.registry import CHECKS, DESCRIBED, FAMILIES, Description
from analysis.statements.trace import columns_of
from contract.protocol import API_NAMES, RULES
from contract.table_columns import YEAR_10000_MICROS, Column
from contract.tables import DECLARED
from contract.terms import Check
from contract.verdicts import FindingVerdict
from harness.commands.requirements import DEFAULT_KAFKA
from harness.faults import Fault
from harness.faults.language import FAULTS
from harness.nightly.suite import Entry, find_suite
from harness.session.catalog import ScenarioFile, scenarios

_SUBJECTS = Path(analysis.facts.__path__[0]) / "subjects.yml"
"""What the facts of each subject are about, as Markdown."""
_DOCS = Path(__file__).resolve().parents[1] / "docs"
_NIGHTLY = "nightly"
Row = Sequence[object]


def of_facts() -> dict[str, Any]:
    """Every fact; those of one subject stand together."""
    about = msgspec.yaml.decode(_SUBJECTS.read_bytes(), type=dict[str, str])
    every = sorted(facts().values(), key=lambda one: (one.subject, one.name))
    subjects = {
        name: {"about": about[name], "facts": [(one, _columns(columns_of(one))) for one in found]}
        for name, found in groupby(every, key=lambda one: one.subject)
    }
    return {"subjects": subjects}


def _columns(columns: Iterable[Column]) -> list[Row]:
    return [(one.name, type_in_words(one.type), one.about) for one in columns]


def of_tables() -> dict[str, Any]:
    """Every table of a run."""
    return {
        "tables": {
            name: (table, [(one.name, _type_and_bounds(one), one.about) for one in table.columns])
            for name, table in DECLARED.items()
        }
    }


def of_checks() -> dict[str, Any]:
    """Every check, by family, from the headers of their statements."""
    families = {
        f"{letter}. {title}": [_check(*one) for one in DESCRIBED.items() if one[1].id[0] == letter]
        for letter, title in FAMILIES.items()
    }
    return {"families": families}


def _check(check: Check, one: Description) -> Row:
    parts = (one.definition, one.explanation, f"Evaluates {one.evaluates}")
    finds = " ".join(part for part in parts if part)
    cases = list(CHECKS[check].cases) if check in CHECKS else []
    permitted = one.permitted or causes(cases, FindingVerdict.PERMITTED)
    undecided = one.undecided or causes(cases, FindingVerdict.UNDECIDED)
    return (one.id, check, finds, kinds(cases), permitted, undecided, one.source)


def causes(cases: Iterable[Case], verdict: FindingVerdict) -> str:
    """The cases of a verdict, each by its kind and cause; `{column}` is a row's value."""
    found = (f"{case.kind}: {case.cause}." for case in cases if case.verdict == verdict)
    return " ".join(dict.fromkeys(found))


def kinds(cases: Iterable[Case]) -> str:
    """The kinds of a check's findings, each with the verdicts that it may have.

    Such as `lost: violation, permitted; superseded: undecided`.
    """
    verdicts: dict[str, set[FindingVerdict]] = {}
    for case in cases:
        kind = case.kind if case.is_of_one_kind else f"*{case.kind.strip('{}')}*"
        verdicts.setdefault(kind, set()).update(case.verdicts)
    return "; ".join(
        f"{kind}: {', '.join(verdict for verdict in FindingVerdict if verdict in of_kind)}"
        for kind, of_kind in verdicts.items()
    )


def of_protocol() -> dict[str, Any]:
    """The rules."""
    return {
        "rules": [
            (
                name,
                rule.says,
                f"{rule.source.document}, {rule.source.place}",
                f"`{rule.code}`",
                "; ".join(f"{API_NAMES[api]} {one}" for api, one in rule.versions.items()) or "all",
                rule.check,
            )
            for name, rule in RULES.items()
        ],
    }


def of_scenarios() -> dict[str, Any]:
    """Every scenario, with the Kafka versions that the suite nightly runs it on."""
    entries = find_suite(_NIGHTLY).entries
    return {
        "suite": _NIGHTLY,
        "default": DEFAULT_KAFKA,
        "failing": sorted({one.scenario for one in entries if one.expect == "fail"}),
        "scenarios": list(scenario_rows(scenarios(), entries)),
    }


def scenario_rows(found: Iterable[ScenarioFile], entries: Sequence[Entry]) -> Iterator[Row]:
    """Yield a row for each scenario.

    Args:
        found: the scenarios, in the order of their rows.
        entries: the runs of the suite whose Kafka versions are shown.
    """
    for one in found:
        versions = dict.fromkeys(
            version
            for entry in entries
            if entry.scenario == one.name
            for version in entry.kafka or [DEFAULT_KAFKA]
        )
        link = f"[{one.name}]({relpath(one.path, _DOCS)})"
        yield link, one.question, parameters_in_words(one.parameters), ", ".join(versions)


def parameters_in_words(declared: Sequence[Mapping[str, Any]] | None) -> str:
    """The sets of parameters that a scenario declares: by name if all combinations are there.

    Args:
        declared: as of `ScenarioFile.parameters`.
    """
    if declared is None:
        return "see its file"
    if not any(declared):
        return ""
    values = {name: list(dict.fromkeys(one[name] for one in declared)) for name in declared[0]}
    if prod(len(some) for some in values.values()) == len(declared):
        return "; ".join(f"{name}: {', '.join(map(str, some))}" for name, some in values.items())
    sets = (", ".join(f"{name}: {value}" for name, value in one.items()) for one in declared)
    return ", ".join(f"({one})" for one in sets)


def type_in_words(kind: pa.DataType) -> str:
    """Return a type in words, e.g. `list of (leader_epoch int32, start_offset int64)`."""
    if pa.types.is_list(kind):
        return f"list of {type_in_words(kind.value_type)}"
    if pa.types.is_struct(kind):
        return f"({', '.join(f'{field.name} {type_in_words(field.type)}' for field in kind)})"
    return str(kind)


def _type_and_bounds(column: Column) -> str:
    """Return a column's type, and what its values may be where that does not say it.

    Most numbers begin at 0.
    """
    words = [type_in_words(column.type)]
    kind = column.type.value_type if pa.types.is_list(column.type) else column.type
    if pa.types.is_integer(kind) and column.least is None:
        words.append("any")
    elif column.least == -YEAR_10000_MICROS:
        words.append("also negative")
    elif column.least:
        words.append(f"from {column.least}")
    return ", ".join([*words, *(["may be null"] if column.null else [])])


def of_faults() -> dict[str, Any]:
    """Every fault, as its class and methods describe it."""
    return {"faults": [_fault(one) for one in FAULTS if not inspect.isabstract(one)]}


def _fault(one: type[Fault]) -> Row:
    prove, heal = getattr(one, "prove_broker", one.prove), getattr(one, "heal_broker", one.heal)
    what, proved, healed = (
        (inspect.getdoc(of) or "").split("\n\n")[0] for of in (one, prove, heal)
    )
    verbs = ", ".join(form.verb for form in vars(one).get("by_hand", ()))
    landed = proved.removeprefix("Landed when ")
    return f"`{one.__name__}`", verbs, one.on or "servers", what, landed, healed
