"""View functions: from what the workbench read to what the front end draws."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.golden.cases import Case
from widgets.queries import view_queries
from widgets.view.bytes import byte_window, places
from widgets.view.findings import finding_rows
from widgets.view.packing import unpack
from widgets.view.records import MOST_SHOWN, Lens, readable
from widgets.view.segments import batch_columns, first_rows, index_columns, positions_of
from widgets.view.tree import tree_nodes
from workbench.inspection.bytes.batch_bytes import read_batch
from workbench.inspection.bytes.fields import explain_batch
from workbench.inspection.findings import Finding
from workbench.inspection.listing import list_log_directories

Golden = Callable[[str], Case]


def test_values_are_hidden_until_they_are_asked_for() -> None:
    secret = b"4111 1111 1111 1111"
    hidden, shown = Lens().cell("value", secret), Lens(show_values=True).cell("value", secret)
    assert hidden[:2] == ["19 bytes", "hidden"]
    assert "4111" not in str(hidden)
    assert shown == ["4111 1111 1111 1111", "text"]


def test_null_and_empty_are_told_apart_even_when_hidden() -> None:
    assert [Lens().cell("key", value)[0] for value in (None, b"")] == ["null", "empty"]


def test_a_mask_changes_what_is_shown() -> None:
    lens = Lens(show_values=True, mask=lambda _column, value: value[:2] + b"...")
    assert lens.cell("value", b"secret") == ["se...", "text"]
    assert lens.headers([(b"trace", b"abcdef")])[0] == "trace=ab..."


def test_headers_are_counted_while_hidden() -> None:
    headers = [(b"a", b"1"), (b"a", None)]
    assert Lens().headers(headers) == ["2 headers", "hidden"]
    assert Lens(show_values=True).headers(headers)[0] == "a=1, a=null"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"plain", "plain"),
        ("grün".encode(), "grün"),
        (b"\xff\x00", "0xff00"),
        (b"a\x00b", "0x610062"),
        (b"x" * 1000, "x" * (MOST_SHOWN - 1) + "…"),
        ("ü".encode() * 1000, "ü" * (MOST_SHOWN - 1) + "…"),
    ],
)
def test_text_is_shown_as_text_and_bytes_as_digits(value: bytes, text: str) -> None:
    assert readable(value)[0] == text


def test_a_cut_inside_a_character_is_no_reason_for_digits() -> None:
    value = b"x" + "ü".encode() * 1000
    assert readable(value)[0].startswith("xüü")


def test_index_entries_that_point_behind_the_file_are_left_out_and_counted() -> None:
    columns, dropped = index_columns([5, 9, 12, 20], [100, 90, 200, 5000], 1000)
    assert unpack(columns["position"]).tolist() == [100, 200]
    assert unpack(columns["offset"]).tolist() == [5, 12]
    assert dropped == 2


def test_an_offset_lies_in_the_first_batch_that_reaches_it(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-plain-java").directory("data"))
    rows = listing.partitions["java-gzip-0"].segments[0].batches.rows
    last = rows["last_offset"]
    expected = rows["position"][[0, 1, 2]].tolist()
    assert positions_of(np.array([last[0], last[0] + 1, last[2]]), rows).tolist() == expected
    assert (
        positions_of(np.array([last[-1] + 1]), rows)[0] == rows["position"][-1] + rows["size"][-1]
    )


def test_damage_that_a_header_scan_cannot_see_is_added(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-plain-java").directory("data"))
    rows = listing.partitions["java-gzip-0"].segments[0].batches.rows
    columns = batch_columns(rows, {int(rows["position"][2]): 14})
    assert np.flatnonzero(unpack(columns["problem"])).tolist() == [2]


def test_codec_kind_and_timestamp_type_travel_in_one_byte(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-txn").directory("data"))
    rows = listing.partitions["txn-b-0"].segments[1].batches.rows
    attributes = unpack(batch_columns(rows)["attributes"])
    assert ((attributes & 0x20) != 0).tolist() == rows["is_control"].tolist()
    assert ((attributes & 0x10) != 0).tolist() == rows["is_transactional"].tolist()
    assert (attributes & 7).tolist() == rows["codec"].tolist()


def test_records_before_each_batch_are_a_running_sum() -> None:
    assert first_rows(np.array([3, 0, 2])).tolist() == [0, 3, 3, 5]


def test_the_tree_has_users_topics_first_and_leaves_nothing_out(golden: Golden) -> None:
    directory = golden("4.2.0-damage-unclean").directory("before")
    nodes = tree_nodes(list_log_directories(directory))
    topics = [node["name"] for node in nodes if node["kind"] == "topic"]
    assert topics == sorted(topics, key=lambda name: (name.startswith("__"), name))
    shown = {node["name"] for node in nodes}
    assert {path.name for path in directory.iterdir() if path.is_file()} <= shown
    chips = {node.get("chip") for node in nodes}
    assert {"leftover", "unknown"} <= chips
    for at, node in enumerate(nodes):
        assert node["parent"] < at


def test_a_finding_in_a_log_file_is_tied_to_its_batch(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-damage-unclean").directory("before"))
    partition = listing.partitions["dmg-flip-value-0"]
    segment = partition.segments[1]
    third = segment.batches.rows[2]
    inside = int(third["position"]) + 70
    finding = Finding("crc", "error", segment.path, inside, 40, "a", "b", "c")
    (row,) = finding_rows("dmg-flip-value-0", partition, [finding])
    assert row["segment"] == str(segment.base_offset)
    assert row["batch_position"] == third["position"]
    index = Finding("index", "error", segment.files["index"].path, 8, None, "a", "b", "c")
    assert finding_rows("dmg-flip-value-0", partition, [index])[0]["batch_position"] is None


def test_private_bytes_do_not_leave_while_values_are_hidden(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-plain-java").directory("data"))
    segment = listing.partitions["java-none-0"].segments[0]
    row = segment.batches.rows[0]
    position, size = int(row["position"]), int(row["size"])
    fields = explain_batch(segment, position)
    private = [
        each for each in fields if each.name in {"key", "value"} and isinstance(each.value, bytes)
    ]
    assert any(each.value for each in private)
    data = read_batch(segment, position, size).data
    content, (sent,) = byte_window(data, places(fields, position), 0, Lens())
    for each in private:
        start = each.position - position
        assert sent[start : start + each.size] == bytes(each.size)
        assert not each.value or len(each.value) < 4 or each.value not in sent
        assert len(each.value) < 4 or each.value.decode("latin-1") not in str(content)
    assert sent[:61] == data[:61]
    assert byte_window(data, places(fields, position), 0, Lens(show_values=True))[1] == [data]


def test_every_byte_of_a_batch_belongs_to_exactly_one_field(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-plain-java").directory("data"))
    for partition in listing.partitions.values():
        for segment in partition.segments:
            for row in segment.batches.rows[:3]:
                position, size = int(row["position"]), int(row["size"])
                fields = [f for f in explain_batch(segment, position) if not f.is_decompressed]
                owners = np.zeros(size, np.int64)
                for place in places(fields, position):
                    if place.owns:
                        owners[place.start : place.start + place.field.size] += 1
                assert (owners == 1).all(), (partition.name, position)


def test_a_window_holds_the_fields_that_touch_it_and_no_others(golden: Golden) -> None:
    listing = list_log_directories(golden("4.2.0-plain-java").directory("data"))
    segment = listing.partitions["java-none-0"].segments[0]
    position = int(segment.batches.rows[0]["position"])
    found = places(explain_batch(segment, position), position)
    content, _ = byte_window(bytes(4), found, 16, Lens())
    assert [each["name"] for each in content["fields"]] == ["batch header", "magic", "crc"]


def test_queries_name_what_is_selected() -> None:
    queries = view_queries(
        ["data"], partition="o-0", topic=("o", 0), segment=1, batch=2, offsets=(5, 9)
    )
    assert 'logs.scan(topics=["o"], partitions=[0], offsets=(5, 9))' in queries["records"]
    assert "segment.batches[2]" in queries["batches"]
    assert set(view_queries(["data"])) == {"directory"}
    assert "bytes" not in view_queries(["data"], partition="o-0", segment=0)
