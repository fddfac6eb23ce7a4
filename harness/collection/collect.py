"""Collects raw files from the nodes into the run's folder, then builds the trace tables."""

import time
from pathlib import Path
from typing import Any

from cluster.kafka.service import KafkaService
from cluster.nodes.node import Node, NodeState
from contract.files import lines_of, printable, read_regular, replace_file
from contract.manifest import TABLES_OF_HISTORIES
from contract.run_folder import RunFolder
from contract.software import Client
from contract.terms import PHASE_LIMIT_SECONDS, Stage
from harness.clients.observer_worker import ObserverRole
from harness.clients.process import WorkerService
from harness.decode.client_logs import librdkafka, resets
from harness.decode.client_logs.joins import join_loops
from harness.decode.client_logs.lines import end_of
from harness.decode.epochs import with_epochs_of_logs
from harness.decode.histories import read_histories
from harness.decode.replica_files import deleted_replicas, ignored_files, replica_folders
from harness.decode.server_logs import TABLES_OF_SERVER_LOGS, id_of, rows_of, server_of
from harness.decode.tables import write_table

_DECODE_SECONDS = PHASE_LIMIT_SECONDS[Stage.COLLECTING]
_LEFT_ON_THE_NODE = (".index", ".timeindex", ".txnindex", ".lock")
"""Files of a log directory whose content the segments have too."""
_OF_ITS_OWN = "__"
"""Topics with such names are Kafka's own."""
_METADATA_LOG = "__cluster_metadata-0"
_COPY_SECONDS = 60


def collect_worker(folder: RunFolder, worker: WorkerService) -> None:
    """Copy a worker's history, its clients' log and what it printed."""
    folder.history.mkdir(parents=True, exist_ok=True)
    folder.clients.mkdir(parents=True, exist_ok=True)
    _copy_file(worker.host, worker.history_file, folder.history / f"{worker.worker}.jsonl")
    _copy_file(worker.host, worker.log_file, folder.clients / f"{worker.worker}.log")
    output = worker.folder / "output.log"
    _copy_file(worker.host, output, folder.clients / f"{worker.worker}.output.log")


def collect_server(folder: RunFolder, kafka: KafkaService, server: int) -> None:
    """Copy a server's log and its replicas; the server must have ended."""
    logs = folder.brokers / str(server)
    logs.mkdir(parents=True, exist_ok=True)
    _copy_file(kafka.host(server), kafka.log_file(server), logs / "server.log")
    copy_log_directory(kafka, server, folder.segments / str(server))
    keep_deleted(folder.segments / str(server), folder.kept)


def keep_deleted(server: Path, kept: Path) -> None:
    """Move replicas that the server deleted, and had not yet removed, to where copies are kept.

    They are as of their last write; see `keep_log_directory`.
    """
    for name, deleted in deleted_replicas(server):
        written = max((path.stat().st_mtime_ns for path in deleted.glob("*.log")), default=0)
        target = kept / str(written // 1000) / server.name / name
        target.parent.mkdir(parents=True, exist_ok=True)
        deleted.rename(target)


def decode_servers(folder: RunFolder, observer: WorkerService) -> None:
    """Let the observer decode the collected replicas into tables.

    Raises:
        WaitTimeoutError: it does not answer at all, or has not decoded them in time.
    """
    observer.clock_micros()
    segments, kept, tables = (observer.folder / name for name in ("segments", "kept", "tables"))
    observer.host.copy_to(folder.segments, segments)
    if folder.kept.exists():
        observer.host.copy_to(folder.kept, kept)
    observer.call(
        ObserverRole.decode(
            str(segments), kept=str(kept), tables=str(tables), run=folder.run().identity
        ),
        timeout_seconds=_DECODE_SECONDS,
    )
    observer.host.copy_from(tables, folder.tables)


def decode_clients(folder: RunFolder, tables: Path) -> None:
    """Build tables from a run's histories and client logs, in the folder `tables`."""
    policies = {group.group: group.reset for group in folder.plan().groups}
    run = folder.run().identity
    rows = read_histories(folder.history)
    ends = {log.stem: end_of(read_regular(log)) for log in folder.clients.glob("*.log")}
    for history in rows.of("histories"):
        history.update(ends.get(history["worker"], end_of(None)))
    for table in TABLES_OF_HISTORIES:
        content = rows.table(table)
        if table == "polls":
            content = with_epochs_of_logs(content, folder.tables)
        write_table(tables, table, content, run=run)
    clients = {history["worker"]: history["client"] for history in rows.of("histories")}
    found: list[dict[str, Any]] = []
    omitted: list[dict[str, Any]] = []
    loops: list[dict[str, Any]] = []
    for log in sorted(folder.clients.glob("*.log")):
        client, whole = clients.get(log.stem), list(lines_of(log))
        found += resets(whole, worker=log.stem, policies=policies, client=client)
        loops += join_loops(whole, worker=log.stem)
        if client == Client.LIBRDKAFKA:
            omitted += librdkafka.omitted_commits(whole, worker=log.stem)
    write_table(tables, "resets", found, run=run)
    write_table(tables, "omitted_commits", omitted, run=run)
    write_table(tables, "join_loops", loops, run=run)


def decode_server_logs(folder: RunFolder, tables: Path) -> None:
    """Build tables from the servers' logs, and record which files of each server exist."""
    run = folder.run().identity
    write_table(tables, "servers", _servers(folder), run=run)
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES_OF_SERVER_LOGS}
    for log in sorted(folder.brokers.glob("*/server.log")):
        whole = list(lines_of(log))
        broker = server_of(log.parent.name, whole)
        if broker is not None:
            for table in TABLES_OF_SERVER_LOGS:
                found[table] += rows_of(table, whole, broker=broker)
    for table, rows_of_table in found.items():
        write_table(tables, table, rows_of_table, run=run)


def _servers(folder: RunFolder) -> list[dict[str, Any]]:
    """Return rows of the table `servers`: one for each name below brokers/ or segments/."""
    parts = (folder.brokers, folder.segments)
    names = {path.name for part in parts if part.is_dir() for path in part.iterdir()}
    entries = []
    for name in sorted(names):
        log, segments = folder.brokers / name / "server.log", folder.segments / name
        entries.append(
            {
                "name": printable(name),
                "server": id_of(name),
                "log_lines": (read_regular(log) or b"").count(b"\n"),
                "replicas": len(replica_folders(segments)),
                "ignored_files": ignored_files(segments),
            }
        )
    return entries


def _copy_file(node: Node, source: Path, target: Path) -> None:
    """Copy one file, if it exists; the analysis reports a missing one."""
    content = node.read(source)
    if content:
        replace_file(target, content)


def copy_log_directory(kafka: KafkaService, server: int, target: Path) -> None:
    """Copy a log directory of a server that does not run, or whose node is paused."""
    _copy_folder(kafka.host(server), kafka.data(server), target)


def keep_log_directory(kafka: KafkaService, server: int, kept: Path) -> None:
    """Copy a server's metadata log and replicas of users' topics now, before it may truncate them.

    Args:
        kafka: the cluster.
        server: it may run.
        kept: receives a folder named by the time, in microseconds since 1970, with one of the
            server.
    """
    node, data = kafka.host(server), kafka.data(server)
    target = kept / str(time.time_ns() // 1000) / str(server)
    if node.state is NodeState.SUSPENDED or not kafka.is_running(server):
        _copy_folder(node, data, target)
    else:
        # A file that grows while it is archived would damage the archive.
        still = data.with_name("kept")
        node.run(["cp", "-r", str(data), str(still)], timeout_seconds=_COPY_SECONDS, check=False)
        _copy_folder(node, still, target)
        node.remove(still)
    for path in target.rglob(f"{_OF_ITS_OWN}*/*"):
        if path.parent.name != _METADATA_LOG or path.suffix != ".log":
            path.unlink()


def _copy_folder(node: Node, source: Path, target: Path) -> None:
    """Copy a log directory from its node, without the files that are not needed."""
    node.copy_from(source, target)
    for path in target.rglob("*"):
        if path.name.endswith(_LEFT_ON_THE_NODE):
            path.unlink()
