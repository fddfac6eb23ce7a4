"""Leader epochs of delivered records that a client does not show: those of the logs' batches."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from contract.events import NO_EPOCH
from contract.ranges import to_records
from contract.tables import TABLES

_OF_LOGS = ("replica_records", "cut_records")
_RECORD = ("topic", "partition", "offset", "value")


def with_epochs_of_logs(polls: pa.Table, tables: Path) -> pa.Table:
    """Return delivered records, each without an epoch with that of its batch, where a log has it.

    A record is the same one in every log that has it: its value and its offset are found in one
    epoch only.

    Args:
        polls: one row for each record.
        tables: the folder with the tables of replicas, of which some may be missing.
    """
    if NO_EPOCH not in pc.unique(polls["leader_epoch"]).to_pylist():
        return polls
    known: dict[tuple[object, ...], int] = {}
    for name in _OF_LOGS:
        file = tables / f"{name}.parquet"
        if file.is_file():
            found = to_records(name, pq.read_table(file)).select([*_RECORD, "leader_epoch"])
            *record, epochs = (column.to_pylist() for column in found.columns)
            known |= zip(zip(*record, strict=True), epochs, strict=True)
    records = zip(*(polls[name].to_pylist() for name in _RECORD), strict=True)
    shown = polls["leader_epoch"].to_pylist()
    epochs = [
        known.get(record, epoch) if epoch == NO_EPOCH else epoch
        for record, epoch in zip(records, shown, strict=True)
    ]
    place = polls.schema.get_field_index("leader_epoch")
    return polls.set_column(place, polls.schema.field(place), pa.array(epochs, pa.int32()))


def unshown_epochs(polls: pa.Table) -> list[dict[str, object]]:
    """Return the rows of the table of that name.

    Args:
        polls: one row for each record, as the clients showed it.
    """
    keys = TABLES["unshown_epochs"].names
    unshown = polls.filter(pc.equal(polls["leader_epoch"], NO_EPOCH))
    rows: list[dict[str, object]] = unshown.group_by(keys).aggregate([]).to_pylist()
    return rows
