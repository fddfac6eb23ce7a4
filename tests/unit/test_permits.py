"""What permits a loss is one fact, which every check of a loss asks."""

from analysis.statements.registry import CHECKS
from contract.terms import Check
from tests.unit.every_statement import read_by, tables_of

LOSSES = {
    Check.ABORTED_READ,
    Check.COMMITTED_EPOCH_REGRESSED,
    Check.COMMITTED_EPOCH_STALE,
    Check.COMMIT_BEYOND_LOG,
    Check.COMMIT_BEYOND_PROCESSED,
    Check.DIVERGENT_READERS,
    Check.HANGING_TRANSACTION,
    Check.HIGH_WATERMARK_REGRESSED,
    Check.INCONSISTENT_OFFSET,
    Check.LEADER_COMPLETENESS,
    Check.LOG_DIVERGENCE,
    Check.LOST_COMMIT,
    Check.LOST_RECORD,
    Check.MISAPPLIED_MARKER,
    Check.OFFSETS_WITHOUT_OUTPUT,
    Check.ORPHAN_COMMIT,
    Check.OUTPUT_WITHOUT_OFFSETS,
    Check.RECORD_EPOCH_REGRESSED,
    Check.RESURRECTED_RECORD,
    Check.SERVED_UNDER_FENCED_EPOCH,
    Check.SKIPPED_RECORD,
    Check.TORN_TRANSACTION,
}
"""The checks that find records, markers, commits or offsets gone, or a group led past them."""


def test_each_check_of_a_loss_asks_what_permits_it() -> None:
    assert {check for check in LOSSES if "permits" not in read_by(check)} == set()


def test_each_check_that_names_a_permit_is_one_of_a_loss() -> None:
    naming = {
        check
        for check, definition in CHECKS.items()
        if any("permit.words" in case.cause for case in definition.cases)
    }
    assert naming - LOSSES == set()


def test_no_check_has_permits_of_its_own() -> None:
    """Elections are asked for by the checks that judge them; wiped tails are no election.

    `leader_completeness` asks which deliveries came after one that may have brought a record back.
    """
    asking = {check for check, definition in CHECKS.items() if "elections" in tables_of(definition)}
    assert asking == {
        Check.ELIGIBLE_LEADER_REPLICAS,
        Check.LEADER_COMPLETENESS,
        Check.UNCLEAN_ELECTION_UNCONFIGURED,
    }
