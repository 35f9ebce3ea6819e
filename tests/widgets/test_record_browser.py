"""The record browser's traits, messages, code and picture, without a browser."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import traitlets

import workbench as wb
from tests.golden.cases import Case
from tests.naive import Record, batch
from widgets import RecordBrowser
from widgets.view.packing import unpack
from widgets.view.record_cells import pretty_json
from workbench.loaders.exports.export import Export

Golden = Callable[[str], Case]
SAMPLE = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
START = 1_772_323_200_000
LOG = "00000000000000000000.log"


@pytest.fixture
def logs(tmp_path: Path) -> wb.LogDirectory:
    for partition in range(2):
        folder = tmp_path / "logs" / f"orders-{partition}"
        folder.mkdir(parents=True)
        records = [
            Record(
                at,
                START + 10 * at + partition,
                b"key-%d" % at,
                b'{"id": %d, "secret": "tea"}' % at,
                ((b"trace", b"t%d" % at),),
            )
            for at in range(100)
        ]
        (folder / LOG).write_bytes(batch(records))
    (tmp_path / "logs" / "empty-0").mkdir()
    return wb.open_log_directory(tmp_path / "logs")


def ask(browser: RecordBrowser, kind: str, **body: Any) -> dict[str, Any]:
    sent: list[dict[str, Any]] = []
    browser.send = lambda content, buffers=None: sent.append(content | {"buffers": buffers})
    browser.receive(browser, {"kind": kind, "id": 7, **body}, [])
    (answer,) = sent
    assert answer["kind"] == kind, answer
    return answer


def ended(browser: RecordBrowser) -> dict[str, Any]:
    browser.wait(30)
    result: dict[str, Any] = browser.result
    assert result["status"] == "done"
    return result


def test_it_begins_with_all_records_of_the_largest_topic_by_time(logs: wb.LogDirectory) -> None:
    result = ended(RecordBrowser(logs))
    assert (result["count"], result["records_read"]) == (200, 200)
    assert [row[:2] for row in result["rows"][:4]] == [
        ["orders-0", "0"], ["orders-1", "0"], ["orders-0", "1"], ["orders-1", "1"],
    ]  # fmt: skip
    assert unpack(result["counts"]).sum() == 200
    assert int(result["start"]) <= START


def test_a_query_a_place_an_order_and_a_time_choose_the_rows(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, partition="orders-1", query="$.id>=97")
    assert browser.topic == "orders"
    assert [row[1] for row in ended(browser)["rows"]] == ["97", "98", "99"]
    browser.newest_first = True
    assert [row[1] for row in ended(browser)["rows"]] == ["99", "98", "97"]
    browser.partition = ""
    browser.order = "offset"
    browser.newest_first = False
    assert [row[:2] for row in ended(browser)["rows"]][2:4] == [
        ["orders-0", "99"],
        ["orders-1", "97"],
    ]
    browser.brush = [START + 980, START + 981]
    assert [row[:2] for row in browser.result["rows"]] == [["orders-0", "98"]]
    assert (browser.result["count"], browser.result["found"]) == (1, 6)
    assert browser.scan().to_arrow()["offset"].to_pylist() == [98]
    browser.topic = "empty"
    assert (browser.brush, ended(browser)["count"]) == ([], 0)


def test_a_query_that_cannot_be_read_leaves_the_last_rows(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, query="key:key-7")
    before = ended(browser)
    browser.query = "key:/(/"
    assert browser.result["problem"].startswith("character 5: /(/ is not a regular")
    assert browser.result["rows"] == before["rows"]
    assert 'where="key:key-7"' in browser.code["python"]
    browser.query = "key:key-8"
    assert ended(browser)["problem"] == ""


def test_pages_come_from_the_search_that_is_asked_about(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs)
    run = ended(browser)["run"]
    rows = ask(browser, "rows", run=run, start=190, stop=390)["rows"]
    assert [row[1] for row in rows] == ["95", "95", "96", "96", "97", "97", "98", "98", "99", "99"]
    assert ask(browser, "rows", run=run, start=0, stop=5000)["rows"] == []
    browser.query = "key:key-1"
    assert ask(browser, "rows", run=run, start=0, stop=10)["rows"] == []
    ended(browser)
    assert ask(browser, "place", partition="orders-1", offset="10")["row"] == 3
    assert ask(browser, "place", partition="orders-1", offset="20")["row"] == -1


def everything_sent(browser: RecordBrowser) -> str:
    state = {name: browser.get_state(name) for name in browser.keys if name not in {"_esm", "_css"}}
    return json.dumps(state, default=repr)


def test_hidden_values_do_not_leave_the_kernel(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, show_values=False)
    ended(browser)
    record = ask(browser, "record", partition="orders-0", offset="5")
    assert record["buffers"] == [b"", b""]
    for text in (everything_sent(browser), repr(record)):
        assert "tea" not in text
        assert "key-5" not in text
        assert "trace" not in text
    browser.show_values = True
    asked = ask(browser, "rows", run=browser.result["run"], start=0, stop=1)
    assert asked["rows"][0][4] == ['{"id": 0, "secret": "tea"}', "text"]


def test_a_mask_is_applied_before_anything_is_shown(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(
        logs, show_values=True, mask=lambda _, data: data.replace(b"tea", b"***")
    )
    ended(browser)
    record = ask(browser, "record", partition="orders-0", offset="5")
    assert "***" in record["record"]["value"]["text"]
    assert "tea" not in repr(record) + everything_sent(browser)


def test_a_record_is_shown_in_full(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, show_values=True)
    answer = ask(browser, "record", partition="orders-1", offset="5")
    record = answer["record"]
    assert answer["buffers"] == [b"key-5", b'{"id": 5, "secret": "tea"}']
    assert record["value"]["form"] == "json"
    assert record["value"]["text"] == '{\n  "id": 5,\n  "secret": "tea"\n}'
    assert record["key"]["form"] == "text"
    assert record["headers"] == [["trace", "t5", "text"]]
    facts = dict(record["facts"])
    assert facts["timestamp"] == "2026-03-01T00:00:00.051Z"
    assert facts["offset"] == "5"
    assert ask(browser, "record", partition="orders-1", offset="5000")["record"] is None
    assert ask(browser, "record", partition="nowhere-1", offset="5")["record"] is None
    browser.selected = {"partition": "orders-1", "offset": 5}
    assert browser.selected_record()["key"] == b"key-5"  # type: ignore[index]


def test_internal_topics_are_decoded(golden: Golden) -> None:
    logs = wb.open_log_directory(golden("4.2.0-txn").directory("data"))
    browser = RecordBrowser(logs, topic="__transaction_state", show_values=True)
    row = ended(browser)["rows"][0]
    assert "transactional" in row[3][0].lower()
    record = ask(browser, "record", partition=row[0], offset=row[1])["record"]
    assert record["value"]["form"] == "decoded"
    assert json.loads(record["key"]["text"])


def test_values_are_decoded_as_in_a_scan(logs: wb.LogDirectory) -> None:

    kind = pa.schema([("id", pa.int64())])
    browser = RecordBrowser(logs, show_values=True, decode={"value": kind})
    part = ask(browser, "record", partition="orders-1", offset="5")["record"]["value"]
    assert (part["form"], json.loads(part["text"])) == ("decoded", {"id": 5})


def test_the_list_shows_decoded_values_and_the_bytes_of_others(
    logs: wb.LogDirectory,
) -> None:
    kind = pa.schema([("id", pa.int64())])
    browser = RecordBrowser(
        logs, show_values=True, query="key:key-5 partition:0", decode={"value": kind, "key": kind}
    )
    (row, *_others) = ended(browser)["rows"]
    assert (row[3][0], row[4][0]) == ("key-5", '{"id": 5}')
    browser.show_values = False
    assert '{\\"id' not in json.dumps(browser.result["rows"])


def test_sorting_by_key_and_size_runs_the_search_again(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, query="partition:0", show_values=True)
    run = ended(browser)["run"]
    browser.order = "key"
    assert ended(browser)["run"] == run + 1
    keys = [row[3][0] for row in browser.result["rows"][:4]]
    assert keys == ["key-0", "key-1", "key-10", "key-11"]
    browser.order = "offset"
    assert ended(browser)["run"] == run + 1
    browser.order, browser.newest_first = "size", True
    ended(browser)
    sizes = [row[6] for row in browser.result["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 1  # of the first rows: 90 records have two digits
    lines = outcome(browser.code["sql"]).fetchall()
    assert [len(row[4]) + len(row[5]) for row in lines] == sorted(
        (len(row[4]) + len(row[5]) for row in lines), reverse=True
    )
    browser.query = "key:/(/"
    browser.order = "key"
    assert browser.result["problem"]
    browser.query = "key:key-7 partition:0"
    assert [row[3][0] for row in ended(browser)["rows"]] == [
        f"key-{at}" for at in (79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 7)
    ]


def test_the_code_gives_what_is_listed(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, query='key:"key-9" -$.id=9 \'x\\', newest_first=True)
    browser.query = 'key:"key-9" -$.id=9'
    ended(browser)
    browser.brush = [START, START + 985]
    frame = outcome(browser.code["python"])
    assert len(frame) == browser.result["count"] == 18
    rows = outcome(browser.code["sql"]).fetchall()
    assert [(row[1], row[2]) for row in rows[:2]] == [(1, 98), (0, 98)]


def outcome(code: str) -> Any:
    """Run code, and return the value of its last expression."""
    tree = ast.parse(code)
    scope: dict[str, Any] = {}
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    tree.body[-1] = ast.parse("outcome = None").body[0]
    assert isinstance(tree.body[-1], ast.Assign)
    tree.body[-1].value = last.value
    exec(compile(tree, "code", "exec"), scope)  # noqa: S102
    return scope["outcome"]


def test_it_can_be_canceled(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs)
    run = browser.result["run"]
    ask(browser, "cancel", run=run)
    assert browser.result["status"] in {"canceled", "done"}
    ask(browser, "progress", run=run)
    browser.close()


def test_what_does_not_exist_is_refused(logs: wb.LogDirectory) -> None:
    with pytest.raises(LookupError, match="unknown partition 'orders-9'"):
        RecordBrowser(logs, partition="orders-9")
    with pytest.raises(traitlets.TraitError, match="unknown topic 'order'"):
        RecordBrowser(logs, topic="order")
    with pytest.raises(TypeError, match="unknown option show_value"):
        RecordBrowser(logs, show_value=True)


def test_an_empty_directory_is_shown(tmp_path: Path) -> None:
    browser = RecordBrowser(tmp_path)
    assert browser.result["status"] == "none"
    assert browser.describe() == "RecordBrowser(no topic: 0 records)"
    assert browser.to_png().startswith(b"\x89PNG")


def test_there_is_a_picture_and_a_line_of_text(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, query="$.id<30")
    ended(browser)
    assert browser.describe() == "RecordBrowser(orders with $.id<30: 60 records)"
    bundle = browser._repr_mimebundle_()
    assert bundle is not None
    assert bundle[0]["image/png"].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b'{"a":[1.10,{}],"b":"x,{y"}', '{\n  "a": [\n    1.10,\n    {}\n  ],\n  "b": "x,{y"\n}'),
        (b" [] ", "[]"),
        (b'{"n":12345678901234567890}', '{\n  "n": 12345678901234567890\n}'),
        (b"text", None),
        (b'{"a":', None),
        (b"[" * 9000, None),
        (b"\xff{}", None),
    ],
)
def test_json_is_laid_out_with_its_values_as_they_are_written(
    data: bytes, lines: str | None
) -> None:
    assert pretty_json(data) == lines


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_what_is_listed_can_be_written_to_a_file(
    form: str, logs: wb.LogDirectory, tmp_path: Path
) -> None:
    browser = RecordBrowser(logs, query="key=key-9")
    path = tmp_path / f"found.{form}"
    answer = ask(browser, "export", path=str(path), format=form)
    assert browser.export is not None
    assert browser.export.wait(30)
    answer = ask(browser, "export_progress")
    assert (answer["status"], answer["records"]) == ("done", 2)
    assert str(path) in answer["text"]
    if form == "parquet":
        assert pq.read_table(path).equals(browser.scan().to_arrow())
    else:
        lines = path.read_text().splitlines()
        assert len(lines) == (2 if form == "jsonl" else 3)
        assert json.loads(lines[0])["offset"] == 9 if form == "jsonl" else "key-9" in lines[1]
    again = ask(browser, "export", path=str(path), format=form)
    browser.export.wait(30)
    again = ask(browser, "export_progress")
    assert (again["status"], "exists already" in again["text"]) == ("failed", True)


def test_nothing_is_written_where_records_are_read(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs)
    inside = Path(logs["orders-0"].path) / "found.csv"
    ask(browser, "export", path=str(inside), format="csv")
    assert browser.export is not None
    browser.export.wait(30)
    assert "must not be inside the input" in ask(browser, "export_progress")["text"]
    assert not inside.exists()


def test_a_mask_that_a_file_cannot_be_written_with_refuses_the_export(
    logs: wb.LogDirectory, tmp_path: Path
) -> None:
    browser = RecordBrowser(logs, mask=lambda _, data: data[:1])
    sent: list[dict[str, Any]] = []
    browser.send = lambda content, _buffers=None: sent.append(content)
    wanted = {"path": str(tmp_path / "found.csv"), "format": "csv"}
    browser.receive(browser, {"kind": "export", "id": 7, **wanted}, [])
    assert "give rules of a mask" in sent[0]["text"], sent
    assert not (tmp_path / "found.csv").exists()


def test_an_export_that_is_stopped_leaves_nothing(logs: wb.LogDirectory, tmp_path: Path) -> None:
    export = Export(logs.scan(), str(tmp_path / "all.jsonl"))
    export.cancel()
    export.run()
    assert (export.status, export.records) == ("canceled", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_word_is_completed_with_paths_only_where_values_are_shown(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=False)
    ended(browser)
    assert ask(browser, "complete", text="$.se", at=4)["completions"] == []
    browser.show_values = True
    found = ask(browser, "complete", text="paid or $.se", at=12)["completions"]
    assert [(start, text) for start, text, _ in found] == [(8, "$.secret")]
    masked = RecordBrowser(logs, topic="orders", show_values=True, mask=lambda *_: b"hidden")
    ended(masked)
    assert ask(masked, "complete", text="$.se", at=4)["completions"] == []


def test_what_was_not_searched_is_said_and_an_unknown_topic_is_a_problem(
    logs: wb.LogDirectory,
) -> None:
    folder = Path(logs["orders-0"].path)
    (folder / f"{LOG}.deleted").write_bytes(batch([Record(0, START, b"k", b"c4242")]))
    browser = RecordBrowser(wb.open_log_directory(folder.parent), topic="orders", query="c4242")
    result = ended(browser)
    assert result["found"] == 0
    assert result["not_searched"].startswith("not searched: 1 file that is out of use; the first")
    browser.query = "topic=ordres"
    assert browser.result["problem"] == "unknown topic ordres; did you mean orders?"
    browser.query = "total_cents > 5"
    assert "$.total_cents > 5" in browser.result["problem"]


def test_all_topics_are_searched_at_once() -> None:
    logs = wb.open_log_directory(SAMPLE)
    browser = RecordBrowser(logs, topic="", query="assam")
    browser.wait(60)
    found = logs.scan(where="assam")
    assert browser.result["found"] == found.count() > 0
    assert {row[0] for row in browser.result["rows"]} <= set(logs)
    assert browser.describe().startswith("RecordBrowser(all topics with assam: ")
    assert "topics" not in browser.code["python"].replace("scan(", "")
    browser.selected = {"partition": "customers-0", "segment": None, "position": None, "offset": 1}
    assert browser.topic == ""
    browser.partition = "orders-0"
    assert browser.topic == "orders"


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_records_are_those_that_a_consumer_of_the_isolation_level_gets(
    golden: Callable[[str], Case], level: Any
) -> None:
    logs = wb.open_log_directory(golden("4.2.0-txn").directory("data"))
    browser = RecordBrowser(logs, topic="", isolation_level=level)
    browser.wait(60)
    scan = logs.scan(isolation_level=level, include_internal=True)
    assert browser.result["found"] == scan.count()
    assert "include_internal=True" in browser.code["python"]
    assert (f'isolation_level="{level}"' in browser.code["python"]) == (level == "read_committed")


def test_the_chart_keeps_the_whole_time_of_the_topic() -> None:
    logs = wb.open_log_directory(SAMPLE)
    browser = RecordBrowser(logs, topic="orders", query="key:O-48212")
    browser.wait(60)
    assert unpack(browser.result["counts"]).sum() == browser.result["found"] < 10
    assert unpack(browser.result["whole"]["counts"]).sum() == logs.scan(topics="orders").count()
    browser.query = "offset:10..20"
    browser.wait(60)
    assert unpack(browser.result["whole"]["counts"]).sum() == logs.scan(topics="orders").count()
    browser.topic = "customers"
    browser.query = ""
    browser.wait(60)
    assert unpack(browser.result["whole"]["counts"]).sum() == logs.scan(topics="customers").count()


FIELDS = ["time", "$.id", "value", "key$.none", "$.secret"]


def test_fields_are_columns_of_what_is_shown(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders", columns=FIELDS, show_values=True)
    browser.wait(30)
    row = browser.result["rows"][4]
    assert row[7] == {
        "$.id": ["2", "text"],
        "key$.none": ["", "quiet"],
        "$.secret": ["tea", "text"],
    }
    assert ask(browser, "fields")["paths"] == ["$.id", "$.secret"]
    profile = ask(browser, "profile", run=browser.result["run"])
    assert profile["of"] == 200
    numbers = profile["columns"]["$.id"]
    assert (numbers["distinct"], numbers["low"], numbers["high"]) == (100, 0, 99)
    assert sum(numbers["bins"]) == 200
    secret = {"none": 0, "distinct": 1, "top": [["tea", 200, '$.secret="tea"']]}
    assert profile["columns"]["$.secret"] == secret
    assert profile["columns"]["key$.none"] == {"none": 200, "distinct": 0}


def test_what_is_hidden_is_in_no_column_and_no_profile(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders", columns=FIELDS, show_values=False)
    browser.wait(30)
    assert {cell[0] for row in browser.result["rows"] for cell in row[7].values()} == {"hidden"}
    assert ask(browser, "fields")["paths"] == []
    assert set(ask(browser, "profile", run=browser.result["run"])["columns"]) == set()


@pytest.mark.parametrize("rule", ["value drop", "value hash", "value.secret hash", "value first 4"])
def test_what_is_masked_is_in_no_column_no_profile_and_no_completion(
    logs: wb.LogDirectory, rule: str
) -> None:
    rules = f"orders {rule}"
    browser = RecordBrowser(logs, topic="orders", columns=FIELDS, show_values=True, mask=rules)
    browser.wait(30)
    assert {cell[0] for row in browser.result["rows"] for cell in row[7].values()} == {""}
    profile = ask(browser, "profile", run=browser.result["run"])["columns"]
    assert profile["$.secret"] == {"none": 200, "distinct": 0}
    assert "tea" not in str((browser.result, profile, ask(browser, "fields")))
    assert ask(browser, "complete", text="$.se", at=4)["completions"] == []


def test_a_mask_that_leaves_json_has_the_columns_that_are_left(logs: wb.LogDirectory) -> None:
    def without_secret(column: str, data: bytes) -> bytes:
        return b'{"id": 1}' if column == "value" else data

    browser = RecordBrowser(
        logs, topic="orders", columns=FIELDS, show_values=True, mask=without_secret
    )
    browser.wait(30)
    assert ask(browser, "fields")["paths"] == ["$.id"]
    assert browser.result["rows"][9][7]["$.id"] == ["1", "text"]
    assert browser.result["rows"][9][7]["$.secret"] == ["", "quiet"]


def test_decoded_values_have_columns() -> None:
    browser = RecordBrowser(SAMPLE, topic="__consumer_offsets", show_values=True)
    browser.wait(30)
    paths = ask(browser, "fields")["paths"]
    assert {"$.data.offset", "key$.data.group"} <= set(paths)
    browser.columns = ["key$.data.group", "$.data.offset"]
    fields = [row[7] for row in browser.result["rows"]]
    assert any(each["$.data.offset"][0].isdecimal() for each in fields)
    assert any(each["key$.data.group"][0] for each in fields)


def test_a_column_that_is_none_is_refused(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders")
    with pytest.raises(traitlets.TraitError, match=r"no column 'valu' \(expected partition, "):
        browser.columns = ["valu"]
    browser.columns = ["$.a", "$.a"]
    assert browser.columns == ["$.a"]


VALUES = (
    *(b'{"n": %d, "who": "%s"}' % (each, who) for each, who in ((10, b"b"), (9, b"B"), (10, b"a"))),
    b'{"n": 9.5}', b'{"n": "ten"}', b'{"n": null}', b"{}", b"not JSON", b"\xff", b'{"n": true}',
    b'{"n": 9007199254740993}', b'{"n": 9007199254740992}', b'{"n": [3, 4]}',
    b'{"n": 9007199254740993}',
)  # fmt: skip


@pytest.fixture
def mixed(tmp_path: Path) -> wb.LogDirectory:
    """Return a topic whose field ``n`` is of every kind."""
    with wb.LogManager([str(tmp_path)]) as manager:
        log = manager.get_or_create_log("mixed-0")
        log.append([(1000 + at, None, value) for at, value in enumerate(VALUES)])
    return wb.open_log_directory(tmp_path)


NUMBERS = [1, 3, 0, 2, 11, 10, 13]  # equal ones in the order of the log
TEXTS, NONE = [12, 4, 9], [5, 6, 7, 8]


@pytest.mark.parametrize("newest_first", [False, True])
def test_records_are_sorted_by_a_field(mixed: wb.LogDirectory, *, newest_first: bool) -> None:
    browser = RecordBrowser(mixed, order="$.n", newest_first=newest_first, show_values=True)
    rows = [int(row[1]) for row in ended(browser)["rows"]]
    up, down = [*NUMBERS, *TEXTS, *NONE], [10, 13, 11, 0, 2, 3, 1, *TEXTS[::-1], *NONE]
    assert rows == (down if newest_first else up)
    sql = [row[2] for row in outcome(browser.code["sql"]).fetchall()]
    some = [3, 0, 4]  # SQL goes by place where values are equal, and has no order of integers
    assert [each for each in sql if each in some] == [each for each in rows if each in some]
    assert ask(browser, "place", partition="mixed-0", offset="13")["row"] == rows.index(13)
    browser.order = "$.who"
    assert [int(row[1]) for row in ended(browser)["rows"]][:3] == (
        [0, 1, 2] if newest_first else [2, 0, 1]
    )


def test_records_are_sorted_by_any_column(logs: wb.LogDirectory) -> None:
    browser = RecordBrowser(logs, topic="orders", show_values=True)
    values = [row[4][0] for row in ended(browser)["rows"]]
    browser.order = "value"
    assert [row[4][0] for row in ended(browser)["rows"]][:8] == sorted(values)[:8]
    browser.order = "headers"
    assert ended(browser)["count"] == 200
    browser.order = "partition"
    assert {row[0] for row in ended(browser)["rows"]} == {"orders-0"}
    with pytest.raises(
        traitlets.TraitError, match=r"no column 'price' \(expected partition, offset"
    ):
        browser.order = "price"


def test_hidden_values_are_not_sorted_by(logs: wb.LogDirectory) -> None:
    with pytest.raises(traitlets.TraitError, match="sorted by value only while values are shown"):
        RecordBrowser(logs, order="value", show_values=False)
    browser = RecordBrowser(logs, topic="orders", order="$.id", show_values=True)
    ended(browser)
    browser.show_values = False
    assert browser.order == "time"
    assert [row[1] for row in ended(browser)["rows"]][:4] == ["0", "0", "1", "1"]
    masked = RecordBrowser(logs, mask=lambda _n, _b: b"{}", show_values=True, order="$.secret")
    assert [row[1] for row in ended(masked)["rows"]][:3] == ["0", "1", "2"]


def test_values_are_read_as_people_read_them(tmp_path: Path) -> None:
    """By the rule of the command line: text, JSON, the schemas of `_schemas`, hex for the rest."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    stored = [b"plain text", b'{"a": 1}', "Grüße".encode(), b"\x00\xff", b"a\x7fb", b"\x1b[1mbold"]
    records = [Record(at, START, b"k", each) for at, each in enumerate(stored)]
    (folder / LOG).write_bytes(batch(records))
    browser = RecordBrowser(tmp_path)
    ended(browser)
    rows = ask(browser, "rows", run=browser.result["run"], start=0, stop=9)["rows"]
    texts = ["plain text", '{"a": 1}', "Grüße", "0x00ff", "0x617f62", "\x1b[1mbold"]
    assert [row[4][0] for row in rows] == texts
    shop = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
    own = RecordBrowser(shop, topic="__consumer_offsets")
    ended(own)
    first = ask(own, "rows", run=own.result["run"], start=0, stop=1)["rows"][0]
    assert first[3][0].startswith('{"')


def test_records_of_several_brokers_say_whose_they_are() -> None:
    """Broker 1 wrote n1 at the offset at which broker 2 still has m1."""
    brokers = [SAMPLE.parent / "two-brokers" / f"broker{node}" for node in (1, 2)]
    logs = wb.open_log_directory(brokers)
    browser = RecordBrowser(logs, show_values=True)
    browser.order = "offset"
    rows = ended(browser)["rows"]
    for number, path in enumerate(brokers, 1):
        own = wb.open_log_directory(path).scan().to_arrow().to_pylist()
        mine = [row for row in rows if row[7]["broker"][0] == str(number)]
        assert [(row[1], row[4][0]) for row in mine] == [
            (str(each["offset"]), each["value"].decode()) for each in own
        ]
        for row in mine:
            assert logs[row[0]].path == str(path / "ledger-0")
            told = ask(browser, "record", partition=row[0], offset=row[1])["record"]
            assert told["value"]["text"] == row[4][0]
            assert rows[ask(browser, "place", partition=row[0], offset=row[1])["row"]] == row
    assert len({row[0] for row in rows}) == 2
    browser.partition = "ledger-0"
    assert {row[7]["broker"][0] for row in ended(browser)["rows"]} == {"1"}
    (row, *_) = ended(RecordBrowser(brokers[0]))["rows"]
    assert len(row) == 7  # of one broker, none is named
