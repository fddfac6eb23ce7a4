"""Checks of the command line before work begins."""

import json
import re
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from cluster.nodes.docker_client import docker_problem
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import sandbox_problem
from contract.errors import PrerequisiteError, UsageError
from contract.randomness import SEED_BITS

DEFAULT_KAFKA = "4.4.0"
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(-[A-Za-z0-9.-]{1,60})?")
_SHOWN = 200
"""Characters."""


def require_pool(kind: PoolKind) -> None:
    """Check that a pool works on this machine.

    Raises:
        PrerequisiteError: it does not; says why, and which pools work.
    """
    probes = {PoolKind.EMBEDDED: sandbox_problem, PoolKind.DOCKER: docker_problem}
    if kind in probes and (problem := probes[kind]()) is not None:
        raise PrerequisiteError(problem)


def require_seed(seed: int | None) -> None:
    """Check that a seed has at most SEED_BITS bits.

    Raises:
        UsageError: it has more.
    """
    if seed is not None and seed >= 1 << SEED_BITS:
        raise UsageError(f"a seed has at most {SEED_BITS} bits, {seed} has more")


def require_kafka(version: str, *, option: str = "--kafka") -> None:
    """Check the form of a Kafka version.

    Raises:
        UsageError: it is invalid.
    """
    if not _VERSION.fullmatch(version):
        raise UsageError(
            f"{option} takes a version such as {DEFAULT_KAFKA}, not {shortened(version)}"
        )


def require_results(results: Path) -> Path:
    """Create the folder for results; returns its absolute path.

    Raises:
        UsageError: it is not writable.
    """
    try:
        results = results.resolve()
        results.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=results):
            return results
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"--results {shortened(str(results))} can't be written ({why}): name another folder"
        ) from error


def parameters_of(text: str | None) -> dict[str, Any]:
    """Return a scenario's parameters from a JSON object; none for None.

    Raises:
        UsageError: it is none.
    """
    try:
        parsed = json.loads("{}" if text is None else text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--parameters is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        shown = shortened(str(text))
        raise UsageError(f'--parameters must be a JSON object like {{"name": 1}}, not {shown}')
    return parsed


def shortened(text: str) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
