"""What `verify` finds: decided ends without transaction markers, and the reverse."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

import workbench
from tests.coordinator.serving.house import ORDERS, PAYMENTS, TransactionHouse
from workbench.file_system.local import LOCAL
from workbench.files.names import CLEAN_SHUTDOWN, LOCK
from workbench.inspection import confirmed_findings
from workbench.inspection.findings import Finding


def _findings(root: Path) -> list[Finding]:
    """Return what is found about transactions."""
    found = workbench.open_log_directory(root).verify()
    wanted = {"prepared-transaction", "unprepared-marker", "hanging-transaction"}
    return [each for each in found if each.kind in wanted]


def _begun(root: Path, version: int) -> TransactionHouse:
    house = TransactionHouse(root, version, holds=True)
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
    after = TransactionHouse(tmp_path, 2)
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


STATE = "__transaction_state-0"
DATA = (str(ORDERS), str(PAYMENTS))


@contextmanager
def _running(root: Path) -> Iterator[None]:
    """Hold the lock of a directory, as the broker does that runs on it."""
    (root / CLEAN_SHUTDOWN).unlink(missing_ok=True)
    lock = LOCAL.lock(str(root / LOCK))
    try:
        yield
    finally:
        lock.release()


def _catch_up(root: Path, other: Path, folders: tuple[str, ...]) -> None:
    """Write to logs what they lack of another directory's."""
    for folder in folders:
        written = (other / folder / f"{0:020}.log").read_bytes()
        with (root / folder / f"{0:020}.log").open("r+b") as log:
            assert written.startswith(log.read())
            log.seek(0)
            log.write(written)


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(
    ("early", "behind", "kind"),
    [
        ("decided", (STATE, *DATA), "prepared-transaction"),
        ("begun", DATA, "hanging-transaction"),
        ("begun", (STATE,), "unprepared-marker"),
    ],
)
def test_what_a_running_broker_has_not_written_yet(
    early: str,
    behind: tuple[str, ...],
    kind: str,
    goes_on: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its logs are read one after the other; only what a later look finds again is reported."""
    monkeypatch.setattr(confirmed_findings, "_LATER_WAITS", ())
    house = _begun(tmp_path / "whole", 2)
    shutil.copytree(tmp_path / "whole", tmp_path / "begun")
    house.end(house.coordinator.init_producer_id(None)._replace(producer_id=4000, producer_epoch=0))
    shutil.copytree(tmp_path / "whole", tmp_path / "decided")
    house.run()
    house.stop()
    root = tmp_path / "live"
    shutil.copytree(tmp_path / "whole", root)
    for folder in behind:
        name = f"{0:020}.log"
        shutil.copyfile(tmp_path / early / folder / name, root / folder / name)
    with _running(root):
        timer = Timer(0.2, _catch_up, (root, tmp_path / "whole", behind))
        if goes_on:
            timer.start()
        found = _findings(root)
        timer.cancel()
    assert {each.kind for each in found} == (set() if goes_on else {kind})


def test_a_transaction_hangs_if_a_later_look_says_so(tmp_path: Path) -> None:
    house = _begun(tmp_path / "whole", 2)
    shutil.copytree(tmp_path / "whole", tmp_path / "begun")
    house.end(house.coordinator.init_producer_id(None)._replace(producer_id=4000, producer_epoch=0))
    house.run()
    house.stop()
    root = tmp_path / "live"
    for goes_on in (False, True):
        shutil.copytree(tmp_path / "whole", root)
        for folder in DATA:
            shutil.rmtree(root / folder)
            shutil.copytree(tmp_path / "begun" / folder, root / folder)
        with _running(root):
            logs = workbench.open_log_directory(root)
            timer = Timer(0.2, _catch_up, (root, tmp_path / "whole", DATA))
            if goes_on:
                timer.start()
            verdicts = logs.inspect.open_producers()["verdict"].to_pylist()
            timer.cancel()
        assert verdicts == ([] if goes_on else ["hangs", "hangs"])
        shutil.rmtree(root)
