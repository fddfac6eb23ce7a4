"""A sample of the lies of `make lies`, told of a generated history, and how lies are laid."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from conftest import TraceReader

from bench.lies.alone import FileLie, copied, tell_alone
from bench.lies.every import ALONE, ROWS
from bench.lies.genuine import Genuine, Story, read_genuine
from bench.lies.hidden import HIDDEN
from bench.lies.laying import BROKERS_EACH, STRIDE_MICROS, Universe, universe_of
from bench.lies.lie import (
    VIOLATION,
    Lie,
    NoPlaceError,
    Verb,
    alter,
    drop,
    having,
    plus,
    swap,
    within,
)
from bench.lies.of_files import plan_with
from bench.lies.of_tables import rename
from bench.lies.stories import STORIES
from bench.lies.telling import tell
from contract.checks import Check
from contract.quorum_rules import METADATA_LOG
from contract.run_folder import Plan, RunFolder
from contract.tables import TABLES
from contract.verdicts import CheckVerdict
from simulator.history import description, planted_universe, write_history

KINDS_MIN = 150
GENERATED = "generated"
CHANCE = Random(1)
A_RECORD = ("topic", "partition", "offset")


def lie(table: str, check: Check, change: object, verb: Verb = Verb.ALTER) -> Lie:
    return Lie(
        name=f"{verb} {table}",
        verb=verb,
        table=table,
        story=GENERATED,
        check=check,
        verdict=VIOLATION,
        change=change,  # type: ignore[arg-type]
    )


IN_THE_MIDDLE = within(10, 20, partition=0)
IN_ONE_POLL = within(10, 11, partition=0, group="u00000.plain.steady")
SAMPLE = [
    lie("polls", Check.PHANTOM_RECORD, alter("polls", IN_THE_MIDDLE, value="nobody:0:0")),
    lie("polls", Check.CORRUPTED_RECORD, alter("polls", IN_THE_MIDDLE, is_intact=False)),
    lie(
        "polls",
        Check.NONMONOTONIC_POLL,
        swap("polls", IN_ONE_POLL, "position_in_poll", by="offset"),
        Verb.SWAP,
    ),
    lie("sends", Check.PHANTOM_RECORD, drop("sends", IN_THE_MIDDLE), Verb.DROP),
    lie(
        "replica_records",
        Check.LOST_RECORD,
        alter("replica_records", IN_THE_MIDDLE, same=A_RECORD, value="nobody:0:0"),
    ),
    lie(
        "epoch_checkpoints",
        Check.EPOCH_CACHE_MISMATCH,
        drop("epoch_checkpoints", having(partition=0)),
        Verb.DROP,
    ),
    lie(
        "committed_offsets",
        Check.COMMIT_BEYOND_LOG,
        alter("committed_offsets", having(partition=0), offset=plus("offset", 10_000)),
        Verb.SHIFT,
    ),
]


@pytest.fixture
def genuine(tmp_path: Path) -> Genuine:
    folder = RunFolder(tmp_path / "genuine")
    universe = planted_universe(None, 0, 1, records=60, partitions=2)
    write_history(folder, [universe], description(1, "test", "unknown", {}))
    return read_genuine(folder, Story(scenario=GENERATED))


def test_each_of_a_sample_is_noticed_by_the_check_that_it_names(
    read_run: TraceReader, tmp_path: Path, genuine: Genuine
) -> None:
    folder = RunFolder(tmp_path / "lies")
    checks = {one.check for one in SAMPLE}
    told = list(tell(read_run, SAMPLE, {GENERATED: genuine}, folder, 1, checks=checks))
    assert [one.lie.name for one in told if one.error or not one.is_noticed] == []
    others = {check for one in told for check, _ in one.noticed} - {str(check) for check in checks}
    assert others == set()


def test_a_renamed_column_and_a_plan_without_checks_are_noticed(
    read_run: TraceReader, tmp_path: Path, genuine: Genuine
) -> None:
    def no_checks(plan: Plan) -> Plan:
        return Plan(
            scenario=plan.scenario,
            question=plan.question,
            parameters=plan.parameters,
            topics=plan.topics,
            groups=plan.groups,
            must_judge=[],
            expects=[],
        )

    lies = [
        FileLie(
            name="column",
            verb=Verb.RENAME,
            of="sends",
            check=Check.PHANTOM_RECORD,
            change=rename("sends", "value"),
        ),
        FileLie(
            name="plan",
            verb=Verb.EMPTY,
            of="plan.json",
            check=None,
            change=plan_with(no_checks),
        ),
    ]
    told = list(tell_alone(read_run, lies, genuine, tmp_path / "alone", 1, accusers=()))
    assert [(one.is_noticed, one.accusers, one.error) for one in told] == [(True, (), "")] * 2
    assert told[0].seen == CheckVerdict.NOT_EVALUABLE


def test_there_are_enough_kinds_each_with_a_name_of_its_own() -> None:
    names = Counter(one.name for one in (*ROWS, *ALONE))
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) >= KINDS_MIN
    assert {one.table for one in ROWS} <= set(TABLES)
    assert {one.story for one in (*ROWS, *ALONE)} <= set(STORIES)
    assert all(why for *_, why in HIDDEN)


def test_a_universe_has_names_servers_and_times_of_its_own() -> None:
    row = {
        "broker": 2,
        "topic": "orders",
        "partition": 0,
        "to_offset": 7,
        "at_micros": 5,
        "log_line": "orders-0",
    }
    (laid,) = Universe(3).laid({"truncations": [row]})["truncations"]
    assert laid == row | {
        "broker": 2 + 3 * BROKERS_EACH,
        "topic": "u003.orders",
        "at_micros": 5 + 3 * STRIDE_MICROS,
    }
    fault = {
        "fault": "kill",
        "target_kind": "leader",
        "brokers": [1],
        "topic": "orders",
        "partition": 0,
    }
    (laid,) = Universe(2).laid({"faults": [fault]})["faults"]
    assert laid == fault | {"brokers": [1 + 2 * BROKERS_EACH], "topic": "u002.orders"}


def test_a_universe_has_a_quorum_of_its_own() -> None:
    """What is compared across servers by its place in the metadata log has one of its own."""
    sample = {"server": 101, "leader": 101, "leader_epoch": 2, "high_watermark": -1}
    sample |= {"voters": [101, 102], "log_ends": [9, -1], "observers": [1]}
    call = {"topic": METADATA_LOG, "partition": 0, "broker": 102, "leader": -1, "offset": None}
    call |= {"current_leader_epoch": 2, "asked_epoch": -1, "asked_offset": 0, "epoch": 0}
    entry = {"resource_type": "TOPIC", "resource_name": "orders", "principal": "User:reader"}
    tables = {"quorum_samples": [sample], "wire_calls": [call], "acls": [entry]}
    laid = Universe(3).laid(tables)
    server, offset, epoch = 3 * BROKERS_EACH, 3_000_000, 3000
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
    assert laid["acls"] == [
        entry | {"resource_name": "u003.orders", "principal": "u003.User:reader"}
    ]
    whole = {"resource_type": "CLUSTER", "resource_name": "kafka-cluster", "principal": "User:a"}
    (other,) = Universe(3).laid({"acls": [whole]})["acls"]
    assert other["resource_name"] == "kafka-cluster"


def test_a_finding_belongs_to_the_universe_that_it_names() -> None:
    finding = {"topic": None, "group": None, "cause": "", "partition": None, "at": None}
    assert universe_of({**finding, "group": "u004.g", "evidence": {}}, 0) == 4
    assert universe_of({**finding, "evidence": {"worker": "u005.clients"}}, 0) == 5
    assert (
        universe_of(
            {**finding, "evidence": {"servers": [one + 6 * BROKERS_EACH for one in (1, 101)]}}, 0
        )
        == 6
    )
    assert universe_of({**finding, "evidence": {}, "at": 7 * STRIDE_MICROS + 1}, 0) == 7
    assert universe_of({**finding, "evidence": {}}, 0) is None


def test_a_lie_that_finds_no_place_says_so() -> None:
    with pytest.raises(NoPlaceError, match="no fitting row in polls"):
        drop("polls", having(group="g"))({"polls": []}, CHANCE)


def test_a_copy_of_a_run_leaves_the_run_as_it_was(tmp_path: Path, genuine: Genuine) -> None:
    copy = copied(genuine.folder, tmp_path / "copy")
    rename("sends", "value")(copy, CHANCE)
    assert read_genuine(genuine.folder, Story(scenario=GENERATED)).tables == genuine.tables
