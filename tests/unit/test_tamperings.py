"""A sample of tamperings with a generated history, and how copies of runs are laid into a trace."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from conftest import TraceReader

from contract.protocol import METADATA_LOG
from contract.run_folder import RunFolder
from contract.tables import TABLES
from contract.verdicts import CheckVerdict
from simulator.history import description, write_history
from simulator.plain import plain_universe
from tests.exam.tamperings.files import change_file
from tests.exam.tamperings.genuine import Genuine, copy_run, read_genuine
from tests.exam.tamperings.judged import judge_alone, judge_together
from tests.exam.tamperings.rows import NoPlaceError
from tests.exam.tamperings.tampering import (
    GenuineRun,
    Step,
    Tampering,
    hidden_tamperings,
    of_file,
    runs,
    tamperings,
)
from tests.exam.world import BEGINNING_MICROS, NUMBERS, SECONDS, Place, World

GENERATED = "generated"
STRIDE_MICROS = SECONDS * 1_000_000


def of(*entries: dict[str, object]) -> list[Tampering]:
    return list(of_file({"run": GENERATED, "tamperings": list(entries)}))


IN_THE_MIDDLE = "partition = 0 and offset between 10 and 20"
SAMPLE = of(
    {"change": "polls", "where": IN_THE_MIDDLE, "set": {"value": "nobody:0:0"}}
    | {"name": "unknown value", "check": "phantom_record"},
    {"change": "polls", "where": IN_THE_MIDDLE, "set": {"is_intact": False}}
    | {"name": "not intact", "check": "corrupted_record"},
    {
        "swap": "polls",
        "where": "partition = 0 and group = 'u00000.plain.steady' and offset between 10 and 11",
        "set": {"position_in_poll": "offset"},
    }
    | {"name": "wrong order", "check": "nonmonotonic_poll"},
    {"drop": "sends", "where": IN_THE_MIDDLE} | {"name": "no send", "check": "phantom_record"},
    {
        "change": "replica_records",
        "where": IN_THE_MIDDLE,
        "same": ["topic", "partition", "offset"],
        "set": {"value": "nobody:0:0"},
    }
    | {"name": "other value", "check": "lost_record"},
    {"drop": "epoch_checkpoints", "where": "partition = 0"}
    | {"name": "drop epoch_checkpoints", "check": "epoch_cache_mismatch"},
    {"change": "committed_offsets", "where": "partition = 0", "set": {"offset": "=offset + 10000"}}
    | {"name": "beyond the log", "check": "commit_beyond_log"},
)


@pytest.fixture
def genuine(tmp_path: Path) -> Genuine:
    folder = RunFolder(tmp_path / "genuine")
    universe = plain_universe(0, 1, 60, 2)
    write_history(folder, [universe], description(1, "test", "unknown", {}))
    return read_genuine(folder, GenuineRun(scenario=GENERATED))


def test_each_of_a_sample_is_noticed_by_the_check_that_it_names(
    read_run: TraceReader, tmp_path: Path, genuine: Genuine
) -> None:
    checks = {tampering.check for tampering in SAMPLE if tampering.check}
    place = tmp_path / "tampered"
    outcomes = list(judge_together(read_run, SAMPLE, {GENERATED: genuine}, place, checks=checks))
    assert [
        outcome.tampering.name for outcome in outcomes if outcome.error or not outcome.is_noticed
    ] == []
    others = {check for outcome in outcomes for check, _ in outcome.new} - {
        str(check) for check in checks
    }
    assert others == set()


def test_a_renamed_column_and_a_plan_without_checks_are_noticed(
    read_run: TraceReader, tmp_path: Path, genuine: Genuine
) -> None:
    sample = of(
        {"rename": "sends", "column": "value"}
        | {"name": "column", "check": "phantom_record", "verdict": "unclear"},
        {"change": "plan.json", "set": {"must_judge": []}, "name": "plan", "verdict": "unclear"},
    )
    outcomes = list(judge_alone(read_run, sample, genuine, tmp_path / "alone", accusers=()))
    seen = [(outcome.is_noticed, outcome.accusers, outcome.error) for outcome in outcomes]
    assert seen == [(True, (), "")] * 2
    assert outcomes[0].seen == CheckVerdict.NOT_EVALUABLE


def test_each_has_a_name_of_its_own_and_a_run() -> None:
    names = Counter(tampering.name for tampering in tamperings())
    assert [name for name, count in names.items() if count > 1 or "<" in name] == []
    assert {tampering.first.of for tampering in tamperings() if not tampering.alone} <= set(TABLES)
    assert {tampering.run for tampering in tamperings()} <= set(runs())
    assert all(row["reason"] for row in hidden_tamperings())


def test_steps_name_the_row_that_the_first_one_chose(genuine: Genuine) -> None:
    (tampering,) = of(
        {
            "name": "without a gap",
            "drop": "polls",
            "where": IN_THE_MIDDLE,
            "then": [
                {
                    "change": "polls",
                    "all": True,
                    "where": "member = {member} and seq = {seq} and offset > {offset}",
                    "set": {"position_in_poll": "=position_in_poll - 1"},
                }
            ],
        }
    )
    before = genuine.tables["polls"]
    with genuine.rows.change_rows(tampering.steps, Random(1)) as changed:
        after = changed["polls"]
    assert len(after) == len(before) - 1
    with genuine.rows.change_rows([Step(verb="pick", of="polls")], Random(1)) as unchanged:
        assert unchanged == {}
    with genuine.rows.change_rows([Step(verb="repeat", of="polls", times=3)], Random(1)) as changed:
        assert len(changed["polls"]) == len(before) + 3


def test_a_place_has_names_servers_and_times_of_its_own() -> None:
    row = {
        "broker": 2,
        "topic": "orders",
        "partition": 0,
        "to_offset": 7,
        "at_micros": 5,
        "log_line": "orders-0",
    }
    (laid,) = Place("u3", 3).lay({"truncations": [row]}, 0)["truncations"]
    assert laid == row | {
        "broker": 2 + 3 * NUMBERS,
        "topic": "u3.orders",
        "at_micros": BEGINNING_MICROS + 5 + 3 * STRIDE_MICROS,
    }
    fault = {"target_kind": "leader", "brokers": [1], "topic": "orders", "partition": 0}
    fault |= {"transactional_ids": ["x"]}
    (laid,) = Place("u2", 2).lay({"faults": [fault]}, 0)["faults"]
    named = {"brokers": [1 + 2 * NUMBERS], "topic": "u2.orders", "transactional_ids": ["u2.x"]}
    assert laid == fault | named


def test_a_place_has_a_quorum_of_its_own() -> None:
    """What is compared across servers by its place in the metadata log has one of its own."""
    sample = {"server": 101, "leader": 101, "leader_epoch": 2, "high_watermark": -1}
    sample |= {"voters": [101, 102], "log_ends": [9, -1], "observers": [1]}
    call = {"topic": METADATA_LOG, "partition": 0, "broker": 102, "leader": -1, "offset": None}
    call |= {"current_leader_epoch": 2, "asked_epoch": -1, "asked_offset": 0, "epoch": 0}
    entry = {"resource_type": "TOPIC", "resource_name": "orders", "principal": "User:reader"}
    tables = {"quorum_samples": [sample], "wire_calls": [call], "acls": [entry]}
    laid = Place("u3", 3).lay(tables, 0)
    server, offset, epoch = 3 * NUMBERS, 3_000_000, 3000
    assert laid["quorum_samples"] == [
        sample
        | {"server": server + 101, "leader": server + 101, "leader_epoch": epoch + 2}
        | {"voters": [server + 101, server + 102], "observers": [server + 1]}
        | {"log_ends": [offset + 9, -1]}
    ]
    assert laid["wire_calls"] == [
        call
        | {"partition": 3000, "broker": server + 102, "asked_offset": offset}
        | {"current_leader_epoch": epoch + 2, "epoch": epoch}
    ]
    assert laid["acls"] == [entry | {"resource_name": "u3.orders", "principal": "u3.User:reader"}]
    whole = {"resource_type": "CLUSTER", "resource_name": "kafka-cluster", "principal": "User:a"}
    (other,) = Place("u3", 3).lay({"acls": [whole]}, 0)["acls"]
    assert other["resource_name"] == "kafka-cluster"


def test_a_finding_belongs_to_the_place_that_it_names() -> None:
    world = World([f"u{number}" for number in range(9)])
    finding = {"topic": None, "group": None, "cause": "", "partition": None, "at": None}

    def index_of(**values: object) -> int | None:
        place = world.place_of({**finding, "evidence": {}, **values})
        return place.index if place else None

    assert index_of(group="u4.g") == 4
    assert index_of(evidence={"worker": "u5.clients"}) == 5
    assert index_of(evidence={"servers": [number + 6 * NUMBERS for number in (1, 101)]}) == 6
    assert index_of(at=BEGINNING_MICROS + 7 * STRIDE_MICROS + 1) == 7
    assert index_of() is None


def test_what_finds_no_place_says_so(genuine: Genuine, tmp_path: Path) -> None:
    step = Step(verb="drop", of="polls", where="group = 'g'")
    with (
        pytest.raises(NoPlaceError, match="no fitting row in polls"),
        genuine.rows.change_rows([step], Random(1)),
    ):
        pass
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(NoPlaceError, match="no line with Polled"):
        change_file(RunFolder(tmp_path), Step(verb="drop", of="x.jsonl", where="Polled"), Random(1))


def test_a_copy_of_a_run_leaves_the_run_as_it_was(tmp_path: Path, genuine: Genuine) -> None:
    copy = copy_run(genuine.folder, tmp_path / "copy")
    change_file(copy, Step(verb="rename", of="sends", column="value"), Random(1))
    again = read_genuine(genuine.folder, GenuineRun(scenario=GENERATED))
    assert again.tables == genuine.tables
