"""Prints an annotation of GitHub Actions for each run that is not as its suite expects.

`annotate.py NIGHT SUITE`. It needs nothing but Python.
"""

import json
import sys
from pathlib import Path
from typing import Any

LEVELS = {"unexpected": "error", "undecided": "warning", "omitted": "warning"}
FINDINGS_MAX = 10


def main() -> None:
    """Print them."""
    night, suite = Path(sys.argv[1]), Path(sys.argv[2])
    summary = json.loads((night / "report" / "summary.json").read_text())
    place = {"file": str(suite)} if suite.is_file() else {}
    for run in summary["runs"]:
        if run["outcome"] in LEVELS:
            on = f"{run['scenario']}, Kafka {run['kafka']}"
            of = {**place, "title": f"{on}: {run['verdict']}, expected {run['expect']}"}
            given = ",".join(f"{key}={as_property(value)}" for key, value in of.items())
            print(f"::{LEVELS[run['outcome']]} {given}::{as_message(what(night, run))}")


def what(night: Path, run: dict[str, Any]) -> str:
    """What was found in a run, a line each, and the command that repeats it."""
    lines = [run["error"]] if run["error"] else []
    if run["report"]:
        verdict = json.loads((night / run["report"]).with_name("verdict.json").read_text())
        found = [f"{entry['check']}: {entry['first']['cause']}" for entry in verdict["unexpected"]]
        lines += [*found, *verdict["doubts"]][:FINDINGS_MAX]
    return "\n".join([*lines, f"again: {run['rerun']}"])


def as_message(text: str) -> str:
    """Escape what ends a message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def as_property(text: str) -> str:
    """Escape what ends a property."""
    return as_message(text).replace(":", "%3A").replace(",", "%2C")


if __name__ == "__main__":
    main()
