"""What each commit style committed, in how many groups, and what it cost."""

import io
from typing import Any

import msgspec
from rich.console import Console

from analysis.report.terminal import show
from analysis.verdict.resumption import IN_WORDS, said_epochs, style_rows
from contract.run_folder import GroupPlan
from contract.terms import CommitEpoch
from contract.verdicts import Resumption, StyleRow, Verdict
from tests.made import make_struct


def went_on(style: str, reset: str = "earliest", **reported: Any) -> Resumption:
    """A group that resumed at the divergence."""
    known: dict[str, Any] = {
        "committed_offset": 200,
        "committed_epoch": 0,
        "resumed_at": 100,
        "redelivered": 0,
        "never_delivered": 0,
        "exception": None,
        "metadata_epoch": 0,
        "position_epoch": -1,
    }
    return Resumption(
        group=f"{style}.{reset}",
        client="java",
        commit_epoch=style,
        reset=reset,
        **known | reported,
    )


def skipping_resumption(style: str, reset: str = "earliest") -> Resumption:
    """A group that committed the new leader's epoch."""
    return went_on(
        style, reset, committed_epoch=2, resumed_at=200, never_delivered=100, metadata_epoch=2
    )


RESUMED = [
    went_on("record"),
    went_on("metadata", "earliest"),
    skipping_resumption("metadata", "latest"),
    skipping_resumption("metadata", "none"),
    skipping_resumption("forced"),
]
GROUPS = [
    GroupPlan(
        group=row.group, client="java", topic="t", commit_epoch=row.commit_epoch, reset=row.reset
    )
    for row in RESUMED
]


def brief(row: StyleRow) -> tuple[object, ...]:
    return (
        row.commit_epoch,
        row.committed_epoch,
        row.groups,
        row.of,
        row.resets,
        row.never_delivered,
    )


def test_what_varies_within_a_style_has_a_row_each() -> None:
    assert [brief(row) for row in style_rows(RESUMED, GROUPS)] == [
        ("record", 0, 1, 1, ["earliest"], 0),
        ("metadata", 0, 1, 3, ["earliest"], 0),
        ("metadata", 2, 2, 3, ["latest", "none"], 100),
        ("forced", 2, 1, 1, ["earliest"], 100),
    ]


def test_a_run_of_one_style_has_no_such_table() -> None:
    assert style_rows([row for row in RESUMED if row.commit_epoch == "metadata"], GROUPS) == []


def test_labels_keep_groups_apart() -> None:
    labelled = [
        GroupPlan(
            group=group.group,
            client="java",
            topic="t",
            commit_epoch=group.commit_epoch,
            reset=group.reset,
            labels={"log_end": "above" if group.reset == "latest" else "below"},
        )
        for group in GROUPS
    ]
    rows = style_rows(RESUMED, labelled)
    metadata = [
        (row.labels["log_end"], row.groups, row.of) for row in rows if row.commit_epoch[0] == "m"
    ]
    assert metadata == [("above", 1, 1), ("below", 1, 2), ("below", 1, 2)]


def test_epochs_are_counted_where_a_client_reported_them() -> None:
    assert said_epochs(RESUMED) == ["the client's metadata: epoch 0 in 2 of 5, epoch 2 in 3 of 5"]


def test_each_style_is_put_in_words() -> None:
    assert set(IN_WORDS) == set(CommitEpoch)


def test_the_terminal_ends_with_the_styles() -> None:
    verdict = make_struct(
        Verdict,
        scenario="s",
        seed=1,
        kafka="4.4.0",
        cluster="embedded",
        resumption=RESUMED,
        styles=style_rows(RESUMED, GROUPS),
        must_judge=["resumption"],
    )
    out = io.StringIO()
    show(verdict, Console(file=out, width=100))
    said = out.getvalue()
    assert "How each group continued" not in said
    line = next(line for line in said.splitlines() if line.startswith("metadata  (200, 2)"))
    assert line.split()[-4:] == ["3", "200", "0", "100"]
    assert "at the commit, the client's metadata: epoch 0 in 2 of 5, epoch 2 in 3 of 5" in said
    other = io.StringIO()
    show(msgspec.structs.replace(verdict, must_judge=["lost_record"]), Console(file=other))
    assert "metadata" not in other.getvalue(), "the question is not about commits"
