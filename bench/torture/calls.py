"""Bad calls of `fencepost`: each has its exit code and one line that says what to do."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.torture.attempt import ROOT, TRACEBACK, Area, Attempt, Setting

AREA = Area(
    "calls",
    "a bad call ends with the exit code of docs/running.md, at least one line, no traceback",
    "`contract.program`, typer",
)
USAGE, MISSING = 64, 69
_LONG = "x" * 5000
_SECONDS = 120

CALLS: list[tuple[tuple[str, ...], tuple[int, ...]]] = [
    *(((word,), (USAGE,)) for word in ("frobnicate", "Run", "runs", "--frobnicate", "-x", "")),
    *(((command, "--no-such-option"), (USAGE,)) for command in ("run", "nightly", "analyze")),
    *(((command, "--no-such-option"), (USAGE,)) for command in ("list", "explain", "generate")),
    *(((command, "--no-such-option"), (USAGE,)) for command in ("playground", "fault", "heal")),
    *(((command, "--no-such-option"), (USAGE,)) for command in ("status", "produce", "consume")),
    *(((command,), (USAGE,)) for command in ("run", "analyze", "explain", "fault", "kafka")),
    *((("run", name), (USAGE,)) for name in ("nonsense", "", "../baseline", "baseline ", _LONG)),
    *((("run", name), (USAGE,)) for name in ("[red]x[/]", "base\nline", "{{7*7}}", "*", "é")),
    *((("run", "baseline", "--seed", seed), (USAGE,)) for seed in ("abc", "-1", "1.5", "", _LONG)),
    (("run", "baseline", "--seed", "99999999999"), (USAGE,)),
    *((("run", "baseline", "--cluster", pool), (USAGE,)) for pool in ("cloud", "", "Docker")),
    *(
        (("run", "baseline", "--kafka", version), (USAGE, MISSING))
        for version in ("1.2.3", "latest", "", "../4.4.0", "4.4.0 ", _LONG)
    ),
    *(
        (("run", "unclean_election", "--parameters", text), (USAGE,))
        for text in (
            "{",
            "[1]",
            "1",
            '"x"',
            "null",
            "",
            '{"successor": "bogus"}',
            '{"nonsense": 1}',
            '{"successor": ["eligible"]}',
            '{"successor": null}',
            "[" * 5000,
        )
    ),
    *((("run", "baseline", "--results", place), (USAGE, 70)) for place in ("/proc/x", "/dev/null")),
    (("run", "baseline", "--results", "s3a://bucket/results"), (USAGE,)),
    *((("analyze", "s3a://bucket", "--conf", text), (USAGE,)) for text in ("", "x", "=", _LONG)),
    (("analyze", "s3a://bucket", "--conf", "spark.sql.ansi.enabled=false"), (USAGE,)),
    *((("nightly", "--suite", suite), (USAGE,)) for suite in ("nonsense", "", "/dev/null", "/")),
    *(
        (("nightly", "--suite", suite), (USAGE,))
        for suite in (str(ROOT / "README.md"), "no/such.yml", _LONG)
    ),
    (("nightly", "--seed", "x"), (USAGE,)),
    *(
        (("analyze", path), (USAGE,))
        for path in ("/nonexistent", "/dev/null", "", "docs", str(ROOT / "docs"), _LONG)
    ),
    *((("explain", path, "lost_record"), (USAGE,)) for path in ("/nonexistent", "docs", "")),
    (("generate",), (USAGE, 0)),
    *((("fault", words), (USAGE,)) for words in ("kill", "frobnicate broker:1", "", "[red]")),
    (("heal", "--results", "/nonexistent"), (USAGE, 0)),
    *((("kafka", word), (USAGE,)) for word in ("nonsense", "")),
    *((("kafka", "lock", version), (USAGE, MISSING)) for version in ("x", "../..", "")),
    (("shell",), (USAGE,)),
    (("shell", "no-such-node"), (USAGE,)),
]
"""Words, and the exit codes that are right for them."""


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Make each call, in an empty folder."""
    place = setting.place / "calls"
    place.mkdir()
    for arguments, codes in CALLS:
        shown = " ".join(word if len(word) < 40 else f"{word[:8]}…" for word in arguments)  # noqa: PLR2004
        yield Attempt(AREA.name, f"fencepost {shown}", _problem(arguments, codes, place))


def _problem(arguments: tuple[str, ...], codes: tuple[int, ...], place: Path) -> str:
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(ROOT)}
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "harness", *arguments],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {_SECONDS} s"
    if TRACEBACK in ended.stdout + ended.stderr:
        return "a traceback"
    if ended.returncode not in codes:
        return f"exit code {ended.returncode}, not {' or '.join(map(str, codes))}"
    if ended.returncode and not ended.stderr.strip() + ended.stdout.strip():
        return "no message"
    return ""
