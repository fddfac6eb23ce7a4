"""Own jars of servers and of Java clients, on a real cluster."""

import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import ran
from lost_epoch import compile_class, has_compiler

from cluster.kafka import distribution
from cluster.kafka.own_jars import resolve
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.run_folder import RunFolder, find_runs
from contract.software import Choice
from harness.session.catalog import find_scenarios

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(240)]

RELEASE, BUILD = "4.4.0", "4.4.1-SNAPSHOT"
NO_EPOCH = -1
if sandbox_problem() is not None:
    pytest.skip(str(sandbox_problem()), allow_module_level=True)
if not has_compiler():
    pytest.skip("there is no JDK, so that no class can be patched", allow_module_level=True)


def named_otherwise(folder: Path) -> Path:
    """The release's jars as a distribution, whose client jar names the version of a build."""
    libs = folder / "libs"
    libs.mkdir(parents=True)
    for jar in distribution.class_path(RELEASE):
        if jar.name != f"kafka-clients-{RELEASE}.jar":
            (libs / jar.name).symlink_to(jar)
            continue
        with (
            zipfile.ZipFile(jar) as release,
            zipfile.ZipFile(libs / f"kafka-clients-{BUILD}.jar", "w") as build,
        ):
            for entry in release.infolist():
                content = release.read(entry)
                if entry.filename == "kafka/kafka-version.properties":
                    content = content.replace(RELEASE.encode(), BUILD.encode())
                build.writestr(entry, content)
    return folder


def committed_epochs(run: RunFolder) -> set[int]:
    rows = pq.read_table(run.tables / "committed_offsets.parquet").to_pylist()
    return {row["committed_epoch"] for row in rows if row["group"].startswith("orders.")}


def test_servers_and_clients_run_on_the_jars_that_are_named(tmp_path: Path) -> None:
    classes = compile_class(tmp_path / "patch", RELEASE)
    kafka_dir = named_otherwise(tmp_path / "kafka")
    build = resolve(Choice(kafka_dir=str(kafka_dir), client_jars=[str(classes)]))
    (scenario,) = find_scenarios(["baseline"])
    folder = ran(scenario, tmp_path / "results", PoolKind.EMBEDDED, build=build)
    (run,) = find_runs(folder)
    described = run.run()
    assert described.error is None
    assert (described.kafka, described.build) == (BUILD, build)
    assert described.clients["java"] == BUILD
    assert set(described.jars) == {jar.name for jar in build.server_jars}
    for broker in ("1", "2", "3"):
        assert f"Kafka version: {BUILD}" in (run.brokers / broker / "server.log").read_text()
    assert committed_epochs(run) == {NO_EPOCH}
