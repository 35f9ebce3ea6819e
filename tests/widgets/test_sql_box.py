"""SQL in a box: what the command runs, with its limits; nothing of a result is kept."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from widgets import SqlBox
from workbench.loaders.sql.completion import columns_of
from workbench.loaders.sql.run import TABLES

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
WAIT_S = 120


@pytest.fixture(name="box", scope="module")
def box_() -> Iterator[SqlBox]:
    box = SqlBox(SHOP)
    yield box
    box.close()


def asked(box: SqlBox, query: str) -> dict[str, object]:
    box.answer_run(query)
    box.wait(WAIT_S)
    return dict(box.answer_state()[0])


def rows(box: SqlBox, order: int = -1, *, is_down: bool = False) -> list[list[object]]:
    number = box.get_state("_run")["_run"]["number"]
    return list(box.answer_rows(number, 0, 100, order, is_down=is_down)[0]["rows"])


def test_it_begins_with_what_can_be_named(box: SqlBox) -> None:
    asked(box, "show tables")
    assert ["orders", "topic", "3 partitions"] in rows(box)


def test_a_result_has_the_rows_of_the_command_and_is_sorted(box: SqlBox) -> None:
    found = asked(box, "select partition, count(*) as n from orders group by all")
    assert (found["status"], found["count"], found["problem"]) == ("done", 3, "")
    assert found["columns"] == [["partition", True], ["n", True]]
    assert sum(int(str(n)) for _, n in rows(box)) == 5200
    assert [each[0] for each in rows(box, 0)] == [0, 1, 2]
    assert [each[0] for each in rows(box, 0, is_down=True)] == [2, 1, 0]
    assert "logs.sql(" in box.code["python"]
    assert box.code["command"].startswith("kafka-workbench sql '")


def test_numbers_that_a_front_end_would_round_are_text(box: SqlBox) -> None:
    numbers = "9007199254740993", "-12345678901234567890.5::decimal(30, 1)", "'nan'::double", "0.5"
    wanted = [["-12345678901234567890.5"], [0.5], ["9,007,199,254,740,993"], ["NaN"]]
    for number, cell in zip(numbers, [wanted[2], wanted[0], wanted[3], wanted[1]], strict=True):
        asked(box, f"select {number} as n")
        assert rows(box) == [cell]
    values = "(9007199254740993), (-12345678901234567890.5), (0.5)"
    asked(box, f"select n::decimal(30, 1) as n from (values {values}) as t(n)")  # noqa: S608 - ours
    assert rows(box, 0) == wanted[:3]


def test_it_reads_nothing_else_and_writes_nothing(box: SqlBox, tmp_path: Path) -> None:
    for query in (
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        f"copy (select 1) to '{tmp_path}/x.csv'",
        "select 1; select 2",
        "install httpfs",
    ):
        found = asked(box, query)
        assert found["status"] == "failed", query
        assert found["count"] == 0
    assert not list(tmp_path.iterdir())


def test_a_query_that_runs_is_interrupted(box: SqlBox) -> None:
    box.answer_run(
        "select count(*) from range(100000000000) a, range(1000) b where a.range > b.range"
    )
    assert box.answer_state()[0]["status"] == "running"
    box.answer_cancel()
    box.wait(WAIT_S)
    assert box.answer_state()[0]["status"] == "canceled"


def test_hidden_values_are_in_no_result(box: SqlBox) -> None:
    asked(box, "select value.ship_to.city as city from orders limit 5")
    assert len(rows(box)) == 5
    box.show_values = False
    assert rows(box) == []
    assert "Values are hidden" in str(box.answer_state()[0]["problem"])
    for query in ("select * from keys", "select 1 from inspect.groups", "from orders"):
        assert asked(box, query)["status"] == "failed"
    assert asked(box, "select topic, sum(size) from segments group by all")["status"] == "done"
    assert box.answer_complete("select value.sh from orders", 15)[0]["completions"] == []
    box.show_values = True


def test_rules_of_a_mask_hold_and_a_function_is_refused() -> None:
    query = "select distinct key from orders"
    for mask, said in (("orders key drop", [[None]]), (lambda _, data: data, [])):
        masked = SqlBox(SHOP, mask=mask)
        state = asked(masked, query)
        assert rows(masked) == said
        assert ("is a function" in str(state["problem"])) == (said == [])
        masked.close()


def test_nothing_of_a_result_is_in_a_saved_notebook(box: SqlBox) -> None:
    asked(box, "select value.ship_to.city from orders limit 50")
    city = str(rows(box)[0][0])
    assert city not in json.dumps(box.get_state(), default=str, ensure_ascii=False)


def test_names_of_tables_columns_and_fields_are_completed(box: SqlBox) -> None:
    def words(text: str) -> list[str]:
        at = text.index("|")
        found = box.answer_complete(text.replace("|", ""), at)[0]["completions"]
        return [word for _, word, _ in found]

    assert words("select * from ord|") == ["orders"]
    assert '"payments-eu"' in words("select * from |") or "payments" in words("select * from pay|")
    assert words("select base_off| from segments") == ["base_offset"]
    assert words("select off| from orders")[0] == '"offset"'
    assert "value.ship_to" in words("select value.sh| from orders")
    assert all(columns_of(table) for table in TABLES)
    assert words("|") == []
