"""The arbiter's cells, and its comparison of rows with what was predicted."""

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from cluster.kafka.patched import patches
from contract.clients import clients_of
from contract.outcomes import CommitEpoch, Manner, ResetPolicy
from contract.run_folder import RunFolder
from scenarios.commit_hazards_test import HAZARDS, groups_of
from scenarios.commit_ways import PROTOCOLS, WAYS
from studies.arbiter.cells import covering, pairs, pairwise, quick, table
from studies.arbiter.predictions import committed, differences, predictions, resumption
from studies.arbiter.rows import Row
from tests.arbiter_rows import LOST
from tests.descriptions import description_of, plan_of

INFLATED = replace(LOST, build="option-2", committed_epoch=2, resumed_at=200, never_delivered=100)


@pytest.mark.parametrize("row", [LOST, INFLATED, replace(LOST, build="option-2")])
def test_a_row_as_predicted_is_no_difference(row: Row) -> None:
    """What option 2 commits depends on the metadata; what follows, on what it committed."""
    assert differences([row]) == []


@pytest.mark.parametrize(
    ("row", "predicted", "came_out"),
    [
        (replace(LOST, committed_epoch=2), "commits epoch 1", "commits epoch 2"),
        (replace(LOST, resumed_at=200), "resumes at 100", "resumes at 200"),
        (replace(LOST, committed_epoch=None), "commits epoch 1", "commits nothing"),
        (replace(LOST, redelivered=7), "resumes at 100", "resumes at 100, reads 7 again"),
        (replace(LOST, resumed_at=None), "resumes at 100", "makes no progress"),
        (replace(LOST, exception="Odd"), "resumes at 100", "raises Odd"),
        (
            replace(LOST, style=CommitEpoch.NONE, committed_epoch=-1),
            "resumes at 200, skips 100",
            "resumes at 100",
        ),
    ],
)
def test_any_other_outcome_is_reported(row: Row, predicted: str, came_out: str) -> None:
    (found,) = differences([row])
    assert predicted in found.predicted
    assert came_out in found.came_out


def test_an_external_store_is_judged_by_what_it_kept() -> None:
    """Nothing of it is committed to Kafka."""
    kept = replace(
        LOST, manner=Manner.EXTERNAL, style=CommitEpoch.APPLICATION, committed_epoch=None
    )
    assert differences([kept]) == []
    assert differences([replace(kept, style=CommitEpoch.NONE)])


@pytest.mark.parametrize(
    ("topic", "style", "resumed_at", "skipped"),
    [
        ("twice/longer", CommitEpoch.APPLICATION, 200, 100),
        ("twice/longer", CommitEpoch.NONE, 350, 250),
        ("twice/shorter", CommitEpoch.APPLICATION, 150, 50),
    ],
)
def test_an_external_store_keeps_the_epoch_of_its_last_record(
    topic: str, style: str, resumed_at: int, skipped: int
) -> None:
    row = replace(LOST, hazard=topic, manner=Manner.EXTERNAL, style=style, committed_epoch=None)
    wanted = resumption(row, predictions())
    assert (wanted.resumed_at, wanted.never_delivered) == (resumed_at, skipped)


def test_every_prediction_names_what_says_so() -> None:
    known = predictions()
    assert all(one.because for one in (*known.commits, *known.resumptions, *known.race))
    assert {one.suppressed for one in known.race} == {"none", "some"}


@pytest.mark.parametrize(("hazard", "reset"), list(product(HAZARDS, ResetPolicy)))
def test_every_epoch_under_each_hazard_has_a_prediction(hazard: str, reset: str) -> None:
    topics = {
        one
        for prediction in predictions().resumptions
        for one in prediction.fits.get("topic", [])
        if one.startswith(f"{hazard}/")
    }
    assert topics
    for topic, epoch in product(topics, (-1, 0, 1, 2, 3)):
        row = replace(LOST, hazard=topic, reset=reset, committed_epoch=epoch)
        assert resumption(row, predictions()).because


def test_every_pair_of_the_table_is_covered() -> None:
    """Of style, manner, topic, reset policy, protocol, Kafka version and build."""
    clients = {(row.kafka, row.build) for row in table()}
    assert {kafka for kafka, _ in clients} >= {"3.9.2", "4.4.0"}
    assert {(patch.version, patch.name) for patch in patches()} <= clients
    topics = [f"{hazard}/{topic}" for hazard, own in HAZARDS.items() for topic in own]
    every = (
        _factors(topic, style, manner, reset, protocol, client)
        for topic, (style, manner), reset, protocol, client in product(
            topics, WAYS, ResetPolicy, PROTOCOLS, clients
        )
        if protocol in clients_of(client[0])
    )
    wanted = {pair for row in every for pair in pairs(row)}
    found = {
        pair
        for row in table()
        for pair in pairs(
            _factors(
                row.topic, row.style, row.manner, row.reset, row.protocol, (row.kafka, row.build)
            )
        )
    }
    assert wanted == found


def _factors(
    topic: str, style: str, manner: str, reset: str, protocol: str, client: tuple[str, str]
) -> dict[str, str]:
    kafka, build = client
    return {
        "topic": topic,
        "style": style,
        "manner": manner,
        "reset": reset,
        "protocol": protocol,
        "kafka": kafka,
        "build": build,
    }


def test_every_row_of_the_table_has_a_prediction() -> None:
    known = predictions()
    for row in table():
        planned = replace(
            LOST,
            kafka=row.kafka,
            build=row.build,
            hazard=row.topic,
            style=row.style,
            manner=row.manner,
            client=row.protocol,
            reset=row.reset,
        )
        for epoch in committed(planned, known).epochs:
            assert resumption(replace(planned, committed_epoch=epoch), known).because


def test_the_same_seed_makes_the_same_rows_and_another_one_others() -> None:
    factors = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 2], "d": [1, 2]}
    rows = covering(factors, lambda _: True, seed=1)
    assert rows == covering(factors, lambda _: True, seed=1)
    assert rows != covering(factors, lambda _: True, seed=2)
    assert 9 <= len(rows) <= 12


def test_a_run_of_the_table_has_the_groups_of_its_rows() -> None:
    for cell in pairwise():
        assert cell.groups
        every = groups_of(cell.hazard, every=True)
        ways = cell.parameters["ways"]
        assert isinstance(ways, list)
        assert [every[way].group for way in ways] == list(cell.groups)


def test_a_cell_is_done_when_a_run_of_its_groups_ended(tmp_path: Path) -> None:
    cell = next(pairwise())
    run = RunFolder(tmp_path / cell.name / "session" / "run")
    run.path.mkdir(parents=True)
    ended, all_of_them = description_of(ended_micros=1), groups_of(cell.hazard, every=True)
    for groups, described, is_done in (
        ([], ended, False),
        (all_of_them, ended, True),
        (all_of_them, description_of(), False),
        (all_of_them, description_of(ended_micros=1, error="it broke"), False),
    ):
        run.write_plan(plan_of(groups=groups))
        run.write_run(described)
        assert cell.is_done(tmp_path) == is_done


def test_cells_have_folders_of_their_own() -> None:
    names = [cell.name for cell in (*quick(), *pairwise())]
    assert len(set(names)) == len(names)
