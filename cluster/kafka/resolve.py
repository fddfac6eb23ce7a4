"""Make a lock for a Kafka version: resolve its runtime jars with the Ivy that PySpark brings."""

import os
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

from cluster.kafka.download import sha256_of
from cluster.kafka.lock import Artifact, Lock
from cluster.kafka.repository import MIRROR_VARIABLE, ivy_jar, repository_root
from cluster.nodes.java import java_command
from harness.contract.errors import DistributionError

_BROKER = "kafka_2.13"
_LOG_BINDING = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.1")
"""Kafka 4.x comes without a binding for slf4j 1.7, and so without logs."""

_FIRST_WITHOUT_BINDING = 4
_RETRIEVE = "[organisation]/[artifact]/[revision]/[artifact]-[revision](-[classifier]).[ext]"
_RESOLVE_SECONDS = 900
_SAID_LINES = 15

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
        DistributionError: the version does not exist, or the resolver failed; shows what it said.
    """
    with tempfile.TemporaryDirectory(prefix="fencepost-lock-") as name:
        work = Path(name)
        jars = work / "jars"
        said = _resolve(version, work, jars)
        artifacts = [_artifact(path, jars) for path in sorted(jars.rglob("*.jar"))]
    if not any(artifact.name == _BROKER for artifact in artifacts):
        raise DistributionError(
            f"Kafka {version} can't be resolved (is there such a release?). Ivy said:\n{said}"
        )
    return Lock(version, tuple(artifacts))


def _resolve(version: str, work: Path, jars: Path) -> str:
    dependencies = [("org.apache.kafka", _BROKER, version)]
    if int(version.partition(".")[0]) >= _FIRST_WITHOUT_BINDING:
        dependencies.append(_LOG_BINDING)
    module = work / "ivy.xml"
    module.write_text(
        _MODULE.format(
            dependencies="\n    ".join(
                f"<dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(rev)}/>"
                for org, name, rev in dependencies
            )
        )
    )
    settings = work / "ivysettings.xml"
    root = f" root={quoteattr(repository_root())}" if os.environ.get(MIRROR_VARIABLE) else ""
    settings.write_text(_SETTINGS.format(cache=quoteattr(str(work / "cache")), root=root))
    command = [java_command(), "-cp", str(ivy_jar()), "org.apache.ivy.Main"]
    command += ["-settings", str(settings), "-ivy", str(module), "-types", "jar", "bundle"]
    command += ["-retrieve", f"{jars}/{_RETRIEVE}"]
    ended = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_RESOLVE_SECONDS
    )
    said = (ended.stdout + ended.stderr).splitlines()
    return "\n".join(line for line in said if "WARN" in line or "::" in line)[-2000:] or "\n".join(
        said[-_SAID_LINES:]
    )


def _artifact(path: Path, root: Path) -> Artifact:
    group, name, version, file_name = path.relative_to(root).parts
    classifier = file_name.removeprefix(f"{name}-{version}").removesuffix(".jar").lstrip("-")
    return Artifact(group, name, version, classifier, path.stat().st_size, sha256_of(path))
