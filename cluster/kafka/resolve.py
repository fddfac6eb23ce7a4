"""Make a lock for a Kafka version: resolve its runtime jars with PySpark's Ivy."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from cluster.kafka.download import MIRROR_VARIABLE, ivy_jar, repository_root, sha256_of
from cluster.kafka.lock import Artifact, Lock
from contract.errors import DistributionError
from contract.files import replace_text
from contract.locks import temporary_folder
from contract.processes import java_command

_BROKER = "kafka_2.13"
_LOG_BINDINGS = {
    "log4j-core": ("org.apache.logging.log4j", "log4j-slf4j-impl"),
    "slf4j-api": ("org.slf4j", "slf4j-reload4j"),
}
"""The slf4j binding for each log library, in the version of the artifact that is the key; the first
one among a broker's jars decides. `kafka_2.13` depends on none, and does not log without one: 4.x
logs by log4j 2, 3.9 by reload4j."""

_RETRIEVE = "[organisation]/[artifact]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
_RESOLVE_SECONDS = 900
_SAID_CHARACTERS = 2000
_SAID_LINES = 15

Module = tuple[str, str, str]

_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="maven"/>
  <caches defaultCacheDir={cache}/>
  <resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers>
</ivysettings>
"""

_MODULE = """\
<ivy-module version="2.0">
  <info organisation="fencepost" module="broker"/>
  <dependencies defaultconf="default->runtime,master">
    {dependencies}
    <exclude org="org.apache.kafka" module="kafka-tools-api"/>
  </dependencies>
</ivy-module>
"""


def make_lock(version: str) -> Lock:
    """Resolve a version's jars, download them and hash them. Takes a minute.

    `kafka-tools-api` is left out: brokers run without it, and 4.4.0 names one that was never
    published.

    Raises:
        DistributionError: the version does not exist, or the resolver failed; shows its output.
    """
    with temporary_folder("lock") as work:
        broker = ("org.apache.kafka", _BROKER, version)
        binding = _log_binding(resolve_jars([broker], work / "bare"))
        artifacts = resolve_jars([broker, binding], work / "logging")
    return Lock(version, tuple(artifacts))


def _log_binding(artifacts: list[Artifact]) -> Module:
    versions = {artifact.name: artifact.version for artifact in artifacts}
    for name, binding in _LOG_BINDINGS.items():
        if name in versions:
            return (*binding, versions[name])
    raise DistributionError(
        f"unknown log library: this Kafka's jars include none of "
        f"{', '.join(_LOG_BINDINGS)}. Add its binding to {__name__}."
    )


def resolve_jars(modules: Sequence[Module], work: Path) -> list[Artifact]:
    """Return the jars of modules and of what they need at run time, downloaded and hashed.

    Args:
        modules: group, name and version of each.
        work: a folder that does not exist; the cache of the resolver is beside it.

    Raises:
        DistributionError: a module does not exist, or the resolver failed; shows its output.
    """
    jars = work / "jars"
    said = _resolve(modules, work, jars)
    artifacts = [_artifact(path, jars) for path in sorted(jars.rglob("*.jar"))]
    found = {(artifact.group, artifact.name) for artifact in artifacts}
    if missing := [":".join(module) for module in modules if module[:2] not in found]:
        raise DistributionError(
            f"{', '.join(missing)} can't be resolved (is there such a release?). Ivy said:\n{said}"
        )
    return artifacts


def _resolve(modules: Sequence[Module], work: Path, jars: Path) -> str:
    work.mkdir()
    module = work / "ivy.xml"
    replace_text(
        module,
        _MODULE.format(
            dependencies="\n    ".join(
                f"<dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(rev)}/>"
                for org, name, rev in modules
            )
        ),
    )
    settings = work / "ivysettings.xml"
    root = f" root={quoteattr(repository_root())}" if os.environ.get(MIRROR_VARIABLE) else ""
    cache = quoteattr(str(work.parent / "cache"))
    replace_text(settings, _SETTINGS.format(cache=cache, root=root))
    command = [java_command(), "-cp", str(ivy_jar()), "org.apache.ivy.Main"]
    command += ["-settings", str(settings), "-ivy", str(module), "-types", "jar", "bundle"]
    command += ["-retrieve", f"{jars}/{_RETRIEVE}"]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_RESOLVE_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise DistributionError(
            f"Ivy did not end within {_RESOLVE_SECONDS} s: check the network, or set "
            f"{MIRROR_VARIABLE} to the address of a nearer Maven repository"
        ) from None
    said = (ended.stdout + ended.stderr).splitlines()
    warnings = "\n".join(line for line in said if "WARN" in line or "::" in line)
    return warnings[-_SAID_CHARACTERS:] or "\n".join(said[-_SAID_LINES:])


def _artifact(path: Path, root: Path) -> Artifact:
    group, name, version, file_name = path.relative_to(root).parts
    classifier = file_name.removeprefix(f"{name}-{version}").removesuffix(".jar").lstrip("-")
    return Artifact(group, name, version, classifier, path.stat().st_size, sha256_of(path))
