"""The names of the checks: of the statements in `analysis/checks`, and of two that are none."""

import enum
from pathlib import Path

from contract.errors import lacking

_STATEMENTS = Path(__file__).resolve().parents[1] / "analysis" / "checks"
_NAMES = sorted([*(path.stem for path in _STATEMENTS.glob("*.sql")), "resumption", "vacuous_check"])


class _OfFiles(enum.EnumMeta):
    """The class of an enum whose members are files: a type checker takes any name for one."""

    def __getattr__(cls, name: str) -> "Check":
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(lacking(cls.__name__, name, cls.__members__))


class Check(enum.StrEnum, metaclass=_OfFiles):
    """A finding that the analysis looks for."""

    vars().update({name.upper(): name for name in _NAMES})
