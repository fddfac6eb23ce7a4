"""All statements of the documents, and the comparison of the two lists of them.

The lists were made independently: the first beside the rules of `contract.protocol`, the second
from the texts alone, by someone who had not seen the first. The texts of the second list are two
states of KIP-320's page (000), KIP-1319 (001), an early draft of KIP-595 (002), an early draft of
KIP-320 beside the final one (003) and KAFKA-19902 (004).
"""

from dataclasses import dataclass

from contract.statement import Coverage, Statement, numbers
from contract.statements_of_kafka_19902 import STATEMENTS_OF_KAFKA_19902
from contract.statements_of_kip_320 import RULES_OF_KIP_320, STATEMENTS_OF_KIP_320
from contract.statements_of_kip_595 import RULES_OF_KIP_595, STATEMENTS_OF_KIP_595
from contract.statements_of_kip_1319 import RULES_OF_KIP_1319, STATEMENTS_OF_KIP_1319

__all__ = ["RULES_WITH_STATEMENTS", "STATEMENTS", "Coverage", "Statement"]

STATEMENTS = (
    *STATEMENTS_OF_KIP_320,
    *STATEMENTS_OF_KIP_1319,
    *STATEMENTS_OF_KIP_595,
    *STATEMENTS_OF_KAFKA_19902,
)
RULES_WITH_STATEMENTS = RULES_OF_KIP_320 | RULES_OF_KIP_1319 | RULES_OF_KIP_595
"""By rule: the rows of the second list that it is about."""
SECOND_LIST = {"000": 125, "001": 77, "002": 40, "003": 173, "004": 104}
"""By text: the number of rows of the second list."""
IN_BOTH_TEXTS = 114
"""Rows of 000 that are rows of 003 too."""


@dataclass(frozen=True)
class Comparison:
    """How the two lists compare, in rows of the second one, and in rows of the first one.

    Attributes:
        in_both: rows of the second list whose rule or statement the first list had.
        only_second: rows of the second list that the first list lacked.
        only_first: rules and statements of the first list without a row in the second one.
    """

    in_both: int
    only_second: int
    only_first: int


def compared(rules: int) -> Comparison:
    """Compare the lists; the first one had `rules` rules, and the statements that say so."""
    first = [one for one in STATEMENTS if one.is_first]
    in_both = [one.second for one in first] + list(RULES_WITH_STATEMENTS.values())
    both = sum(len(list(numbers(second))) for second in in_both)
    lacking = sum(not one.second for one in first) + rules - len(RULES_WITH_STATEMENTS)
    return Comparison(both, sum(SECOND_LIST.values()) - both, lacking)
