"""Whatever is in a log directory: public calls raise documented errors only, and continue.

Every public reading call is made on directories that hold many partitions, each damaged in another
way. So what one of them does to a call, it does to the others' answer.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import workbench as wb
from tests import mutations
from tests.campaign.calls import CALLS, COMMANDS, NOW, Call
from tests.golden.cases import Case
from workbench.file_system.dry import DryFileSystem
from workbench.log.log import Log
from workbench.log_manager.manager import LogManager
from workbench.runtime.clock import ManualClock
from workbench.runtime.scheduler import ManualScheduler

Golden = Callable[[str], Case]
Named = list[tuple[str, mutations.Mutation]]

COMPACT = {"cleanup.policy": "compact"}
NAMES: Named = list(mutations.names())
FIELDS: Named = list(mutations.fields())
CUTS: Named = list(mutations.cuts())
TOGETHER = {"names": NAMES, "fields": FIELDS[::11], "cuts": CUTS[::9]}
"""Mutations in one directory, a sample: explaining loads all partitions for each."""

MAY_STOP = {"scan raise", "scan raise and rescue"}  # asked to stop at the first damage
QUICK = [call for call in COMMANDS if " --to " not in call.name]


@pytest.fixture(scope="module", params=["damaged", "golden", *TOGETHER])
def directory(request: pytest.FixtureRequest, golden: Golden, common_workplace: Path) -> Path:
    """Return a log directory with many damaged partitions."""
    if request.param == "damaged":
        return mutations.SAMPLES
    if request.param == "golden":
        path = common_workplace / "golden"
        path.mkdir()
        for each in sorted(golden("3.9.1-damage-unclean").directory("before").iterdir())[::6]:
            (shutil.copytree if each.is_dir() else shutil.copy)(each, path / each.name)
        return path
    chosen = [change for _, change in TOGETHER[request.param]]
    return mutations.build_many(common_workplace / request.param, chosen)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_only_documented_errors_leave_a_call(directory: Path, call: Call) -> None:
    error = call.run(directory)
    assert error is None or call.name in MAY_STOP


@pytest.mark.parametrize("call", QUICK, ids=lambda call: call.name)
def test_only_documented_errors_leave_a_command(common_workplace: Path, call: Call) -> None:
    path = common_workplace / "commands"
    if not path.exists():
        sample = [change for _, change in (*NAMES[::3], *FIELDS[::37], *CUTS[::37])]
        mutations.build_many(path, sample)
    call.run(path)


_USES: list[Callable[[Log], object]] = [
    lambda log: log.read(20),
    lambda log: log.offset_for_timestamp(NOW),
    lambda log: log.offset_for_timestamp(-3),
    lambda log: log.update_high_watermark(log.log_end_offset),
    lambda log: log.append([(b"k", b"v")]),
]


def _start(directory: Path) -> None:
    """Start a log manager on what is in memory only, read, retain, clean, append and stop."""
    clock = ManualClock(NOW)
    topics = dict.fromkeys(("bad", "t", "good"), COMPACT)
    manager = LogManager(
        [directory],
        fs=DryFileSystem(now=clock.now),
        clock=clock,
        scheduler=ManualScheduler(clock),
        topic_configs=topics,
    )
    with manager:
        for log in manager.logs.values():
            for use in _USES:
                with suppress(wb.WorkbenchError):
                    use(log)
        manager.delete_old_segments()
        clock.advance(61_000)


@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize("chosen", [NAMES, FIELDS[::3], CUTS[::3]], ids=["names", "fields", "cuts"])
def test_a_log_manager_refuses_with_an_error_of_ours(
    workplace: Path, chosen: Named, *, has_points: bool
) -> None:
    for number, (name, change) in enumerate(chosen):
        directory = mutations.build(workplace / str(number), change)
        if has_points:
            mutations.with_recovery_points(directory)
        try:
            _start(directory)
        except wb.WorkbenchError:
            continue
        except Exception as error:
            error.add_note(name)
            raise


def test_a_log_that_cannot_be_loaded_is_a_row_beside_the_others(tmp_path: Path) -> None:
    path = mutations.build(tmp_path / "data", dict(NAMES)["empty file '99999999999999999999.log'"])
    fates = {fate.name: fate for fate in wb.what_if(path, COMPACT, now=NOW)}
    assert "expected an offset of 64 bits" in fates["bad-0"].problem
    assert fates["good-0"].problem == ""
    logs = wb.open_log_directory(path)
    rows = {row["topic"]: row for row in logs.inspect.cleaning(config=COMPACT, now=NOW).to_pylist()}
    assert "99999999999999999999.log: the name begins with" in rows["bad"]["problem"]
    assert rows["good"]["is_due"] is not None
    assert logs["good-0"].explain_cleaning(COMPACT, now=NOW).rows
    with pytest.raises(wb.WorkbenchError, match=r"99999999999999999999\.log: the name begins with"):
        logs["bad-0"].explain_retention(now=NOW)
    prediction = logs.predict_startup()
    assert prediction["bad-0"].exception == "java.lang.NumberFormatException"
    assert prediction["good-0"].verdict != "refuses"
