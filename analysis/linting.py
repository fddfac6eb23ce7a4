"""sqlfluff, with the macros of statements and words that are names in them.

`python -m analysis.linting lint FILE...` has the arguments of sqlfluff's own command.
"""

import sys
from typing import Any

from jinja2 import Environment
from sqlfluff.cli.commands import cli
from sqlfluff.core import FluffConfig
from sqlfluff.core.dialects import load_raw_dialect
from sqlfluff.core.plugin import hookimpl
from sqlfluff.core.plugin.host import get_plugin_manager
from sqlfluff.core.templaters import JinjaTemplater, RawTemplater

from analysis.statements.files import environment

# Spark reserves no word as long as `spark.sql.ansi.enforceReservedKeywords` is off.
_NAMES = {"END", "GROUP", "UNKNOWN"}


class StatementTemplater(JinjaTemplater):
    """Expands macros as they are expanded when statements are read."""

    name = "statements"

    def _get_env_context(
        self,
        fname: str | None,  # noqa: ARG002 - sqlfluff's
        config: FluffConfig | None,  # noqa: ARG002 - same
        env: Environment,  # noqa: ARG002 - same
    ) -> dict[str, Any]:
        return dict(environment().globals)


@hookimpl
def get_templaters() -> list[type[RawTemplater]]:
    """The templaters of this plugin."""
    return [StatementTemplater]


_dialect = load_raw_dialect("sparksql")
_dialect.sets("reserved_keywords").difference_update(_NAMES)
_dialect.sets("unreserved_keywords").update(_NAMES)
if __name__ in ("__main__", "__mp_main__"):  # The latter in the processes that sqlfluff starts.
    get_plugin_manager().register(sys.modules[__name__])
if __name__ == "__main__":
    cli()
