"""Mistakes of newcomers are refused before anything is started, and the error says what to do."""

import inspect
import re
from pathlib import Path

import pytest

from cluster.kafka.topology import Topology
from contract.errors import UsageError
from contract.software import released
from harness.commands.new import About, content
from harness.session.catalog import scenarios
from harness.session.ducktape_session import pool_size
from harness.session.loading import load
from harness.story.mistakes import _KINDS, _Story, errors_of
from harness.story.run import Run
from harness.story.soundness import require_sound
from harness.story.topics import durable_topic
from tests.descriptions import plan_of
from tests.programs import ran_python

SOUND = (Path(__file__).parent / "sound_story.py").read_text()
IN_A_BLOCK = 'with run.fault(Kill(LeaderOf("orders", 0))):'
CREATES = "            run.create(assignment=[1, 2, 3], is_spread=True)\n"
KILL = 'Kill(LeaderOf("orders", 0))'


@pytest.mark.parametrize(
    ("right", "wrong", "reported"),
    [
        ("Topology(brokers", "Topology(broker", "30: Topology: .* broker; the nearest is brokers"),
        ("brokers=3)", 'brokers="3")', "30: Topology: brokers='3' has to be of type int"),
        ("(brokers=3)", "(brokers=0)", "brokers=0 has to be a number, 1 to 244"),
        ("partitions=3", "partition=3", "32: durable_topic: .*; the nearest is partitions"),
        ("partitions=3", 'partitions="3"', "32: .* partitions='3' has to be of type int"),
        ('"readers", "orders", s', '"readers", s', "36: reader: it lacks topic="),
        ('max.poll.records"', 'max.pol.records"', "36: group readers: .* is max.poll.records"),
        ('"orders", settings', '"orders", client="jav", settings', "no client jav; .* java"),
        (
            "Check.LOST_RECORD,",
            "Check.LOST_RECORDS,",
            "38 does not import: .* there is no Check LOST_RECORDS; .* is",
        ),
        ("(Check.LOST_RECORD", '("lost_recrod"', "38: there is no check lost_recrod; .* lost"),
        ("    topology = Topology(brokers=3)\n", "", "OwnScenario has no topology: set the size"),
        ("none(lost_record.records", "none(lost_record.recods", "44: .* recods; .* is records"),
        ("record survive when", "record vanish when", "44: .* does not ask 'survive': name"),
        ("    LeaderOf,", "    LeadrOf,", "12 .*cannot import name .* nearest is LeaderOf"),
        ("run.create(", "run.crate(", "53: there is no verb crate; the nearest is create"),
        ("assignment=[1", "assignments=[1", "53: run.create: .*; the nearest is assignment"),
        (CREATES, "", "51: the story creates none of its topics: begin it with run.create"),
        ("load.await_ack", "load.await_ak", "56: .* the nearest is await_acknowledged of Workload"),
        ('["writer"], 5', '"writer", 5', "56: .* producers='writer' has to be of type Sequence"),
        ('["writer"], 5', '["writter"], 5', "56: there is no producer writter; .* is writer"),
        ('epoch("orders"', "epoch(self.orders", "57: run.leader_epoch: topic=self.orders has"),
        ("records_per_second", "rate", "55: .* no argument rate; there are: topic, readers, rec"),
        ("run.watch()", "run.watch(self.orders)", "54: run.watch: it takes 0 arguments"),
        (KILL, 'Kill("orders-0")', "60: Kill: .* has to be a target, as LeaderOf"),
        (KILL, 'Kill(LeaderOf("orders"))', "60: LeaderOf: it lacks partition="),
        (KILL, 'Kll(LeaderOf("orders", 0))', "60: there is no name Kll; the nearest is Kill"),
        (IN_A_BLOCK, f"run.fault({KILL})\n            if True:", "60: .* outside of `with`"),
        ("run.settle()", "run.settle", "66: run.settle is not called: write run.settle()"),
        ("Stage.HEALED", "Stage.HEAL", "64: there is no Stage HEAL; the nearest is HEALED"),
        ("[0], epoch)", "[0], epch)", "61: there is no name epch; the nearest is epoch"),
        ("end(self.groups)", "end(groups)", "67: groups is an attribute of the class: write self"),
        ("end(self.groups)", "end(self.group)", "67: OwnScenario: .* group; the nearest is groups"),
        ("end(self.groups)", 'end("readers")', "67: .* has to be of type Sequence.GroupPlan"),
        ("self.running(topics", "self.running(topic", "51: self.running: .* nearest is topics"),
    ],
)
def test_a_mistake_is_refused_with_its_line_and_what_is_meant(
    tmp_path: Path, right: str, wrong: str, reported: str
) -> None:
    assert right in SOUND
    with pytest.raises(UsageError, match=rf"own_test.py(:| ).*{reported}"):
        pool_size([write_scenario(tmp_path, SOUND.replace(right, wrong))], released("4.4.0"))


@pytest.mark.parametrize(
    ("right", "wrong", "reported"),
    [
        ("[1, 2, 3]", "[1, 2, 4]", "53: assignment: there is no broker 4: the brokers are 1 to 3"),
        ("[1, 2, 3]", "[1, 2]", "53: .* topic orders is planned with 3 replicas, name that many"),
        ('"orders", 0))', '"orders", 3))', "topic orders has no partition 3: the last one is 2"),
        ('LeaderOf("orders", 0)', "Broker(4)", "there is no broker 4: the brokers are 1 to 3"),
    ],
)
def test_what_the_cluster_does_not_have_is_refused_by_its_plan(
    tmp_path: Path, right: str, wrong: str, reported: str
) -> None:
    text = SOUND.replace("    LeaderOf,", "    Broker,LeaderOf,")
    for story, error in ((text, None), (text.replace(right, wrong), reported)):
        module = load(write_scenario(tmp_path, story), "own_test")
        topics = [durable_topic("orders", partitions=3)]
        plan = plan_of(topics=topics, groups=list(module.OwnScenario.groups))
        build, topology = released("4.4.0"), Topology(brokers=3)
        if error is None:
            require_sound(plan, module, topology=topology, build=build)
            continue
        with pytest.raises(UsageError, match=f"own_test.py:{error}|own_test.py:[0-9]*: {error}"):
            require_sound(plan, module, topology=topology, build=build)


@pytest.mark.parametrize("name", ["or ders", "", ".", "a" * 250])
def test_a_topic_has_a_name_that_kafka_takes(tmp_path: Path, name: str) -> None:
    module = load(write_scenario(tmp_path, SOUND), "own_test")
    plan = plan_of(topics=[durable_topic(name, partitions=3)])
    with pytest.raises(UsageError, match="is no name of a topic: use letters"):
        require_sound(plan, module, topology=Topology(brokers=3), build=released("4.4.0"))


@pytest.mark.parametrize("about", About)
def test_what_new_scenario_writes_is_sound(tmp_path: Path, about: About) -> None:
    file = write_scenario(tmp_path, content("own", about))
    assert pool_size([file], released("4.4.0")) in (5, 6)
    assert [path.name for path in tmp_path.iterdir()] == ["own_test.py"]
    assert ran_python("-m", "ruff", "format", "--check", "--line-length=100", file).returncode == 0
    for right, wrong, reported in (
        ("num.io.threads", "num.io.thread", "there is no setting num.io.thread; the nearest is"),
        ("max.poll.records", "max.poll.record", "there is no setting max.poll.record; the nearest"),
        ("compression.type", "compression.tip", "there is no setting compression.tip; the nearest"),
        ('MEMBERS = "java"', 'MEMBERS = "jawa"', "there is no client jawa; the nearest is java"),
    ):
        with pytest.raises(UsageError, match=rf"own_test.py:[0-9]+.*{reported}"):
            pool_size(
                [write_scenario(tmp_path, content("own", about).replace(right, wrong))],
                released("4.4.0"),
            )


def test_what_new_test_writes_is_python() -> None:
    text = content("own", "test")
    compile(text, "test_own.py", "exec")
    assert "def test_own(fencepost_cluster):" in text


def test_no_mistake_is_found_in_a_sound_story() -> None:
    """Of all stories at once, by the type checker; then of each, by what it does not see."""
    paths = [scenario.path for scenario in scenarios()]
    assert [error for error in errors_of(paths) if error.name in _KINDS] == []
    for path in paths:
        story = _Story(path.read_text(), {})
        assert [*story.without_effect(), *story.single_names()] == [], path
        assert [*story.without_topics(), *story.unknown_producers()] == [], path


def write_scenario(folder: Path, text: str) -> Path:
    file = folder / "own_test.py"
    file.write_text(text)
    return file


def test_all_that_a_run_has_is_declared() -> None:
    """So that an editor completes it, and a story may use it."""
    given = set(re.findall(r"^        self\.([a-z]\w*) = ", inspect.getsource(Run), re.MULTILINE))
    assert given <= set(inspect.get_annotations(Run))


@pytest.mark.parametrize("folder", ["venv", ".venv", "node_modules"])
def test_a_file_is_checked_in_whatever_folder_it_lies(folder: str, tmp_path: Path) -> None:
    """An installation may lie in a folder `venv`: the stories of the playground are there."""
    file = tmp_path / folder / "lib" / "own_test.py"
    file.parent.mkdir(parents=True)
    file.write_text("unbound_name\n")
    (found,) = errors_of([file])
    assert found.name == "unknown-name"
