"""The tables of docs/protocol.md: the rules and the other statements (`make protocol-page`)."""

from collections.abc import Iterator

from contract.made_pages import MadePage
from contract.protocol import RULES, ProtocolRule
from contract.protocol_statements import STATEMENTS, Coverage, Statement

_MADE = MadePage("protocol.md", "make protocol-page")
PAGE = _MADE.path
_RULES_HEAD = """\
| rule | what it says | document | Kafka's source | versions | check |
|---|---|---|---|---|---|"""
_STATEMENTS_HEAD = "| place | statement | | by | scenario, or why not |\n|---|---|---|---|---|"
API_NAMES = {
    "FETCH": "Fetch",
    "LIST_OFFSETS": "ListOffsets",
    "METADATA": "Metadata",
    "OFFSET_FOR_LEADER_EPOCH": "OffsetForLeaderEpoch",
    "VOTE": "Vote",
    "BEGIN_QUORUM_EPOCH": "BeginQuorumEpoch",
    "END_QUORUM_EPOCH": "EndQuorumEpoch",
}


def with_tables(page: str) -> str:
    """Return the page with its tables made again; the text outside of the markers is unchanged.

    Raises:
        ValueError: the page has no markers.
    """
    return _MADE.filled(page, "\n".join(_tables()))


def _tables() -> Iterator[str]:
    yield f"## {len(RULES)} rules\n"
    yield _RULES_HEAD
    yield from (_rule(name, rule) for name, rule in RULES.items())
    open_ones = sum(one.coverage is Coverage.NOT_COVERED for one in STATEMENTS)
    yield f"\n## {len(STATEMENTS)} other statements of KIP-320, {open_ones} of them not covered\n"
    yield _STATEMENTS_HEAD
    yield from map(_statement, STATEMENTS)


def _rule(name: str, rule: ProtocolRule) -> str:
    versions = "; ".join(f"{API_NAMES[api]} {one}" for api, one in rule.versions.items())
    source = f"{rule.source.document}, {rule.source.place}"
    return (
        f"| {name} | {rule.says} | {source} | `{rule.code}` | {versions or 'all'} | {rule.check} |"
    )


def _statement(one: Statement) -> str:
    by = ", ".join(one.by)
    return f"| {one.place} | {one.says} | {one.coverage} | {by} | {one.note} |"


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
