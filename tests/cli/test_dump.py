import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.program import run
from tests.examples import examples
from tests.golden.cases import Case, Isolation
from tests.naive import Record, batch
from workbench.cli.show import value_text
from workbench.loaders.exports import json_lines, pieces
from workbench.loaders.schemas import schema_of
from workbench.log_directory import open_log_directory
from workbench.tables.segments import BatchRow

Golden = Callable[[str], Case]

ERAS = (
    ("k0.8.2-formats", "data"),
    ("k0.9-formats", "data"),
    ("k0.10.0-message-format", "after"),
    ("k0.10.0-mixed-wrapper", "after"),
    ("k0.10.2-formats", "data"),
    ("k0.11-formats", "data"),
    ("k1.1-message-format", "after"),
    ("k2.3-transactions", "data"),
    ("2.8.2-plain-librdkafka", "data"),
    ("3.9.1-plain-java", "data"),
    ("4.2.0-plain-timestamps", "data"),
    ("4.2.0-compact-txn", "after1"),
    ("upgrade-chain", "s9-3.9.1"),
)
TRANSACTIONAL = ("k0.11-transactions", "k2.3-transactions", "2.8.2-txn", "3.9.1-txn", "4.2.0-txn")
RECORD_KEYS = [
    "topic",
    "partition",
    "offset",
    "timestamp",
    "time",
    "timestamp_type",
    "key",
    "value",
    "headers",
]


HEX = ("--key-format", "hex", "--value-format", "hex")


def told(rows: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(row["topic"], row["partition"]) for row in rows}


def place(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def as_consumed(record: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return of a dumped record what the consumer's row says of it, in its words."""
    shown: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith(("_len", "_sha256")):
            data = bytes.fromhex(record[name.split("_")[0]])
            digest = hashlib.sha256(data).hexdigest()
            shown[name] = len(data) if name.endswith("_len") else digest
        elif name == "timestampType":
            shown[name] = record["timestamp_type"]
        elif name in record:
            shown[name] = record[name]
        else:
            shown[name] = value  # of the reading, not of the record: isolation, leaderEpoch
    return shown


def check(case: Case, label: str, isolation: Isolation) -> int:
    rows = case.consumed(isolation, label if len(case.consumed_labels) > 1 else None)
    level = ("--isolation-level", isolation)
    outcome = run("dump", case.directory(label), "--json", *HEX, *level, "--include-internal")
    assert outcome.code == 0
    said = outcome.err.splitlines()  # of damage nothing
    assert all(line.startswith("kafka-workbench: not searched: ") for line in said)
    partitions = told(rows)
    records = {place(each): each for each in outcome.lines if told([each]) <= partitions}
    assert list(records) == [place(row) for row in sorted(rows, key=place)]
    for row in rows:
        assert as_consumed(records[place(row)], row) == row
    return len(rows)


@pytest.mark.parametrize(("name", "label"), ERAS)
def test_dump_prints_what_consumers_of_every_era_read(
    name: str, label: str, golden: Golden
) -> None:
    assert check(golden(name), label, "read_uncommitted") > 0


@pytest.mark.parametrize("name", TRANSACTIONAL)
def test_read_committed_prints_what_such_a_consumer_read(name: str, golden: Golden) -> None:
    assert check(golden(name), "data", "read_committed") > 0


def test_a_record_has_these_fields_in_this_order_and_log_order(golden: Golden) -> None:
    records = run("dump", golden("4.2.0-txn").directory("data"), "--format", "jsonl").lines
    assert all(list(record) == RECORD_KEYS for record in records)
    places = [place(record) for record in records]
    assert places == sorted(places)


def test_a_record_of_magic_0_has_no_timestamp_as_a_consumer_says_it(golden: Golden) -> None:
    record = run("dump", golden("k0.8.2-formats").directory("data"), "-n", "1", "--json").lines[0]
    assert record["timestamp"] == -1
    assert record["time"] is None
    assert record["timestamp_type"] == "NoTimestampType"


def test_control_records_come_only_when_asked_for_and_say_what_they_are(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    whole = ("dump", directory, "--format", "jsonl", "--include-internal")
    plain = run(*whole).lines
    with_control = run(*whole, "--control").lines
    control = [each for each in with_control if "control" in each]
    assert [each for each in with_control if "control" not in each] == plain
    assert {each["control"]["type"] for each in control} == {"COMMIT", "ABORT"}
    assert all(each["control"]["coordinatorEpoch"] >= 0 for each in control)
    assert all(list(each) == [*RECORD_KEYS, "control"] for each in control)
    metadata = ("dump", golden("4.2.0-raft").directory(_raft(golden)), "-t", "__cluster_metadata")
    quorum = run(*metadata, "--json", "--control").lines
    assert {"LEADER_CHANGE"} <= {each["control"]["type"] for each in quorum if "control" in each}


def _raft(golden: Golden) -> str:
    return next(label for label in golden("4.2.0-raft").labels if "data" in label or label)


def test_batches_stand_before_their_records_with_the_columns_of_the_batch_table(
    golden: Golden,
) -> None:
    directory = golden("4.2.0-txn").directory("data")
    lines = run("dump", directory, "--json", "--batches", "--control", "--include-internal").lines
    batches = [line for line in lines if "base_offset" in line]
    assert all(list(batch) == schema_of(BatchRow).names for batch in batches)
    table = open_log_directory(directory).inspect.batches()
    assert len(batches) == table.num_rows
    for name in ("topic", "partition", "segment", "position", "codec", "producer_id", "crc"):
        assert [batch[name] for batch in batches] == table[name].to_pylist()
    current: dict[str, Any] = {}
    for line in lines:
        if "base_offset" in line:
            current = line
        else:
            assert current["base_offset"] <= line["offset"] <= current["last_offset"]
            assert current["topic"] == line["topic"]
    without = run("dump", directory, "--json", "--batches", "--no-records", "--include-internal")
    assert without.lines == batches


def test_ranges_and_limits_choose_records(golden: Golden) -> None:
    directory = golden("4.2.0-plain-java").directory("data")
    everything = run("dump", directory, "--json").lines
    topic = everything[0]["topic"]
    mine = [r for r in everything if r["topic"] == topic and r["partition"] == 0]
    chosen = ("dump", directory, "--json", "--topic", topic, "--partition", "0")
    assert run(*chosen).lines == mine
    low, high = mine[2]["offset"], mine[-2]["offset"]
    inside = [r for r in mine if low <= r["offset"] < high]
    assert run(*chosen, "--offsets", f"{low}:{high}").lines == inside
    assert run(*chosen, "--offsets", str(low)).lines == [r for r in mine if r["offset"] == low]
    assert run(*chosen, "--limit", "3").lines == mine[:3]
    assert run(*chosen, "--limit", "0").lines == []
    middle = sorted(r["timestamp"] for r in mine)[len(mine) // 2]
    assert run(*chosen, "--since", str(middle)).lines == [
        r for r in mine if r["timestamp"] >= middle
    ]
    assert run(*chosen, "--until", str(middle)).lines == [
        r for r in mine if r["timestamp"] < middle
    ]


def test_several_paths_a_folder_and_a_file_can_be_dumped(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    everything = run("dump", directory, "--json").lines
    mine = [r for r in everything if r["topic"] == "txn-b"]
    assert run("dump", directory / "txn-b-0", directory / "txn-b-1", "--json").lines == mine
    logs = sorted((directory / "txn-b-0").glob("*.log"))
    by_file = [record for log in logs for record in run("dump", log, "--json").lines]
    assert by_file == [record for record in mine if record["partition"] == 0]


def test_values_are_shown_until_they_are_hidden(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = golden("4.2.0-txn").directory("data")
    of_topic = ("dump", directory, "-t", "txn-a")
    shown = run(*of_topic, "--format", "text")
    assert "sigma" in shown.out
    assert "committed" in shown.out
    assert "aborted" in shown.out
    hidden = run(*of_topic, "--format", "text", "--hide-values")
    assert "sigma" not in hidden.out
    assert "committed" in hidden.out
    lines = run(*of_topic, "--json", "--hide-values").lines
    assert all(list(each["value"]) == ["size"] for each in lines)
    monkeypatch.setenv("KAFKA_WORKBENCH_VALUES", "hidden")
    for form in (("--format", "text"), ("--json",)):
        assert "sigma" not in run(*of_topic, *form).out
        assert "sigma" in run(*of_topic, *form, "--show-values").out
    assert "-f prints %s" in run(*of_topic, "-f", "%o %s").err
    assert run(*of_topic, "-n", "1", "-f", "%o %S").code == 0
    monkeypatch.setenv("KAFKA_WORKBENCH_VALUES", "no")
    assert "expected shown or hidden" in run(*of_topic).err
    monkeypatch.delenv("KAFKA_WORKBENCH_VALUES")
    assert "\x1b" not in shown.out
    coded = run(
        "dump",
        directory,
        "--format",
        "text",
        "-t",
        "txn-a",
        "--show-values",
        "--value-format",
        "hex",
    )
    assert b"sigma".hex() in coded.out


def test_internal_topics_are_decoded_in_text(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    topic = ("-t", "__consumer_offsets")
    shown = run("dump", directory, "--format", "text", "--show-values", *topic)
    assert "txn-group-commit" in shown.out


def test_internal_topics_are_decoded_in_json_when_asked_for(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    whole = ("dump", directory, "--json", "--include-internal")
    plain, decoded = run(*whole).lines, run(*whole, "--decode").lines
    offsets = [each for each in decoded if each["topic"] == "__consumer_offsets"]
    assert offsets[0]["decoded"]["key"]["data"]["group"] == "txn-group-commit"
    assert offsets[0]["decoded"]["value"]["data"]["offset"] == 5
    assert all(("decoded" in each) == each["topic"].startswith("__") for each in decoded)
    for each in decoded:
        each.pop("decoded", None)
    assert decoded == plain


def test_a_damaged_batch_is_left_out_and_told_on_stderr(golden: Golden, tmp_path: Path) -> None:
    source = golden("4.2.0-txn").directory("data") / "txn-a-0"
    copy = tmp_path / "txn-a-0"
    shutil.copytree(source, copy)
    log = min(copy.glob("*.log"))
    data = bytearray(log.read_bytes())
    data[70] ^= 1
    log.write_bytes(data)
    whole = run("dump", source, "--json").lines
    outcome = run("dump", copy, "--json")
    assert outcome.lines == whole[1:]
    assert outcome.code == 0
    included, damage = outcome.err.splitlines()
    assert "included: 3 records of aborted transactions and 2 records of open" in included
    assert "1 damaged place left out" in damage
    asked = run("dump", copy, "--json", "--isolation-level", "read_uncommitted")
    assert asked.err.splitlines() == [damage]  # who names the level knows what it includes
    assert run("dump", copy, "--json", "--strict").code == 2
    assert run("dump", copy, "--json", "--rescue").code == 0


def test_a_closed_pipe_ends_the_output_quietly(golden: Golden) -> None:
    directory = golden("4.2.0-plain-big").directory("data")
    program = [sys.executable, "-m", "workbench.cli.main", "dump", str(directory), "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        json.loads(process.stdout.readline())
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_batches_below_the_log_start_offset_come_without_their_records(golden: Golden) -> None:
    """What DeleteRecords hides from consumers is still in the file, as DumpLogSegments shows."""
    path = golden("k1.1-transactions").directory("data") / "x-idem-0"
    partition = open_log_directory(path.parent)["x-idem-0"]
    start = partition.log_start_offset
    lines = run("dump", path.parent, "-p", "x-idem-0", "--format", "jsonl", "--batches").lines
    batches = [each for each in lines if "base_offset" in each]
    assert [each["position"] for each in batches] == [
        position for segment in partition.segments for position in segment.batches.rows["position"]
    ]
    assert batches[0]["base_offset"] < start
    assert min(each["offset"] for each in lines if "offset" in each) == start
    chosen = run("dump", path.parent, "-p", "x-idem-0", "--offsets", f"{start}:", "--batches").lines
    assert all(each.get("last_offset", start) >= start for each in chosen)


def test_huge_values_come_as_one_line_each(tmp_path: Path) -> None:
    huge = bytes(range(256)) * 8192
    values = [b"small", huge, None, b"", huge + b"!"]
    records = [
        Record(at, 5, b'"value":""', value, ((b'"value":""', value),))
        for at, value in enumerate(values)
    ]
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(batch(records))
    whole = run("dump", tmp_path, "--json").lines
    assert [line["value"] for line in whole] == [
        "small",
        {"bytes": huge.hex()},
        None,
        "",
        {"bytes": f"{huge.hex()}21"},
    ]
    assert {line["key"] for line in whole} == {'"value":""'}
    lines = run("dump", tmp_path, "--json", *HEX).lines
    assert [line["value"] for line in lines] == [
        None if value is None else value.hex() for value in values
    ]
    assert {line["key"] for line in lines} == {b'"value":""'.hex()}
    assert [line["headers"] for line in lines] == [
        [['"value":""', None if value is None else value.hex()]] for value in values
    ]


BYTES = st.sampled_from(
    [b"", b"Krak\xc3\xb3w", b"tab\tline\n", b"\xff\xc3", b"\x00", b"\\"]
).flatmap(lambda part: st.integers(0, 4).map(lambda times: part * times))


@examples(15)
@given(key=st.none() | BYTES, value=st.none() | BYTES, name=BYTES, marks=st.booleans())
def test_pieces_are_what_a_short_record_is_written_as(
    key: bytes | None,
    value: bytes | None,
    name: bytes,
    *,
    marks: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.getbasetemp() / "pieces" / "orders-0"
    folder.mkdir(parents=True, exist_ok=True)
    records = [Record(at, 5, key, value, ((name, value), (b"n", key))) for at in range(3)]
    attributes = 0x20 if marks else 0
    (folder / f"{0:020}.log").write_bytes(batch(records, attributes=attributes))
    shown = "--format", "text", "--control", "--show-values"
    ways: list[tuple[str, ...]] = [("--json", "--control", "--decode"), shown, (*shown, "--full")]
    ways += [(*shown, "--value-format", form) for form in ("base64", "hex")]
    ways += [("--json", "--control", *HEX), ("--json", "--hide-values")]
    for options in ways:
        whole = run("dump", folder.parent, *options).out
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_lines, "HUGE", 0)
            patch.setattr(pieces, "HUGE", 0)
            patch.setattr(pieces, "PIECE", 3)
            patch.setattr(value_text, "PIECE", 0)
            patch.setattr(value_text, "MOST_DECODED", 0)
            assert run("dump", folder.parent, *options).out == whole
