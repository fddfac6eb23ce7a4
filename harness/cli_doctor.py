"""`fencepost doctor`."""

import typer
from rich.console import Console
from rich.table import Table

from cluster.nodes.doctor import diagnose, usable_pools
from harness.contract.errors import PrerequisiteError


def doctor() -> None:
    """Tell which pools and faults this machine can do, and what a missing tool costs."""
    findings = diagnose()
    table = Table("", "what", "found", "mend", box=None, pad_edge=False)
    for finding in findings:
        mark = "[green]ok[/]" if finding.is_good else "[yellow]--[/]"
        table.add_row(mark, finding.what, finding.detail, "" if finding.is_good else finding.mend)
    console = Console()
    console.print(table)
    pools = usable_pools(findings)
    console.print(f"usable: {', '.join(pools) or 'none'}")
    if not pools:
        raise typer.Exit(PrerequisiteError.exit_code)
