import html
import re
import shlex
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.program import run
from tests.log_manager.managers import Managed
from tests.trees import snapshot

SHOP = Path("sample_data/shop-4.3.1")


@pytest.fixture(name="page", scope="module")
def page_(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    before = snapshot(SHOP)
    assert run("report", SHOP, "-o", path).code == 0
    assert snapshot(SHOP) == before
    return path.read_text()


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def test_the_parts_have_the_numbers_of_their_commands(page: str) -> None:
    text = _text(page)
    logs = wb.open_log_directory(SHOP)
    assert f"T{logs.preflight().summary[1:]}. Made" in text
    for row in logs.stuck().to_pylist():
        assert f"{row['topic']}-{row['partition']} {row['what']} {row['holder']}" in text
    for row in logs.inspect.group_lags().to_pylist():
        assert f"{row['group']} {row['topic']}-{row['partition']} {row['verdict']}" in text
    largest = max(logs.topics, key=lambda topic: sum(
        file.size for p in logs.values() if p.topic == topic for file in p.files))  # fmt: skip
    sizes = text.partition("What fills the disk? topic")[2]
    assert sizes.split("moving ")[1].startswith(largest)


def test_every_command_in_the_page_is_one_that_runs(page: str) -> None:
    commands = {html.unescape(each) for each in re.findall(r"<code>(.*?)</code>", page)}
    assert len(commands) == 8  # two parts are of stuck, two of preflight
    for command in commands:
        assert run(*shlex.split(command)[1:]).code < 3, command


def test_it_needs_no_network_and_no_script(page: str) -> None:
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert "default-src 'none'" in page


def test_no_key_or_value_is_in_it_and_hostile_names_are_escaped(tmp_path: Path) -> None:
    with Managed(tmp_path / "data").manager as manager:
        manager.get_or_create_log("orders-0").append([(b"PRIVATE-KEY", b"PRIVATE-VALUE")])
    path = tmp_path / "data" / "orders-0" / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-3] + b"<x>")
    (tmp_path / "data" / "<img src=x onerror=alert(1)>\x1b[31m").mkdir()
    page = wb.open_log_directory(tmp_path / "data").report(deep=True)
    assert "PRIVATE" not in page
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[31m" in page
    assert "crc" in page


def test_it_is_not_written_into_what_it_reads(tmp_path: Path) -> None:
    with Managed(tmp_path / "data").manager as manager:
        manager.get_or_create_log("orders-0")
    outcome = run("report", tmp_path / "data", "-o", tmp_path / "data" / "report.html")
    assert outcome.code == 3
    (tmp_path / "report.html").write_text("before")
    assert run("report", tmp_path / "data", "-o", tmp_path / "report.html").code == 3
    assert (tmp_path / "report.html").read_text() == "before"
