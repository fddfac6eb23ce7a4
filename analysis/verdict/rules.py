"""Which rules of the protocol a run has responses for, and whether these fulfil them."""

import enum
from collections.abc import Iterable

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Row, Trace
from contract.protocol import API_KEYS, RULES, Versions
from contract.terms import Check
from contract.verdicts import RuleRow

NOT_ASKED, NOT_APPLICABLE = "not asked", "not applicable"
_COUNTED = """
    select rule, api, count(*) as responses, min(version) as first, max(version) as last,
      count_if(verdict = 'violation') as violations, count_if(verdict = 'undecided') as undecided
    from ({responses})
    group by rule, api
"""
_JUDGED = "select rule, api, version, verdict from {check}"
_SUPPORTED = "select response from wire_calls where api = 'API_VERSIONS' and response is not null"


def rule_rows(trace: Trace) -> list[RuleRow]:
    """One row for each rule and API; none if there are no requests, or they can't be counted."""
    if not trace.rows["wire_calls"]:
        return []
    try:
        counted = _count_responses(trace)
        supported = _supported_versions(trace)
    except Exception:  # noqa: BLE001 - the checks are reported all the same
        return []
    found = {(row["rule"], row["api"]): row for row in counted}
    return [
        _row(rule, api, found.get((str(rule), api)), supported, release=trace.run.release)
        for rule, declared in RULES.items()
        for api in declared.versions or sorted(api for name, api in found if name == str(rule))
    ]


def _count_responses(trace: Trace) -> list[Row]:
    """The responses that the checks judged, but for those of a table that a run may lack."""
    checks = dict.fromkeys(rule.check for rule in RULES.values())
    if trace.problem("acls"):
        checks.pop(Check.WRONG_AUTHORIZATION)
    names = [check for check in checks if not CHECKS[check].judge(trace).findings.is_without_rows]
    responses = " union all ".join(_JUDGED.format(check=check) for check in names)
    return trace.ask(_COUNTED.format(responses=responses)) if names else []


def reasons_unasked(rows: Iterable[RuleRow], must_judge: Iterable[str]) -> list[str]:
    """Why a run can't pass, in words: checks that must be judged have no response of any rule.

    A check is judged by the rules that have one. A rule that is not applicable needs none.
    """
    verdicts: dict[str, set[str]] = {check: set() for check in must_judge}
    checks = {str(rule): str(declared.check) for rule, declared in RULES.items()}
    for row in rows:
        verdicts.get(checks[row.rule], set()).add(row.verdict)
    return [
        f"no response is about a rule of {check}"
        for check, found in verdicts.items()
        if NOT_ASKED in found and not found - {NOT_ASKED, NOT_APPLICABLE}
    ]


def _row(
    rule: enum.StrEnum,
    api: str,
    counted: Row | None,
    supported: dict[int, Versions],
    *,
    release: int | None,
) -> RuleRow:
    if counted is None:
        spoken = supported.get(API_KEYS.get(api, -1))
        is_asked_for = spoken is None or _overlap(RULES[rule].versions[api], spoken)
        is_asked_for &= release is None or release >= RULES[rule].since
        verdict = NOT_ASKED if is_asked_for else NOT_APPLICABLE
        return RuleRow(rule=str(rule), api=api, versions="", responses=0, verdict=verdict)
    verdict = "violated" if counted["violations"] else "holds"
    if verdict == "holds" and counted["undecided"]:
        verdict = "undecided"
    return RuleRow(
        rule=str(rule),
        api=api,
        versions=str(Versions(counted["first"], counted["last"])),
        responses=counted["responses"],
        verdict=verdict,
    )


class _Api(msgspec.Struct):
    """The versions of an API that a broker supports."""

    apiKey: int  # noqa: N815 - Kafka's names
    minVersion: int  # noqa: N815
    maxVersion: int  # noqa: N815


class _ApiVersions(msgspec.Struct):
    apiKeys: list[_Api]  # noqa: N815


def _supported_versions(trace: Trace) -> dict[int, Versions]:
    """By API key: the versions that all brokers support, by their ApiVersions responses."""
    found: dict[int, Versions] = {}
    for row in trace.ask(_SUPPORTED):
        try:
            response = msgspec.json.decode(row["response"], type=_ApiVersions)
        except msgspec.DecodeError:
            continue
        for api in response.apiKeys:
            before = found.get(api.apiKey, Versions(0, api.maxVersion))
            first = max(before.first, api.minVersion)
            found[api.apiKey] = Versions(first, min(before.last or 0, api.maxVersion))
    return found


def _overlap(wanted: Versions, spoken: Versions) -> bool:
    last = spoken.last if wanted.last is None else min(wanted.last, spoken.last or 0)
    return max(wanted.first, spoken.first) <= (last or 0)
