"""What `verify` finds: decided ends without transaction markers, and the reverse."""

import shutil
from pathlib import Path

import workbench
from tests.coordinator.serving.house import ORDERS, PAYMENTS, House
from workbench.inspection.findings import Finding


def _findings(root: Path) -> list[Finding]:
    """Return what is found about transactions."""
    found = workbench.open_log_directory(root).verify()
    wanted = {"prepared-transaction", "unprepared-marker", "hanging-transaction"}
    return [each for each in found if each.kind in wanted]


def _begun(root: Path, version: int) -> House:
    house = House(root, version, holds=True)
    producer = house.init()
    house.add(producer, ORDERS, PAYMENTS, client=version)
    for where in (ORDERS, PAYMENTS):
        house.produce(producer, b"x", where=where)
    return house


def test_a_decided_end_without_markers(tmp_path: Path) -> None:
    """The coordinator was stopped between its decision and the markers."""
    house = _begun(tmp_path, 2)
    house.end(house.coordinator.init_producer_id(None)._replace(producer_id=4000, producer_epoch=0))
    house.stop()
    (finding,) = _findings(tmp_path)
    assert (finding.kind, finding.severity, finding.offset) == (
        "prepared-transaction", "warning", 2,
    )  # fmt: skip
    assert finding.found == (
        "'tx' is PrepareCommit, without a transaction marker in orders-0, payments-1"
    )
    after = House(tmp_path, 2)
    after.stop()
    assert _findings(tmp_path) == []


def test_a_decided_end_with_some_markers(tmp_path: Path) -> None:
    house = _begun(tmp_path, 0)
    house.manager.away = frozenset({PAYMENTS})
    state = house.state()
    house.coordinator.end_transaction(
        "tx", state.producer_id, 0, commit=False, client_version=house.version
    )
    house.run()
    house.manager.away = frozenset()
    house.stop()
    (finding,) = _findings(tmp_path)
    assert finding.found == "'tx' is PrepareAbort, without a transaction marker in payments-1"


def test_markers_whose_decision_was_lost(tmp_path: Path) -> None:
    """The tail of __transaction_state is gone, as after an unclean leader election."""
    root, kept = tmp_path / "logs", tmp_path / "kept"
    house = _begun(root, 2)
    shutil.copytree(root / "__transaction_state-0", kept)
    house.end(house.coordinator.init_producer_id(None)._replace(producer_id=4000, producer_epoch=0))
    house.run()
    house.stop()
    assert _findings(root) == []
    shutil.rmtree(root / "__transaction_state-0")
    kept.rename(root / "__transaction_state-0")
    found = _findings(root)
    assert [(each.kind, each.severity, each.offset) for each in found] == [
        ("unprepared-marker", "error", 1)
    ] * 2
    assert found[0].found == (
        "a transaction marker of producer 4000 with epoch 1, but 'tx' is Ongoing with epoch 0"
    )
