"""What sqlfluff has to know of statements: their macros, and words that are names in them."""

from typing import Any

from jinja2 import Environment
from sqlfluff.core import FluffConfig
from sqlfluff.core.dialects import load_raw_dialect
from sqlfluff.core.plugin import hookimpl
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
