"""A client with a planted fault: `OffsetAndMetadata` forgets the leader epoch that it is given."""

import subprocess
from pathlib import Path

from cluster.kafka import distribution
from cluster.toolchains import javac_command
from contract.errors import PrerequisiteError

_SOURCE = """
package org.apache.kafka.clients.consumer;

import java.io.Serializable;
import java.util.Objects;
import java.util.Optional;

public class OffsetAndMetadata implements Serializable {
    private static final long serialVersionUID = 1L;
    private final long offset;
    private final String metadata;

    public OffsetAndMetadata(long offset, Optional<Integer> forgotten, String metadata) {
        if (offset < 0) throw new IllegalArgumentException("Invalid negative offset");
        this.offset = offset;
        this.metadata = metadata == null ? "" : metadata;
    }

    public OffsetAndMetadata(long offset, String metadata) {
        this(offset, Optional.empty(), metadata);
    }

    public OffsetAndMetadata(long offset) {
        this(offset, "");
    }

    public long offset() {
        return offset;
    }

    public String metadata() {
        return metadata;
    }

    public Optional<Integer> leaderEpoch() {
        return Optional.empty();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OffsetAndMetadata that
            && that.offset == offset && that.metadata.equals(metadata);
    }

    @Override
    public int hashCode() {
        return Objects.hash(offset, metadata);
    }
}
"""


def has_compiler() -> bool:
    """Whether there is a JDK."""
    try:
        javac_command()
    except PrerequisiteError:
        return False
    return True


def compile_class(folder: Path, version: str) -> Path:
    """Compile the class against a version's client; the folder of classes."""
    classes, source = folder / "classes", folder / "OffsetAndMetadata.java"
    classes.mkdir(parents=True)
    source.write_text(_SOURCE)
    (client,) = (
        jar
        for jar in distribution.class_path(version)
        if jar.name == f"kafka-clients-{version}.jar"
    )
    command = [
        javac_command(),
        "--release",
        "17",
        "-cp",
        str(client),
        "-d",
        str(classes),
        str(source),
    ]
    subprocess.run(command, check=True)
    return classes
