"""The commits that clients made, as they are stored."""

from analysis.engine.frames import Frame
from analysis.facts.declared import of_table
from analysis.facts.trace import Trace, fact

OFFSETS_TOPIC = "__consumer_offsets"
_COMMIT_APIS = "'OFFSET_COMMIT', 'TXN_OFFSET_COMMIT'"


@fact(*of_table("committed_offsets"))
def client_offsets(trace: Trace) -> Frame:
    """Rows of `committed_offsets`, without those of groups that only single requests commit for.

    A group of the plan has clients, and its commits are theirs.
    """
    stored = trace["committed_offsets"]
    if trace.problem("wire_calls") or not trace.rows["wire_calls"]:
        return stored
    planned = trace.groups.select("group")
    alone = (
        trace["wire_calls"]
        .where(f"api in ({_COMMIT_APIS}) and group is not null")
        .select("group")
        .distinct()
        .join(planned, on=["group"], how="left_anti")
    )
    return stored.join(alone, on=["group"], how="left_anti")
