import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]
SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"


HEX = ("--key-format", "hex", "--value-format", "hex")


def records(golden: Golden) -> tuple[Any, list[dict[str, Any]]]:
    directory = golden("4.2.0-plain-java").directory("data")
    return directory, run("dump", directory, "--json", *HEX, "--include-internal").lines


def test_keys_and_values_are_found_by_expression_text_and_hex(golden: Golden) -> None:
    directory, everything = records(golden)
    key = next(r["key"] for r in everything if r["key"] and bytes.fromhex(r["key"]).isascii())
    mine = [r for r in everything if r["key"] is not None and key in r["key"]]
    by_hex = run("search", directory, "--key", key, "--hex", "--json", *HEX)
    assert by_hex.code == 0
    assert {r["offset"] for r in mine} == {r["offset"] for r in by_hex.lines}
    text = bytes.fromhex(key).decode()
    by_text = run("search", directory, "--key", text, "--literal", "--json", *HEX)
    by_expression = run("search", directory, "--key", re.escape(text), "--json", *HEX)
    assert by_text.lines == by_hex.lines == by_expression.lines
    whole = run("search", directory, "--key", f"^{re.escape(text)}$", "--json", *HEX).lines
    assert whole == [r for r in everything if r["key"] == key]
    upper = run("search", directory, "--key", text.upper(), "--literal", "-i", "--json", *HEX).lines
    assert {r["offset"] for r in whole} <= {r["offset"] for r in upper}


def test_headers_are_found_by_name_and_value(golden: Golden) -> None:
    directory, everything = records(golden)
    record = next(r for r in everything if any(v for _, v in r["headers"]))
    name, value = next((n, v) for n, v in record["headers"] if v)
    named = run("search", directory, "--header", name, "--json", *HEX).lines
    assert named == [r for r in everything if name in [n for n, _ in r["headers"]]]
    both = run("search", directory, "--header", f"{name}={value}", "--hex", "--json", *HEX).lines
    assert both == [
        r for r in everything if any(n == name and v and value in v for n, v in r["headers"])
    ]


def test_tombstones_have_a_key_and_no_value(golden: Golden) -> None:
    directory = golden("4.2.0-compact-tombstones").directory("before1")
    everything = run("dump", directory, "--json").lines
    found = run("search", directory, "--tombstones", "--json").lines
    assert found == [r for r in everything if r["key"] is not None and r["value"] is None]
    assert found


def test_nothing_found_is_code_1_and_a_count_alone_can_be_had(golden: Golden) -> None:
    directory, everything = records(golden)
    nothing = run("search", directory, "--value", "there is no such value", "--json")
    assert (nothing.code, nothing.out) == (1, "")
    counted = run("search", directory, "--value", "", "--count", "--json")
    assert counted.json["count"] == sum(r["value"] is not None for r in everything)
    limited = run("search", directory, "--value", "", "--limit", "3", "--json", *HEX)
    assert limited.lines == [r for r in everything if r["value"] is not None][:3]


def test_values_are_shown_until_they_are_hidden(golden: Golden) -> None:
    directory = golden("4.2.0-txn").directory("data")
    shown = run("search", directory, "-t", "txn-a", "--value", "sigma")
    assert "txn-a-0" in shown.out
    assert "sigma" in shown.out
    assert "records found" in shown.err
    for form in ((), ("--json",)):
        hidden = run("search", directory, "--value", "sigma", "--hide-values", *form)
        assert hidden.out
        assert "sigma" not in hidden.out


@pytest.mark.parametrize(
    "arguments", [("--key", "("), ("--key", "xyz", "--hex"), ("--hex", "--literal")]
)
def test_a_pattern_without_a_meaning_is_refused(arguments: tuple[str, ...], golden: Golden) -> None:
    outcome = run("search", golden("4.2.0-txn").directory("data"), *arguments)
    assert outcome.code == 3
    assert outcome.out == ""


def test_the_last_argument_that_is_no_path_is_looked_for_in_keys_and_values(
    golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = golden("4.2.0-txn").directory("data")
    everything = run("dump", directory, "--json", *HEX, "--include-internal").lines
    expected = [
        record
        for record in everything
        if any(b"sigma" in bytes.fromhex(record[part] or "") for part in ("key", "value"))
    ]
    assert 0 < len(expected) < len(everything)
    assert run("search", directory, "sigma", "--json", *HEX).lines == expected
    assert run("search", directory, "[[[", "--literal").code == 1
    found = run("search", directory, "sigma", "--count")
    assert found.out == f"{len(expected)}\n"
    assert "0 records found for 'no such'" in run("search", directory, "no such").err
    assert run("search", directory, "nowhere", "--value", "sigma").code == 3  # a path, then
    monkeypatch.chdir(tmp_path)
    shutil.copytree(directory, "sigma")
    assert len(run("search", directory, "sigma", "--json").lines) == 2 * len(everything)


def test_where_takes_the_queries_of_the_record_browser() -> None:
    logs = open_log_directory(SHOP)
    asked = "$.ship_to.city:portland assam", "key:O-4 time:2024-11-25 partition:0,2", "offset:5"
    for query in asked:
        wanted = logs.scan(topics="orders", where=query).count()
        assert wanted > 0
        found = run("search", SHOP, "-t", "orders", "--where", query, "--count")
        assert int(found.out) == wanted
    both = run("search", SHOP, "-t", "orders", "-w", "teapot", "--key", "^O-482", "--json")
    assert both.lines
    assert all(each["key"].startswith("O-482") for each in both.lines)
    refused = run("search", SHOP, "--where", "key:/(/")
    assert refused.code != 0
    assert "--where: character 5: /(/ is not a regular expression" in refused.err
