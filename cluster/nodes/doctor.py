"""Report what this machine can run, and what a missing tool prevents."""

import resource
import socket
from dataclasses import dataclass

import psutil

from cluster.nodes.docker_client import docker_problem
from cluster.nodes.node import Capability
from cluster.nodes.pool import PoolKind
from cluster.nodes.sandbox import cut_problem, sandbox_problem
from cluster.prerequisites import java_problem
from cluster.toolchains import TOOLS, javac_command, problem_of, version_of
from contract.errors import PrerequisiteError
from contract.processes import java_command, require_open_files

_GIB = 1 << 30
_MEMORY_GIB_MIN = 3


@dataclass(frozen=True)
class Finding:
    """One inspected prerequisite. `fix` says what its absence costs and how to install it."""

    what: str
    is_good: bool
    detail: str
    fix: str = ""


def diagnose() -> list[Finding]:
    """Inspect everything that runs depend on."""
    found = [
        _java(),
        _javac(),
        _memory(),
        _open_files(),
        _check_embedded(),
        _docker(),
        _loopback(),
        _cuts(),
        _limits(),
    ]
    return [*found, *_toolchains()]


def usable_pools(findings: list[Finding]) -> list[PoolKind]:
    """Return the pools that work here, best first."""
    good = {finding.what for finding in findings if finding.is_good}
    return [kind for kind in PoolKind if f"{kind} pool" in good]


def _java() -> Finding:
    problem = java_problem()
    if problem is None:
        return Finding("java", is_good=True, detail=java_command())
    return Finding("java", is_good=False, detail="none that serves", fix=problem.message)


def _javac() -> Finding:
    try:
        use = "for `fencepost patch` and guests of Java"
        return Finding("javac", is_good=True, detail=f"{javac_command()}, {use}")
    except PrerequisiteError as error:
        return Finding("javac", is_good=False, detail="none", fix=str(error))


def _memory() -> Finding:
    available_gib = psutil.virtual_memory().available / _GIB
    return Finding(
        "memory",
        is_good=available_gib >= _MEMORY_GIB_MIN,
        detail=f"{available_gib:.1f} GiB available",
        fix=f"three brokers, their clients and Spark take about {_MEMORY_GIB_MIN} GiB",
    )


def _open_files() -> Finding:
    try:
        detail = f"a process may open {require_open_files():,}"
    except PrerequisiteError as error:
        return Finding("open files", is_good=False, detail="too few", fix=str(error))
    return Finding("open files", is_good=True, detail=detail)


def _check_embedded() -> Finding:
    problem = sandbox_problem()
    return Finding(
        f"{PoolKind.EMBEDDED} pool",
        is_good=problem is None,
        detail="user and network namespaces work" if problem is None else "no namespaces",
        fix=problem or "",
    )


def _docker() -> Finding:
    problem = docker_problem()
    return Finding(
        f"{PoolKind.DOCKER} pool",
        is_good=problem is None,
        detail="a daemon responds" if problem is None else "no daemon",
        fix=problem or "",
    )


def _loopback() -> Finding:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.11", 0))
        except OSError as error:
            return Finding(
                f"{PoolKind.LOOPBACK} pool",
                is_good=False,
                detail=str(error),
                fix="add the addresses; macOS: sudo ifconfig lo0 alias 127.0.0.11 (to .15)",
            )
    return Finding(f"{PoolKind.LOOPBACK} pool", is_good=True, detail="process faults only")


def _cuts() -> Finding:
    problem = sandbox_problem()
    if problem is None:
        problem = cut_problem()
    return Finding(
        Capability.CUT.value,
        is_good=problem is None,
        detail="by peer, direction and port" if problem is None else "no packets can be dropped",
        fix=problem or "",
    )


def _limits() -> Finding:
    is_there = hasattr(resource, "prlimit")
    return Finding(
        Capability.FILE_LIMITS.value,
        is_good=is_there,
        detail="of running processes" if is_there else "only of one's own process",
        fix="the fault fill needs Linux",
    )


def _toolchains() -> list[Finding]:
    """Those of clients in other languages; Fencepost itself needs none of them."""
    problems = {tool: problem_of(tool) for tool in TOOLS}
    return [
        Finding(
            tool.named,
            is_good=problem is None,
            detail=f"{version_of(tool) or 'none'}, for clients in {tool.language}",
            fix=problem or "",
        )
        for tool, problem in problems.items()
    ]
