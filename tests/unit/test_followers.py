"""What follows a patched Java client's commit: read from tables, and counted by story."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pages_of import verdict_of, with_tables

from contract.run_folder import RunFolder
from scenarios.mixed_languages_test import BY_CLIENT, GROUPS
from studies.arbiter.cells import BUILDS, handovers
from studies.arbiter.figures import Figures
from studies.arbiter.followers import Followed, Followers, followed
from studies.arbiter.page import part
from studies.arbiter.rows import Story
from studies.arbiter.tables import of_followers
from tests.descriptions import plan_of

WITHHELD = Followed(
    story="4.3.1-option-3-by_client-1901",
    build="option-3",
    read="after",
    client="librdkafka",
    call="commit",
    ends="closed",
    epoch=1,
    withheld=4,
)
STORED = replace(
    WITHHELD, story="4.3.1-released-by_client-1901", build="released", epoch=0, withheld=0
)
PLAIN = next(one for one in GROUPS[BY_CLIENT] if one.group == "librdkafka.commit.closed.record")


def stored(offset: int, epoch: int, *, at: int, partition: int = 0) -> dict[str, Any]:
    return {
        "group": PLAIN.group,
        "topic": "orders",
        "partition": partition,
        "offset": offset,
        "committed_epoch": epoch,
        "offsets_offset": at,
    }


def polled(life: int, first: int, last: int, *, partition: int = 0) -> dict[str, Any]:
    return {
        "group": PLAIN.group,
        "member": f"{PLAIN.group}#{life}",
        "topic": "orders",
        "partition": partition,
        "first_offset": first,
        "last_offset": last,
    }


def read(folder: Path, **tables: list[dict[str, Any]]) -> Followed:
    run = RunFolder(folder)
    run.path.mkdir(exist_ok=True)
    with_tables(run, **tables)
    run.write_plan(plan_of(groups=[PLAIN]))
    verdict = verdict_of({}, kafka="4.3.1")
    (found,) = followed(Story(name="s", build="option-3", run=run, verdict=verdict))
    return found


def test_members_that_store_nothing_are_followed_by_one_that_reads_the_same(
    tmp_path: Path,
) -> None:
    java = [stored(50, 1, at=7), stored(10, 0, at=6, partition=1), stored(150, 1, at=9)]
    again = [polled(life, 50, 99) for life in range(2, 7)]
    other = [polled(1, 0, 49), polled(2, 50, 50, partition=1)]
    found = read(tmp_path, committed_offsets=java[::-1], polls=[*again, *again, *other])
    assert (found.epoch, found.withheld, found.read) == (1, 4, "after")
    assert found.is_predicted


def test_a_member_that_stores_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    rows = [stored(50, 0, at=1), stored(100, 0, at=2)]
    found = read(tmp_path, committed_offsets=rows, polls=[polled(2, 50, 99)])
    assert (found.epoch, found.withheld) == (0, 0)
    assert not found.is_predicted, "option 3 stores epoch 1"


def test_every_group_of_every_build_has_a_prediction() -> None:
    for build, group in product(BUILDS, GROUPS[BY_CLIENT]):
        labels = group.labels
        row = Followed(
            story="s",
            build=build,
            read=labels["read"],
            client=group.client,
            call=labels["call"],
            ends=labels["ends"],
            epoch=0,
            withheld=0,
        )
        for epoch in row.handed.epochs:
            assert replace(row, epoch=epoch).followed.because
        assert (1 in row.handed.epochs) == (
            build == "option-2" or (build != "released" and row.read == "after")
        )


@pytest.mark.parametrize("changed", [{"epoch": None}, {"epoch": 0}, {"withheld": 3}])
def test_both_steps_are_compared(changed: dict[str, Any]) -> None:
    assert WITHHELD.is_predicted
    assert not replace(WITHHELD, **changed).is_predicted


def test_a_cell_counts_stories_and_leads_to_one() -> None:
    other = replace(WITHHELD, story="4.3.1-option-3-by_client-1902", withheld=0)
    before = replace(WITHHELD, read="before")
    java, calls = of_followers([WITHHELD, other, STORED, before], "after")
    assert java[3] == "[epoch 0](arbiter-runs.md#431-released-by_client-1901)"
    assert calls[:3] == ("librdkafka", "`commit()`", "closed")
    assert str(calls[3]).startswith("[0 of 1](arbiter-runs.md#431-released")
    assert str(calls[6]).startswith("[1 of 2 (4 of 4 members)](arbiter-runs.md#431-option-3")
    assert calls[4] == "not run"


def test_the_page_says_how_many_groups_stored_nothing() -> None:
    none = Figures(runs=[], races=[], race_groups=0, newer=[])
    page = part(none, Followers(runs=[], rows=[WITHHELD, STORED]))
    assert "librdkafka behind `option-3`, in the same group: 1 of 1 group stored nothing" in page
    assert "librdkafka behind `released`, in the same group: 0 of 1 group stored nothing" in page
    assert "2 of 2 groups in 0 stories came out as predicted" in page


def test_each_build_is_followed_in_three_stories() -> None:
    cells = list(handovers(3))
    assert {cell.build for cell in cells} == set(BUILDS)
    assert len({cell.name for cell in cells}) == len(cells) == 3 * len(BUILDS)
    assert {cell.parameters["hazard"] for cell in cells} == {BY_CLIENT}
