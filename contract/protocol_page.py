"""The tables of docs/protocol.md: the rules and the other statements (`make protocol-page`)."""

from collections import Counter
from collections.abc import Iterator

from contract.made_pages import MadePage
from contract.protocol import OFFSETS_FOR_TIMES, RULES, ProtocolRule
from contract.protocol_statements import STATEMENTS, Coverage, Statement, compared, numbers

_MADE = MadePage("protocol.md", "make protocol-page")
PAGE = _MADE.path
_RULES_HEAD = """\
| rule | what it says | document | Kafka's source | versions | check | second list |
|---|---|---|---|---|---|---|"""
_STATEMENTS_HEAD = """\
| place | statement | | by | scenario, or why not | second list |
|---|---|---|---|---|---|"""
API_NAMES = {
    "FETCH": "Fetch",
    "LIST_OFFSETS": "ListOffsets",
    "METADATA": "Metadata",
    "OFFSET_COMMIT": "OffsetCommit",
    "OFFSET_FETCH": "OffsetFetch",
    "OFFSET_FOR_LEADER_EPOCH": "OffsetForLeaderEpoch",
    "VOTE": "Vote",
    "BEGIN_QUORUM_EPOCH": "BeginQuorumEpoch",
    "END_QUORUM_EPOCH": "EndQuorumEpoch",
    "TXN_OFFSET_COMMIT": "TxnOffsetCommit",
    OFFSETS_FOR_TIMES: OFFSETS_FOR_TIMES,
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
    for document, found in STATEMENTS.documents.items():
        counts = Counter(one.coverage for one in found)
        told = ", ".join(f"{counts[one]} {one}" for one in Coverage if counts[one])
        yield f"\n## {document}: {len(found)} rows of statements without a rule\n"
        yield f"{told}.\n"
        yield _STATEMENTS_HEAD
        yield from map(_statement, found)
    yield "\n## How the lists compare\n"
    yield _comparison()


def _comparison() -> str:
    found = compared(len(RULES))
    rows = sum(STATEMENTS.second_list.values())
    twice = STATEMENTS.in_both_texts
    return f"""\
The statements were listed twice. The second list was made from the texts alone, by someone who had
not seen the first. It has {rows} rows; {twice} statements of KIP-320 have two rows, one for
each of two texts. Each row belongs to one rule or one row of the tables above, whose last column
counts them.

| | |
|---|---|
| rows of the second list whose rule or statement was in the first | {found.in_both} |
| rows of the second list that the first lacked | {found.only_second} |
| rules and statements of the first list without a row in the second | {found.only_first} |"""


def _rule(name: str, rule: ProtocolRule) -> str:
    versions = "; ".join(f"{API_NAMES[api]} {one}" for api, one in rule.versions.items())
    source = f"{rule.source.document}, {rule.source.place}"
    rows = len(list(numbers(STATEMENTS.rules.get(name, ""))))
    return (
        f"| {name} | {rule.says} | {source} | `{rule.code}` | {versions or 'all'} | {rule.check} |"
        f" {rows} |"
    )


def _statement(one: Statement) -> str:
    by = ", ".join(one.by)
    rows = len(list(numbers(one.second)))
    return f"| {one.place} | {one.says} | {one.coverage} | {by} | {one.note} | {rows} |"


def main() -> None:
    """Write the tables."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
