"""The trace tables, one Parquet file each below `tables/` of a run's folder.

The collector writes them with these schemas, sorted by topic, partition, offset where they have
these columns. Tables of records have a row for each range of records (`contract.ranges`).
Times are microseconds since 1970 on the node's clock (`*_micros`); leader epochs are -1 where
Kafka has none. Each table is declared with its descriptions in `contract/tables_of_clients.py`,
`contract/tables_of_servers.py` or `contract/tables_of_run.py`.
"""

import pyarrow as pa

from contract.table_columns import Table
from contract.tables_of_clients import TABLES_OF_CLIENTS
from contract.tables_of_run import TABLES_OF_RUN
from contract.tables_of_servers import TABLES_OF_SERVERS

MICROS_PER_SECOND = 1_000_000
MICROS_PER_MS = 1_000
OFFSETS_TOPIC = "__consumer_offsets"
"""Kafka's own topic of committed offsets."""

DECLARED: dict[str, Table] = TABLES_OF_CLIENTS | TABLES_OF_SERVERS | TABLES_OF_RUN
"""The tables with the descriptions of their rows and columns, by name."""

OF_RUN = b"fencepost.run"
"""The key in a file's metadata of the run that it is of (`RunDescription.identity`)."""


def of_run(schema: pa.Schema, identity: str) -> pa.Schema:
    """Return a schema whose files name their run."""
    return schema.with_metadata({OF_RUN: identity.encode()})


TABLES: dict[str, pa.Schema] = {name: one.schema for name, one in DECLARED.items()}
"""The columns of each table."""
