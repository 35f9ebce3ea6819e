import random
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.golden.cases import Case
from workbench.inspection.bytes.fields import ByteField, explain_batch
from workbench.inspection.entries import FileEntry
from workbench.inspection.segment import Segment
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]
ERAS = ("k0.8.2-formats", "k0.10.0-formats", "k1.1-transactions", "4.2.0-txn", "4.2.0-plain-java")


def segments(case: Case) -> Iterator[Segment]:
    logs = open_log_directory(case.directory("data"))
    for partition in logs.values():
        yield from partition.segments[:2]


def leaves(fields: list[ByteField]) -> list[ByteField]:
    """Return the fields in the file that hold no others."""
    found = [field for field in fields if not field.is_decompressed]
    following = [*(field.level for field in found[1:]), 0]
    return [f for f, level in zip(found, following, strict=True) if level <= f.level]


def segment_of(path: Path, data: bytes) -> Segment:
    path.write_bytes(data)
    return Segment(0, {"log": FileEntry(path.name, str(path), len(data), 0)}, is_active=True)


def one(fields: list[ByteField], name: str) -> ByteField:
    return next(field for field in fields if field.name == name)


@pytest.mark.parametrize("name", ERAS)
def test_every_byte_of_a_sound_batch_has_a_name_and_nothing_is_wrong(
    name: str, golden: Golden
) -> None:
    seen = 0
    for segment in segments(golden(name)):
        for row in segment.batches.rows[:5]:
            start, size = int(row["position"]), int(row["size"])
            fields = explain_batch(segment, start)
            assert [field for field in fields if field.is_wrong] == []
            named = {p for f in leaves(fields) for p in range(f.position, f.position + f.size)}
            bare = set(range(start, start + size)) - named
            assert bare <= {start + 21}  # high byte of the attributes: none of its bits has a name
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("name", ERAS)
def test_the_records_that_are_explained_are_the_records_that_are_read(
    name: str, golden: Golden
) -> None:
    for segment in islice(segments(golden(name)), 12):
        for chunk in segment.read():
            columns = chunk.columns
            for number, row in enumerate(chunk.rows[:3]):
                fields = explain_batch(segment, int(row["position"]))
                is_wrapped = row["codec"] != 0
                at = [f for f in fields if f.is_decompressed == is_wrapped]
                records = [f for f in at if f.name.startswith(("record ", "message"))]
                mine = [i for i, batch in enumerate(columns.batch) if batch == number]
                assert len(records) == len(mine)
                assert columns.values is not None
                sizes = [f.value for f in at if f.name in {"value_length", "value_size"}]
                values = [f.value for f in at if f.name == "value" and f.level == 1]
                if columns.headers is not None and not any(columns.headers.item(i) for i in mine):
                    assert len(sizes) == len(mine)
                expected = [v for i in mine if (v := columns.values.item(i)) is not None]
                assert values == expected


def test_attribute_bits_follow_the_attributes_and_the_marker_is_named(golden: Golden) -> None:
    partition = open_log_directory(golden("4.2.0-txn").directory("data"))["txn-a-0"]
    segment = next(s for s in partition.segments if s.batches.column("is_control").any())
    rows = segment.batches.rows
    fields = explain_batch(segment, int(rows[rows["is_control"]][0]["position"]))
    names = [field.name for field in fields]
    at = names.index("attributes")
    assert names[at + 1 : at + 6] == [
        "codec",
        "timestamp_type",
        "is_transactional",
        "is_control",
        "has_delete_horizon",
    ]
    assert {field.level for field in fields[at + 1 : at + 6]} == {2}
    assert one(fields, "is_control").value is True
    kind = one(fields, "key").note
    assert kind in {"abort", "commit"}
    assert one(fields, "value").note == f"{kind} marker, coordinator epoch 0"


def test_a_compressed_run_is_one_field_and_its_records_count_from_zero(golden: Golden) -> None:
    logs = open_log_directory(golden("4.2.0-plain-java").directory("data"))
    segment = next(
        p.segments[0] for p in logs.values() if (p.segments[0].batches[0].codec == "zstd")
    )
    fields = explain_batch(segment, 0)
    run = one(fields, "records")
    assert run.position == 61
    assert "zstd" in run.note
    inner = [field for field in fields if field.is_decompressed]
    assert inner[0].name == "record 0"
    assert inner[0].position == 0


def test_records_beyond_the_most_become_one_field(golden: Golden) -> None:
    for segment in segments(golden("4.2.0-plain-java")):
        rows = segment.batches.rows
        large = rows[(rows["record_count"] > 3) & (rows["codec"] == 0)]
        if not len(large):
            continue
        row = large[0]
        fields = explain_batch(segment, int(row["position"]), 2)
        assert sum(field.name.startswith("record ") for field in fields) == 2
        assert fields[-1].note == f"and {row['record_count'] - 2} more"
        assert fields[-1].position + fields[-1].size == row["position"] + row["size"]
        return
    pytest.fail("no batch of more than three records")


def test_a_wrong_crc_says_which_one_the_bytes_have(golden: Golden, tmp_path: Path) -> None:
    whole = Path(next(segments(golden("4.2.0-plain-java"))).path).read_bytes()
    data = bytearray(whole)
    data[30] ^= 1
    fields = explain_batch(segment_of(tmp_path / "a.log", bytes(data)), 0)
    crc = one(fields, "crc")
    assert crc.is_wrong
    assert "computed" in crc.note


@pytest.mark.parametrize("name", ERAS)
def test_a_batch_cut_anywhere_is_explained_as_far_as_it_goes(
    name: str, golden: Golden, tmp_path: Path
) -> None:
    segment = next(s for s in segments(golden(name)) if len(s.batches))
    size = segment.batches[0].size
    data = Path(segment.path).read_bytes()[:size]
    for cut in range(min(size, 400)):
        fields = explain_batch(segment_of(tmp_path / "cut.log", data[:cut]), 0)
        assert bool(fields) == (cut > 0)
        ends = [f.position + f.size for f in fields if not f.is_decompressed]
        assert max(ends, default=0) == cut
        if cut:
            assert any(field.is_wrong for field in fields)


@pytest.mark.parametrize("name", ERAS)
def test_no_change_of_bytes_raises(name: str, golden: Golden, tmp_path: Path) -> None:
    dice = random.Random(name)
    for segment in islice(segments(golden(name)), 8):
        data = Path(segment.path).read_bytes()[:2000]
        for _ in range(60):
            changed = bytearray(data)
            for _ in range(dice.choice([1, 1, 4])):
                if changed:
                    changed[dice.randrange(len(changed))] = dice.randrange(256)
            damaged = segment_of(tmp_path / "damaged.log", bytes(changed))
            explain_batch(damaged, 0)
            explain_batch(damaged, dice.randrange(len(changed) + 1))


def test_a_place_behind_the_end_has_no_fields(golden: Golden, tmp_path: Path) -> None:
    segment = next(segments(golden("4.2.0-plain-java")))
    copy = tmp_path / "copy.log"
    shutil.copy(segment.path, copy)
    assert explain_batch(segment, segment.size) == []
    assert explain_batch(segment, segment.size + 100) == []
