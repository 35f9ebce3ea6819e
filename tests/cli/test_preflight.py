import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.field.cases import open_field_case
from tests.golden.cases import Case
from tests.startup.damages import open_base
from workbench.config.removed_configs import removed_in
from workbench.files.names import CLEAN_SHUTDOWN, HIGH_WATERMARKS
from workbench.foresight.preflight.concerns import concerns_of_version
from workbench.foresight.preflight.results import Preflight
from workbench.inspection.broker_version import MeantBroker
from workbench.inspection.cluster.image import StoredCluster, StoredConfigs
from workbench.inspection.listing import Listing
from workbench.log_directory import open_log_directory
from workbench.runtime.times import milliseconds, time_text

Golden = Callable[[str], Case]
ERA = Path(__file__).parents[2] / "sample_data" / "era-0.8.2.2"
ERA_2_8 = ERA.with_name("era-2.8.2")


def stop_of(data: Path) -> str:
    """Return when a broker last wrote to a directory, ms: nothing has expired then."""
    newest = max(path.stat().st_mtime_ns for path in data.rglob("*.log"))
    return str(newest // 1_000_000)


@pytest.fixture(name="plain")
def plain_(tmp_path: Path) -> Path:
    """Return a sound directory of 4.2.0 with the topics orders (2 partitions) and stock."""
    return open_base("plain", tmp_path) / "data"


def test_every_topic_of_a_sound_directory_is_served(plain: Path) -> None:
    outcome = run("preflight", plain, "--now", stop_of(plain))
    assert outcome.code == 0
    assert outcome.out.splitlines()[-1] == "the broker starts; topics: 2 served"
    assert "What to do" not in outcome.out


def test_json_is_the_librarys_answer(plain: Path) -> None:
    outcome = run("preflight", plain, "--now", stop_of(plain), "--kafka", "4.3", "--json")
    found = open_log_directory(plain).preflight(kafka="4.3", now=int(stop_of(plain)))
    assert outcome.json == json.loads(json.dumps(found.as_dict()))
    assert [(row.topic, row.verdict, row.partitions) for row in found] == [
        ("orders", "served", 2), ("stock", "served", 1),
    ]  # fmt: skip
    (directory,) = found.directories
    assert directory.cluster_id == open_log_directory(plain).roots[0].meta_properties.cluster_id  # type: ignore[union-attr]


def test_another_node_and_another_cluster_are_refused(plain: Path) -> None:
    for options, found in (
        (("--node-id", "7"), "node.id 1"),
        (("--cluster-id", "x"), "cluster.id"),
    ):
        outcome = run("preflight", plain, "--now", stop_of(plain), *options)
        assert outcome.code == 2
        assert f"error: {plain}/meta.properties: {found}" in outcome.out
        name = found.split()[0]
        assert f"1. Take the directory with the other {name} out of log.dirs" in outcome.out
        assert "no topic is served: the broker does not start" in outcome.out.splitlines()[-1]


def test_a_partition_on_two_disks_says_which_step_to_take(tmp_path: Path) -> None:
    data = open_field_case("two-disks", tmp_path).data
    outcome = run("preflight", data / "d1", data / "d2", "--now", stop_of(data))
    assert outcome.code == 2
    assert f"1. Move {data}/d2/orders-0 (log end offset 40, not in the checkpoints" in outcome.out


def test_a_missing_partition_is_created_empty(plain: Path) -> None:
    shutil.rmtree(plain / "orders-1")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    assert (found["orders"].verdict, found["stock"].verdict) == ("empty in part", "served")
    assert found["orders"].reason == "orders-1: these directories have no log of it"
    assert "created" in {each.kind for each in found.concerns}
    assert run("preflight", plain, "--now", stop_of(plain)).code == 1


def test_another_topic_id_makes_a_log_stray(plain: Path) -> None:
    shutil.copytree(plain / "stock-0", plain / "stock-9")
    path = plain / "orders-1" / "partition.metadata"
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAHkQ\n")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    assert {row.topic: row.verdict for row in found} == {
        "orders": "empty in part", "stock": "served in part",
    }  # fmt: skip
    (stray,) = (each.what for each in found.concerns if each.kind == "stray")
    assert "orders-1 (its topic id AAAAAAAAAAAAAAAAAAAHkQ is in no topic" in stray
    assert "has no partition 9" in found["stock"].reason
    assert run("preflight", plain, "--now", stop_of(plain)).code == 2


def test_recovery_is_counted_and_timed_by_the_given_rate(plain: Path) -> None:
    (plain / CLEAN_SHUTDOWN).unlink()
    (plain / "recovery-point-offset-checkpoint").unlink()
    sizes = {p: (plain / p / f"{0:020d}.log").stat().st_size
             for p in ("orders-0", "orders-1", "stock-0")}  # fmt: skip
    found = open_log_directory(plain).preflight(rate=1000.0, now=int(stop_of(plain)))
    by_topic = {row.topic: row.recovery_bytes for row in found}
    assert by_topic == {
        "orders": sizes["orders-0"] + sizes["orders-1"], "stock": sizes["stock-0"],
    }  # fmt: skip
    metadata = (plain / "__cluster_metadata-0" / f"{0:020d}.log").stat().st_size
    total = sum(sizes.values()) + metadata
    assert found.recovery.size == total
    assert found.recovery.threads == 2
    assert found.recovery.seconds == max(total / 2, metadata) / 1000
    assert "0.0 s" not in run("preflight", plain, "--now", stop_of(plain), "--rate", "0.001").out


def test_what_a_start_truncates_is_damage(plain: Path) -> None:
    (plain / CLEAN_SHUTDOWN).unlink()
    with (plain / "stock-0" / f"{0:020d}.log").open("ab") as file:
        file.write(b"\0" * 77)
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    row = found["stock"]
    assert (row.verdict, row.bytes_cut, row.reason) == (
        "damaged", 77, "stock-0: 77 bytes are truncated",
    )  # fmt: skip
    assert run("preflight", plain, "--now", stop_of(plain)).code == 1


def test_damage_that_no_broker_detects_is_found_by_reading(plain: Path) -> None:
    path = plain / "stock-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert run("preflight", plain, "--now", stop_of(plain)).code == 0
    outcome = run("preflight", plain, "--now", stop_of(plain), "--deep")
    assert outcome.code == 1
    assert "damage that the broker does not detect: stock-0" in outcome.out


def test_an_older_version_does_not_know_what_a_later_one_wrote(golden: Golden) -> None:
    path = golden("4.2.0-groups").directory("before")
    outcome = run("preflight", path, "--kafka", "3.9", "--now", stop_of(path))
    assert outcome.code == 2 or "Kafka 3.9 does not write this" in outcome.out
    assert "Start Kafka 4." in outcome.out


def test_a_directory_of_zookeeper_is_not_for_a_node_without_it(tmp_path: Path) -> None:
    data = open_base("zookeeper", tmp_path) / "data"
    outcome = run("preflight", data, "--kafka", "4.2", "--now", stop_of(data))
    assert outcome.code == 2
    assert "5 not served" in outcome.out
    assert "migrate the cluster to KRaft there" in outcome.out
    stays = open_log_directory(data).preflight({"log.retention.ms": -1}, kafka="2.8")
    assert {row.verdict for row in stays} == {"served"}
    assert "topics-in-zookeeper" in {each.kind for each in stays.concerns}


def test_configurations_that_are_gone_or_have_another_default_are_named() -> None:
    topics = {"orders": {"message.format.version": "2.8", "retention.ms": "1"}}
    cluster = StoredCluster(StoredConfigs(topics, {"": {"log.cleaner.threads": "2"}}))

    def concerns(meant: str, shown: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        brokers = MeantBroker(meant, ""), MeantBroker(shown, "")
        for each in concerns_of_version(Listing((), {}), *brokers, cluster):
            found.setdefault(each.kind, []).append(each.what)
        return found

    upgraded = concerns("4.3", "3.9")
    (removed,) = upgraded["removed-config"]
    assert removed.startswith("message.format.version is set for topic orders: removed in 4.0")
    assert [what.split()[3] for what in upgraded["changed-default"]] == [
        "message.timestamp.after.max.ms", "num.recovery.threads.per.data.dir",
    ]  # fmt: skip
    assert concerns("3.9", "3.9") == {}
    assert removed_in("retention.ms") is None


def test_old_formats_are_named(golden: Golden) -> None:
    path = golden("k0.10.2-formats").directory("data")
    found = open_log_directory(path).preflight(kafka="4.2", now=int(stop_of(path)))
    kinds = {each.kind: each for each in found.concerns}
    assert "begin with magic 0 or 1" in kinds["old-format"].what
    assert "a cleaning rewrites them as magic 2" in kinds["old-format"].what


def test_a_partition_directory_alone_is_refused(plain: Path) -> None:
    outcome = run("preflight", plain / "orders-0")
    assert outcome.code == 3
    assert "not a log directory, which a preflight needs" in outcome.err


def test_what_retention_deletes_after_the_start_is_not_served(plain: Path) -> None:
    """The default of a week: a directory of last month is empty within a minute of its start."""
    stop = int(stop_of(plain))
    later = stop + 8 * 86_400_000
    found = open_log_directory(plain).preflight(now=later)
    ends = {row.name: row.log_end_offset or 0 for row in found.prediction}
    assert {row.topic: (row.verdict, row.records_deleted) for row in found} == {
        "orders": ("expiring", ends["orders-0"] + ends["orders-1"]),
        "stock": ("expiring", ends["stock-0"]),
    }
    assert found["stock"].reason == f"stock-0: retention.ms deletes {ends['stock-0']} records"
    (concern,) = (each for each in found.concerns if each.kind == "first-retention")
    assert concern.severity == "warning"
    assert (
        "start with log.retention.bytes=-1 and log.retention.ms=-1 in server.properties"
        in concern.action
    )
    assert {each.at for each in found.first_minutes.passes} == {later + 30_000}  # type: ignore[union-attr]
    assert run("preflight", plain, "--now", str(later)).code == 1


def test_a_setting_that_keeps_the_records_makes_a_topic_served_again(plain: Path) -> None:
    later = str(int(stop_of(plain)) + 8 * 86_400_000)
    kept = run("preflight", plain, "--now", later, "--set", "log.retention.ms=-1")
    assert (kept.code, kept.out.splitlines()[-1]) == (0, "the broker starts; topics: 2 served")
    own = run("preflight", plain, "--now", later, "--set", "stock:retention.ms=1000")
    assert "start with log.initial.task.delay.ms=86400000" in own.out
    assert "--entity-name stock --add-config retention.bytes=-1,retention.ms=-1" in own.out
    old = run("preflight", plain, "--now", later, "--set", "stock:retention.ms=1000",
              "--kafka", "3.7")  # fmt: skip
    assert "log.initial.task.delay.ms" not in old.out  # which 3.7.2 has not, and 3.8.1 has


def test_the_records_that_a_start_removes_are_counted_and_can_be_saved(plain: Path) -> None:
    (plain / CLEAN_SHUTDOWN).unlink()
    (plain / "recovery-point-offset-checkpoint").unlink()
    logs = open_log_directory(plain)
    rows = logs["orders-0"].segments[0].batches.rows
    damaged, end = rows[len(rows) // 2], int(rows[-1]["last_offset"]) + 1
    path = plain / "orders-0" / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[int(damaged["position"] + damaged["size"]) - 1] ^= 1
    path.write_bytes(content)
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    row, first = found.prediction["orders-0"], int(damaged["base_offset"])
    assert (row.log_end_before, row.log_end_offset, row.offsets_lost) == (end, first, end - first)
    readable = end - int(damaged["last_offset"]) - 1
    assert row.records_lost == found["orders"].records_lost == readable > 0
    assert f"offsets {first} to {end - 1} are removed" in found["orders"].reason
    out = plain.parent / "saved.jsonl"
    (step,) = (each for each in found.steps if "Save the records" in each)
    options = step.split(" -t ")[1].split()
    assert "CRC" in run("export", plain, out, "-t", *options).err
    assert len(out.read_text().splitlines()) == readable


def test_before_0_9_a_broker_has_a_cleaner_if_its_checkpoint_is_there(tmp_path: Path) -> None:
    """Of 0.8.2.2, of which golden cases with the cleaner off have no such file."""
    shutil.copytree(ERA, tmp_path / "data")
    logs = open_log_directory(tmp_path / "data")
    for is_there in (True, False):
        for enable in (None, False, True):
            config = {"customers:cleanup.policy": "compact"}
            config |= {} if enable is None else {"log.cleaner.enable": str(enable).lower()}
            count = 110 if (is_there if enable is None else enable) else 0
            judged = logs.preflight(config, now="2026-11-29")
            assert sum(each.records_compacted for each in judged) == count
            fates = logs.what_if(config, now="2026-11-29")
            assert sum(each.dropped_records for each in fates) == count
        why = logs["customers-0"].explain_cleaning(now="2026-11-29")
        (reason,) = (each.reason for each in why.rows if each.rule == "log.cleaner.enable")
        if is_there:
            assert "cleaner-offset-checkpoint shows that it had one" in reason
            (tmp_path / "data" / "cleaner-offset-checkpoint").unlink()
            logs = open_log_directory(tmp_path / "data")
        else:
            assert reason.endswith("false, the default before 0.9: the broker has no cleaner")


def test_the_only_copy_of_a_log_is_a_move_that_did_not_end(tmp_path: Path) -> None:
    """As a real 2.6.3 did: it had an empty log then, of which ZooKeeper knew."""
    shutil.copytree(ERA_2_8, tmp_path / "data")
    data, name, copy = tmp_path / "data", "customers-0", f"customers-0.{1:032x}-future"
    count = open_log_directory(data)[name].scan().count()
    (data / name).rename(data / copy)
    found = open_log_directory(data).preflight(kafka="2.6.3", now=int(stop_of(data)))
    row = found["customers"]
    assert (row.verdict, row.records_lost) == ("empty", count)
    (concern,) = (each for each in found.concerns if each.kind == "copy-alone")
    assert f"{copy} ({count} records)" in concern.what
    assert f"{copy} to {name}" in concern.action


def test_a_copy_without_a_segment_is_counted_as_empty(plain: Path) -> None:
    copy = plain / f"stock-0.{1:032x}-future"
    shutil.copytree(plain / "stock-0", copy)
    for path in copy.glob("*.log"):
        path.unlink()
    (row,) = (each for each in open_log_directory(plain).predict_startup() if "-f" in each.name)
    assert (row.verdict, row.log_end_offset, row.records_lost) == ("future", 0, 0)


def test_a_version_that_cannot_read_the_batches_is_said(tmp_path: Path) -> None:
    """A real 0.10.2.2 that started on logs of 1.1.1 gave used offsets, and had no commits."""
    shutil.copytree(ERA_2_8.with_name("era-1.1.1"), tmp_path / "data")
    logs, now = open_log_directory(tmp_path / "data"), int(stop_of(tmp_path / "data"))
    for version, is_read in (("0.10.2", False), ("0.11.0", True)):
        found = logs.preflight(kafka=version, now=now)
        kinds = {each.kind: each.severity for each in found.concerns}
        assert kinds.get("unread-format") == (None if is_read else "error")
        ends = {(row.verdict, row.log_end_offset is None) for row in found.prediction}
        assert ends == ({("loads", False)} if is_read else {("unread", True)})
        assert found.first_minutes is not None
        lost = {each.state for each in found.first_minutes.restarts}
        assert is_read or (lost == {"commit lost"} and not found.first_minutes.passes)


def test_a_version_before_delete_records_begins_at_the_first_segment(tmp_path: Path) -> None:
    """Kafka: LogManager.loadLogs, which has had the checkpoint since 0.11 (KIP-107)."""
    data = tmp_path / "data"
    shutil.copytree(ERA_2_8.with_name("era-0.10.2.2"), data)
    (data / "log-start-offset-checkpoint").write_text("0\n1\norders 0 7\n")
    logs = open_log_directory(data)
    for version, start in (("0.10.2", 0), ("0.11.0", 7)):
        found = logs.predict_startup(kafka=version)["orders-0"]
        assert found.log_start_offset == start


def test_a_node_in_kraft_mode_does_not_know_the_topics_of_zookeeper() -> None:
    """As a real 3.9.1 and a real 3.5.1 did with this directory."""
    logs, now = open_log_directory(ERA_2_8), int(stop_of(ERA_2_8))
    said = {"3.9": "renames every log as stray", "3.5": "deletes every log, unless one has no "}
    for version, words in said.items():
        (concern,) = (
            each
            for each in logs.preflight(kafka=version, now=now).concerns
            if each.kind == "no-migration"
        )
        assert words in concern.what


def test_what_keeps_records_names_every_configuration_that_deletes(plain: Path) -> None:
    """The log start offset is none: what DeleteRecords deleted is gone."""
    (plain / "log-start-offset-checkpoint").write_text("0\n1\norders 0 3\n")
    given = {"orders:retention.ms": "1000", "orders:retention.bytes": "0"}
    later = int(stop_of(plain)) + 8 * 86_400_000
    found = open_log_directory(plain).preflight(given, now=later)
    (concern,) = (each for each in found.concerns if each.kind == "first-retention")
    assert "--add-config retention.bytes=-1,retention.ms=-1" in concern.action
    assert "log start" not in concern.action


def test_transactions_that_no_coordinator_knows_are_said(tmp_path: Path) -> None:
    """As a real 4.0.0 left one open for ever, of whose coordinator the log was gone."""
    shutil.copytree(ERA_2_8.with_name("shop-4.3.1"), tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "__transaction_state-0")
    found = open_log_directory(tmp_path / "data").preflight(now=int(stop_of(tmp_path / "data")))
    (concern,) = (each for each in found.concerns if each.kind == "transactions-lost")
    assert concern.what.startswith("__transaction_state-0 is made empty")


def test_a_log_start_beyond_the_end_removes_every_record(plain: Path) -> None:
    readable = open_log_directory(plain)["orders-0"].scan().count()
    (plain / "log-start-offset-checkpoint").write_text("0\n1\norders 0 500\n")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    row = found.prediction["orders-0"]
    assert (row.log_start_offset, row.log_end_offset, row.removed_from) == (500, 500, 0)
    assert row.records_lost == found["orders"].records_lost == readable > 0
    assert f"{readable} records that can be read now are removed" in found["orders"].reason
    assert "Take the lines of orders-0 out of log-start-offset-checkpoint" in found.steps[0]


@pytest.fixture(name="shop")
def shop_(tmp_path: Path) -> Path:
    """Return a copy of the sample, of 4.3.1."""
    return Path(shutil.copytree("sample_data/shop-4.3.1", tmp_path / "shop"))


_SHOP_STOPPED = "2026-11-21T15:00:00Z"


def test_segments_that_a_swap_replaces_lose_what_it_has_not(shop: Path) -> None:
    """Brokers 2.8.2 and 3.9.1 did so: `segments-replaced` in `test_first_minutes_of_kafka`."""
    logs = open_log_directory(shop)
    first, *others = logs["payments-0"].segments
    between = sum(each.batches.column("record_count").sum() for each in others[:2])
    swap = Path(f"{first.path}.swap")
    swap.write_bytes(Path(first.path).read_bytes() + Path(others[2].path).read_bytes())
    logs = open_log_directory(shop)
    found = logs.preflight({"retention.ms": -1}, now=_SHOP_STOPPED)
    row = found.prediction["payments-0"]
    assert (row.bytes_cut, row.removed_from, row.offsets_lost) == (0, first.base_offset, 0)
    assert 0 < (row.records_lost or 0) <= between  # markers are no records
    assert (found["payments"].verdict, found["payments"].records_lost) == (
        "damaged", row.records_lost,
    )  # fmt: skip
    assert "the start removes records: payments-0" in _what(found, "truncated")
    compacted = logs["customers-0"].segments[0]
    shutil.copy(compacted.path, f"{compacted.path}.swap")
    again = open_log_directory(shop).predict_startup(consumers=False)
    assert again["customers-0"].records_lost == 0  # a cleaning replaces them


def _what(found: Preflight, kind: str) -> str:
    (text,) = (each.what for each in found.concerns if each.kind == kind)
    return text


def test_a_transaction_that_is_over_its_time_is_aborted(shop: Path) -> None:
    logs = open_log_directory(shop)
    (ended,) = logs.preflight(now="2026-11-22T00:00:00Z").first_minutes.transactions  # type: ignore[union-attr]
    assert ended[:3] == ("payments-eu", ("payments-0",), False)
    assert ended.at == milliseconds("2026-11-22T00:00:10Z")
    assert "transaction.timeout.ms = 900000 is over at 2026-11-21T15:09:05.069Z" in ended.reason
    soon = logs.preflight(now="2026-11-21T15:08:50Z").first_minutes
    assert soon is not None
    assert [each.at for each in soon.transactions] == [milliseconds("2026-11-21T15:09:10Z")]
    early = logs.preflight(now=_SHOP_STOPPED)
    assert early.first_minutes is not None
    assert early.first_minutes.transactions == ()
    assert "transactions" not in {each.kind for each in early.concerns}


def test_a_log_behind_a_link_is_not_made_empty(plain: Path) -> None:
    """A broker follows the link, as 3.9.1 did: here, nothing is known of the log."""
    shutil.move(plain / "stock-0", plain.parent / "stock-0")
    (plain / "stock-0").symlink_to(plain.parent / "stock-0")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    assert found["stock"].verdict == "unknown"
    assert "a link to" in _what(found, "unreadable")
    assert "created" not in {each.kind for each in found.concerns}


def test_a_directory_that_is_named_twice_is_refused(plain: Path) -> None:
    outcome = run("preflight", plain, plain / ".." / plain.name)
    assert outcome.code == 3
    assert "named more than once" in outcome.err


def test_a_log_that_ends_below_its_high_watermark_is_named(plain: Path) -> None:
    (plain / "orders-0" / f"{0:020d}.log").write_bytes(b"")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)))
    assert "orders-0 (ends at 0, high watermark " in _what(found, "shorter")


def test_commits_that_are_missing_already_are_told(plain: Path) -> None:
    """As a real 4.4.0 and 3.6.2 had no commit of a group then, after a clean shutdown too."""
    name = "__consumer_offsets-0"
    folder = plain / name
    shutil.copytree(plain / "stock-0", folder)
    (folder / "partition.metadata").unlink()
    end = open_log_directory(plain)[name].log_end_offset
    (plain / HIGH_WATERMARKS).write_text(f"0\n1\n__consumer_offsets 0 {end + 5}\n")
    found = open_log_directory(plain).preflight(now=int(stop_of(plain)), kafka="2.8")
    (concern,) = (each for each in found.concerns if each.kind == "commits-lost")
    assert concern.what.startswith(f"{name} ends earlier: a group whose last commits are missing")


def test_what_was_stray_before_is_no_topic_of_the_start(tmp_path: Path) -> None:
    """As real brokers of 3.9 and 4.2 did: they left the folder as it was, and served the rest."""
    data = open_base("disks", tmp_path)
    stray = f"ghost-0.{1:032x}-stray"
    shutil.copytree(data / "d2" / "stock-0", data / "d2" / stray)
    outcome = run("preflight", data / "d1", data / "d2", "--now", stop_of(data))
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == "the broker starts; topics: 2 served"
    assert f"1 log became stray before, and the start changes nothing of that: {stray}" in (
        outcome.out
    )


def test_a_move_between_log_directories_that_goes_on_is_named(tmp_path: Path) -> None:
    """As a real 3.9.1 did: within two minutes, the log was in the other directory alone."""
    data = open_base("disks", tmp_path)
    (log,) = data.glob("d?/stock-0")
    other = data / ("d2" if log.parent.name == "d1" else "d1")
    shutil.copytree(log, other / f"stock-0.{1:032x}-future")
    found = open_log_directory([data / "d1", data / "d2"]).preflight(now=int(stop_of(data)))
    (move,) = (each.what for each in found.concerns if each.kind == "moves")
    assert f"stock-0 from {log.parent} to {other}, whose copy ends at offset" in move
    assert found["stock"].verdict == "served"


def test_a_configuration_that_is_given_is_not_assumed() -> None:
    logs = open_log_directory(ERA_2_8)
    for given, is_assumed in (("orders:retention.ms", False), ("log.retention.ms", True)):
        found = logs.preflight({"log.retention.ms": -1, given: 1}, kafka="2.8")
        (what,) = (each.what for each in found.concerns if each.kind == "first-retention")
        assert ("is in no file here" in what) is is_assumed


def test_when_expired_offsets_are_removed_is_said() -> None:
    """As a real 2.8.2 did: two minutes after its start, it still had them all."""
    now = int(stop_of(ERA_2_8)) + 30 * 86_400_000
    found = open_log_directory(ERA_2_8).preflight({"log.retention.ms": -1}, kafka="2.8", now=now)
    (what,) = (each.what for each in found.concerns if each.kind == "groups")
    assert what.endswith(f"the first clean-up of offsets, at {time_text(now + 600_000)}")
