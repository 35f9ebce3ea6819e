"""What is deleted here because the remote tier has it: `local.retention.*`, as a broker decided it.

The tier has the segments that the broker deleted from its disk. Back at their places, they are the
log as it was before; retention must delete just those again, and leave the log start offset.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.golden.cases import Case
from workbench.foresight.copies.retaining import Retention, retain
from workbench.log_directory import open_log_directory
from workbench.runtime.words import size_text

Golden = Callable[[str], Case]
KINDS = {".log", ".index", ".timeindex", ".txnindex"}


@pytest.fixture(name="tiered")
def tiered_(golden: Golden, tmp_path: Path) -> tuple[Path, dict[str, dict[str, str]], int]:
    """Return the directory before local retention, the topics' configurations, and the time."""
    case = golden("4.2.0-tiered")
    data = tmp_path / "data"
    shutil.copytree(case.directory("data"), data)
    for file in sorted((case.directory("data").parent / "tier").glob("*/*")):
        folder = data / file.parent.name[: -len("-ziVylNpHSC6Wx7Z6EiJy0w")]
        target = folder / f"{file.name[:20]}{file.suffix}"
        if file.suffix in KINDS and not target.exists():
            shutil.copy2(file, target)
    configs = {
        topic: {name: value for name, value in own.items() if name != "partitions"}
        for topic, own in case.info["config"]["topics"].items()
    }
    return data, configs, case.info["steps"][-1]["at"]


def _bases(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.log"))


def _retain(tiered: tuple[Path, dict[str, dict[str, str]], int], **more: str) -> Retention:
    data, configs, now = tiered
    wanted = {topic: own | more for topic, own in configs.items()}
    return retain(str(data), now, topic_configs=wanted, kafka="4.2.0")


@pytest.mark.parametrize("topic", ["tier-local", "tier-expire", "tier-deleted", "tier-txn"])
def test_local_retention_deletes_what_the_broker_deleted(
    topic: str, golden: Golden, tiered: tuple[Path, dict[str, dict[str, str]], int]
) -> None:
    left = _bases(golden("4.2.0-tiered").directory("data") / f"{topic}-0")
    before = _bases(tiered[0] / f"{topic}-0")
    assert len(before) > len(left)
    result = _retain(tiered)
    assert _bases(tiered[0] / f"{topic}-0") == left
    rows = [row for row in result.segments if row.partition == f"{topic}-0" and row.is_deleted]
    assert [row.base_offset for row in rows] == [base for base in before if base not in left]
    assert {row.rule for row in rows} == {"local.retention.bytes"}
    assert "= 5,000" in rows[0].reason or "= 3,000" in rows[0].reason
    first, last = result.log_start_offsets[f"{topic}-0"]
    assert first == last


def test_what_the_tier_does_not_have_is_kept(
    tiered: tuple[Path, dict[str, dict[str, str]], int],
) -> None:
    """With local.retention.ms=0, all but the active segment go: a broker copies those."""
    active = {folder.name: _bases(folder)[-1] for folder in tiered[0].glob("tier-*")}
    result = _retain(tiered, **{"local.retention.ms": "0", "local.retention.bytes": "0"})
    for folder in tiered[0].glob("tier-*"):
        assert _bases(folder) == [active[folder.name]]
    waits = [row.reason for row in result.segments if row.base_offset in active.values()]
    assert any("deletes it once the remote tier has it" in reason for reason in waits)


def test_without_copies_the_whole_retention_decides(
    tiered: tuple[Path, dict[str, dict[str, str]], int],
) -> None:
    result = _retain(
        tiered, **{"remote.storage.enable": "false", "retention.bytes": "-1", "retention.ms": "-1"}
    )
    assert not any(row.is_deleted for row in result.segments if row.rule != "log start offset")


def test_explain_says_which_limits_are_the_local_ones(
    tiered: tuple[Path, dict[str, dict[str, str]], int],
) -> None:
    data, configs, now = tiered
    logs = open_log_directory(data)
    settings = {f"tier-local:{name}": value for name, value in configs["tier-local"].items()}
    found = logs["tier-local-0"].explain_retention(settings, now=now)
    deleted = [row for row in found if row.verdict == "deleted"]
    assert [(row.rule, row.segment) for row in deleted] == [
        ("local.retention.bytes", 0), ("local.retention.bytes", 48)
    ]  # fmt: skip
    assert "what retention.* deletes in the tier is left out" in next(iter(found)).reason


def test_what_if_and_preflight_count_the_local_bytes(
    tiered: tuple[Path, dict[str, dict[str, str]], int],
) -> None:
    data, configs, now = tiered
    settings = {f"tier-local:{name}": value for name, value in configs["tier-local"].items()}
    sizes = {int(path.stem): path.stat().st_size for path in (data / "tier-local-0").glob("*.log")}
    logs = open_log_directory(data)
    found = logs.preflight(settings, now=now, kafka="4.2")
    (concern,) = (each for each in found.concerns if each.kind == "local-retention")
    assert f"tier-local ({size_text(sizes[0] + sizes[48])})" in concern.what
    of_tier = sum(sizes.values()) - sizes[0] - sizes[48]
    for limit, left in (("5000", of_tier), ("0", sizes[max(sizes)])):
        more = settings | {"tier-local:local.retention.bytes": limit}
        fate = logs.what_if(more, now=now, topics="tier-local", kafka="4.2")["tier-local-0"]
        assert fate.size_after == left
