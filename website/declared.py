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
from harness.commands.inventory import client_features
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
    every = sorted(facts().values(), key=lambda fact: (fact.subject, fact.name))
    subjects = {
        name: {
            "about": about[name],
            "facts": [(fact, _columns(columns_of(fact))) for fact in found],
        }
        for name, found in groupby(every, key=lambda fact: fact.subject)
    }
    return {"subjects": subjects}


def _columns(columns: Iterable[Column]) -> list[Row]:
    return [(column.name, type_in_words(column.type), column.about) for column in columns]


def of_clients() -> dict[str, Any]:
    """What each client does by itself."""
    return {
        "clients": [
            (
                has.client,
                has.language,
                has.by_itself,
                has.commit_epochs,
                has.asks_stably,
                has.shows_positions,
                ", ".join(has.isolations),
                ", ".join(has.resets),
                has.log,
            )
            for has in client_features()
        ]
    }


def of_tables() -> dict[str, Any]:
    """Every table of a run."""
    return {
        "tables": {
            name: (
                table,
                [(column.name, _type_and_bounds(column), column.about) for column in table.columns],
            )
            for name, table in DECLARED.items()
        }
    }


def of_checks() -> dict[str, Any]:
    """Every check, by family, from the headers of their statements."""
    families = {
        f"{letter}. {title}": [
            _check(*pair) for pair in DESCRIBED.items() if pair[1].id[0] == letter
        ]
        for letter, title in FAMILIES.items()
    }
    return {"families": families}


def _check(check: Check, description: Description) -> dict[str, Any]:
    parts = (description.definition, description.explanation, f"Evaluates {description.evaluates}")
    finds = " ".join(part for part in parts if part)
    cases = list(CHECKS[check].cases) if check in CHECKS else []
    permitted = description.permitted or causes(cases, FindingVerdict.PERMITTED)
    undecided = description.undecided or causes(cases, FindingVerdict.UNDECIDED)
    more = {
        "Kinds": kinds(cases),
        "Permitted": permitted,
        "Undecided": undecided,
        "Source": description.source,
    }
    return {"id": description.id, "check": check, "finds": finds, "more": more}


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
                "; ".join(f"{API_NAMES[api]} {version}" for api, version in rule.versions.items())
                or "all",
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
        "failing": sorted({entry.scenario for entry in entries if entry.expect == "fail"}),
        "scenarios": list(scenario_rows(scenarios(), entries)),
    }


def scenario_rows(found: Iterable[ScenarioFile], entries: Sequence[Entry]) -> Iterator[Row]:
    """Yield a row for each scenario.

    Args:
        found: the scenarios, in the order of their rows.
        entries: the runs of the suite whose Kafka versions are shown.
    """
    for scenario in found:
        versions = dict.fromkeys(
            version
            for entry in entries
            if entry.scenario == scenario.name
            for version in entry.kafka or [DEFAULT_KAFKA]
        )
        link = f"[{scenario.name}]({relpath(scenario.path, _DOCS)})"
        yield link, scenario.question, parameters_in_words(scenario.parameters), ", ".join(versions)


def parameters_in_words(declared: Sequence[Mapping[str, Any]] | None) -> str:
    """The sets of parameters that a scenario declares: by name if all combinations are there.

    Args:
        declared: as of `ScenarioFile.parameters`.
    """
    if declared is None:
        return "see its file"
    if not any(declared):
        return ""
    values = {name: list(dict.fromkeys(row[name] for row in declared)) for name in declared[0]}
    if prod(len(some) for some in values.values()) == len(declared):
        return "; ".join(f"{name}: {', '.join(map(str, some))}" for name, some in values.items())
    sets = (", ".join(f"{name}: {value}" for name, value in row.items()) for row in declared)
    return ", ".join(f"({text})" for text in sets)


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
    return {"faults": [_fault(fault) for fault in FAULTS if not inspect.isabstract(fault)]}


def _fault(fault: type[Fault]) -> Row:
    prove, heal = (
        getattr(fault, "prove_broker", fault.prove),
        getattr(fault, "heal_broker", fault.heal),
    )
    what, proved, healed = (
        (inspect.getdoc(of) or "").split("\n\n")[0] for of in (fault, prove, heal)
    )
    verbs = ", ".join(form.verb for form in vars(fault).get("by_hand", ()))
    landed = proved.removeprefix("Landed when ")
    return f"`{fault.__name__}`", verbs, fault.on or "servers", what, landed, healed
