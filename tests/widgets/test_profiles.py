"""What the columns of records hold, how many there are of each value, and what differs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.log_manager.managers import Managed
from widgets import RecordBrowser
from widgets.records.profiles import BINS, profile_of, range_term, term_of

WAIT_S = 60


@pytest.fixture(name="logs", scope="module")
def logs_(tmp_path_factory: pytest.TempPathFactory) -> wb.LogDirectory:
    """600 orders, one per second; in the third hundred most are lost, and are large."""
    managed = Managed(tmp_path_factory.mktemp("made") / "shop")
    with managed.manager:
        log = managed.manager.get_or_create_log("orders-0")
        for number in range(600):
            managed.clock.advance(1000)
            is_odd = 200 <= number < 300
            order = {
                "status": "lost" if is_odd and number % 5 else "paid",
                "amount": number % 7 + (900 if is_odd else number % 90),
                "gift": number % 2 == 0,
                "number": number,
            }
            log.append([(f"k{number % 3}".encode(), json.dumps(order).encode())])
        return wb.open_log_directory(managed.manager.directories[0])


@pytest.fixture(name="browser")
def browser_(logs: wb.LogDirectory) -> Iterator[RecordBrowser]:
    view = RecordBrowser(logs, topic="orders")
    view.wait(WAIT_S)
    yield view
    view.close()


def ask(view: RecordBrowser, name: str, **options: Any) -> dict[str, Any]:
    answer, _ = getattr(view, f"answer_{name}")(run=view.result["run"], **options)
    return dict(answer)


def counted(view: RecordBrowser, column: str) -> dict[str, Any]:
    found = ask(view, "count_by", column=column, again=False)
    while not found["is_over"]:
        found = ask(view, "count_by", column=column, again=True)
    return found


def found_by(view: RecordBrowser, query: str) -> int:
    view.query = query
    view.wait(WAIT_S)
    assert not view.result["problem"]
    return int(view.result["found"])


def test_a_profile_is_of_a_sample_from_all_of_the_list(browser: RecordBrowser) -> None:
    browser.columns = ["key", "$.status", "$.amount", "$.number", "$.none", "size"]
    found = ask(browser, "profile")
    assert found["of"] == 500
    columns = found["columns"]
    assert columns["$.number"]["low"] == 0
    assert columns["$.number"]["high"] == 599  # the last record is in it, too
    assert len(columns["$.number"]["bins"]) == BINS
    assert sum(columns["$.number"]["bins"]) == 500
    assert columns["$.number"]["range"] == "$.number"
    assert columns["$.none"] == {"none": 500, "distinct": 0}
    (paid, _, term), (lost, *_) = columns["$.status"]["top"]
    assert (paid, lost, term) == ("paid", "lost", '$.status="paid"')
    assert [text for text, *_ in columns["key"]["top"]] != []


def test_the_terms_of_values_find_their_records_and_no_others(browser: RecordBrowser) -> None:
    for column in ("$.status", "key", "partition", "$.gift"):
        rows = counted(browser, column)["rows"]
        assert sum(count for _, count, _ in rows) == 600
        for _text, count, term in rows:
            assert found_by(browser, term) == count
        found_by(browser, "")
    assert found_by(browser, range_term("$.amount", 900, 906)) == 100
    assert found_by(browser, term_of("$.none", None) or "") == 600


def test_what_is_selected_is_compared_with_what_is_not(browser: RecordBrowser) -> None:
    first = browser.result["rows"][0][2]
    browser.brush = [first + 200_000.0, first + 300_000.0]
    found = ask(browser, "differences")
    assert (found["inside"], found["outside"]) == (100, 500)
    by_name = {each["name"]: each for each in found["found"]}
    assert {"$.status", "$.amount", "$.number"} <= set(by_name) <= {
        "$.status", "$.amount", "$.number", "size"
    }  # fmt: skip
    assert by_name["$.status"] == {
        "name": "$.status", "text": "lost", "inside": 0.8, "outside": 0, "term": '$.status="lost"',
    }  # fmt: skip
    assert by_name["$.amount"]["inside"] == 1
    assert found_by(browser, by_name["$.amount"]["term"]) > 0
    browser.brush = []
    assert ask(browser, "differences")["found"] == []


def test_what_is_hidden_is_neither_counted_nor_compared(browser: RecordBrowser) -> None:
    first = browser.result["rows"][0][2]
    browser.brush = [first + 200_000.0, first + 300_000.0]
    browser.columns = ["key", "$.status", "size"]
    browser.show_values = False
    for column in ("key", "$.status"):
        with pytest.raises(ValueError, match="only while values are shown"):
            ask(browser, "count_by", column=column, again=False)
    assert {each["name"] for each in ask(browser, "differences")["found"]} <= {"size", "partition"}
    assert set(ask(browser, "profile")["columns"]) == {"size"}
    told = json.dumps([browser.get_state(["_result", "_live", "_choices"])], default=str)
    assert "lost" not in told


def test_nothing_of_a_profile_is_in_a_saved_notebook(browser: RecordBrowser) -> None:
    browser.columns = ["$.status"]
    ask(browser, "profile")
    counted(browser, "$.status")
    assert "lost" not in json.dumps(browser.get_state(), default=str)


def test_truth_numbers_and_texts_are_different_values() -> None:
    found = profile_of("$.a", [True, True, 1, "1", None, [1, 2], [1, 2]])
    assert found["none"] == 1
    assert found["distinct"] == 4
    assert found["top"] == [
        ["true", 2, "$.a=true"], ["[1, 2]", 2, '$.a="[1, 2]"'], ["1", 1, "$.a=1"],
        ["1", 1, '$.a="1"'],
    ]  # fmt: skip
    assert "top" not in profile_of("key", ["a", "b", "c"])  # nothing is common
    assert "low" not in profile_of("$.a", [float("nan"), 1])
