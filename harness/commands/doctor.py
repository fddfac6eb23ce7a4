"""`fencepost doctor`: what a machine has of what is needed."""

import typer
from rich.table import Table
from rich.text import Text

from cluster.nodes.doctor import Finding, diagnose, usable_pools
from cluster.nodes.pool import PoolKind
from contract.errors import PrerequisiteError
from contract.program import Terminal
from harness.faults.language import FORMS


def doctor() -> None:
    """List which pools and faults this machine supports, and what a missing tool costs."""
    findings = diagnose()
    table = Table(box=None, pad_edge=False)
    for name in ("", "what", "found", "fix"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        mark = Text("ok", style="green") if finding.is_good else Text("--", style="yellow")
        table.add_row(mark, finding.what, finding.detail, "" if finding.is_good else finding.fix)
    console = Terminal()
    console.print(table)
    pools = usable_pools(findings)
    console.print(f"usable: {', '.join(pools) or 'none'}")
    console.print(f"faults: {', '.join(_faults(findings))}")
    if PoolKind.LOOPBACK in pools:
        console.print(f"without network faults on the {PoolKind.LOOPBACK} pool")
    if not pools:
        raise typer.Exit(PrerequisiteError.exit_code)


def _faults(findings: list[Finding]) -> list[str]:
    """Return the verbs of `fencepost play fault` that this machine supports."""
    lacking = {finding.what for finding in findings if not finding.is_good}
    needs = {verb: {form.fault.needs for form in forms} for verb, forms in FORMS.items()}
    return [
        verb
        for verb, all_of in needs.items()
        if not lacking & {need.value for need in all_of if need}
    ]
