"""The replicas' segments below a server's folder, by Kafka's rules for file names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SEGMENT = re.compile(r"\d{20}\.log")
_REPLICA = re.compile(r".+-\d+")
_DELETED = re.compile(r"(.+-\d+)\.[0-9a-f]{32}-delete")
"""How a deleted replica's folder is named until it is removed (`UnifiedLog.logDeleteDirName`)."""


@dataclass(frozen=True)
class Replica:
    """One replica's folder."""

    broker: int
    topic: str
    partition: int
    folder: Path

    @property
    def segments(self) -> list[Path]:
        """Its segment files, by base offset."""
        return sorted(path for path in self.folder.glob("*.log") if _SEGMENT.fullmatch(path.name))


def replica_folders(server: Path) -> list[Path]:
    """Return the replicas in a server's folder, by name; none if there is no such folder."""
    found = (path for path in server.glob("*") if path.is_dir())
    return sorted(path for path in found if _REPLICA.fullmatch(path.name))


def deleted_replicas(server: Path) -> list[tuple[str, Path]]:
    """Return the folders of deleted replicas that are still there, with the replicas' names."""
    found = ((_DELETED.fullmatch(path.name), path) for path in sorted(server.glob("*-delete")))
    return [(match[1], path) for match, path in found if match and path.is_dir()]


def replicas(segments: Path) -> Iterator[Replica]:
    """Return the replicas of all servers; folders with other names than Kafka's are ignored."""
    for server in sorted(path for path in segments.iterdir() if path.name.isdigit()):
        for folder in replica_folders(server):
            topic, _, partition = folder.name.rpartition("-")
            yield Replica(int(server.name), topic, int(partition), folder)


def ignored_files(server: Path) -> int:
    """Return the number of files in a server's folder that end like segments but are none."""
    logs = (path for folder in replica_folders(server) for path in folder.glob("*.log"))
    return sum(1 for path in logs if not _SEGMENT.fullmatch(path.name))
