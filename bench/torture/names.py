"""Runs in folders whose names are patterns, statements, orders to a terminal, or no text."""

import os
import shutil
from collections.abc import Iterator

from bench.torture.attempt import Area, Attempt
from bench.torture.folders import copy_run
from bench.torture.setting import Setting
from bench.torture.verdicts import digests, left_in
from bench.traces import judged_of
from contract.run_folder import RunFolder
from harness.commands.run import decode_again

AREA = Area(
    "names of folders",
    "a run comes to the same verdict in a folder of any name, and nothing is written elsewhere",
    "files that are opened and not named to DuckDB, `contract.terminal.shown`",
)
NAMES = (
    b"a*", b"a[1]", b"a?", b"{a1,b}", b"it's", b'a "b"', b"x'); COPY (select 1) TO 'out.csv'; --",
    b'x"; drop table t1; --', b"leader=killed", b"per%20cent", b"a#b", b"a;b", b"a\\b", b"-rf",
    b"~", b"$HOME", b"`id`", b"a\nb", b"a\rb", b"a\x1b[2J", b"caf\xe9", b"\xff\xfe",
    "ä ö 漢字".encode(), "\u202eabc".encode(), b"<script>", b"[red]", b"{{7*7}}", b"...",
    b".hidden", b"a" * 200,
)  # fmt: skip


def attempts(setting: Setting) -> Iterator[Attempt]:
    """Judge a run in a folder of each name, beside another one that a pattern would find."""
    home = setting.place / "names"
    decoy = RunFolder(home / "a1")
    copy_run(setting.genuine, decoy)
    usual = RunFolder(home / "usual")
    copy_run(setting.elected, usual)
    expected = _verdict(usual)
    for name in NAMES:
        folder = RunFolder(home / os.fsdecode(name))
        copy_run(setting.elected, folder)
        before = digests(decoy.path), set(home.iterdir())
        try:
            told = _verdict(folder)
        except Exception as error:  # noqa: BLE001 - what ends the analysis is what is looked for
            told = f"{type(error).__name__}: {error!r}"[:200]
        problem = "" if told == expected else f"{told}, not {expected}"
        if (digests(decoy.path), set(home.iterdir())) != before:
            problem = "something was written elsewhere"
        yield Attempt(AREA.name, repr(name)[1:], problem or left_in(folder))
        shutil.rmtree(folder.path)


def _verdict(folder: RunFolder) -> str:
    """The verdict, and how many findings each check has; or the error."""
    decode_again(folder)
    judged = judged_of(folder)
    if judged.verdict is None:
        return str(judged.error)
    found = sum(one.findings for one in judged.verdict.checks.values())
    return f"{judged.verdict.verdict} with {found} findings"
