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
    plain = page.replace("<wbr>", "")  # where names break
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", plain)))


def test_the_parts_have_the_numbers_of_their_commands(page: str) -> None:
    text = _text(page)
    logs = wb.open_log_directory(SHOP)
    assert "A broker starts, and within minutes retention deletes" in text
    for row in logs.stuck().to_pylist():
        assert f"{row['topic']}-{row['partition']} {row['what']} {row['holder']}" in text
    for row in run("stuck", SHOP, "--json").json["groups"]:
        assert f"{row['group']} {row['topic']}-{row['partition']} {row['verdict']}" in text
    largest = max(logs.topics, key=lambda topic: sum(
        file.size for p in logs.values() if p.topic == topic for file in p.files))  # fmt: skip
    sizes = text.partition("What fills the disk?")[2]
    assert "more are in files of no topic" in sizes.partition("moving ")[0]
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


@pytest.mark.parametrize("name", ["shop-4.3.1", "damaged", "era-0.8.2.2"])
def test_the_depth_of_the_check_is_said_as_it_was(name: str) -> None:
    logs = wb.open_log_directory(Path("sample_data") / name)
    unchecked = "CRCs and records were not checked"
    deep, shallow = _text(logs.report(deep=True)), _text(logs.report())
    assert unchecked in shallow
    assert unchecked not in deep
    assert ("every CRC was checked" in deep) == (not logs.verify())


def test_it_is_not_written_into_what_it_reads(tmp_path: Path) -> None:
    with Managed(tmp_path / "data").manager as manager:
        manager.get_or_create_log("orders-0")
    outcome = run("report", tmp_path / "data", "-o", tmp_path / "data" / "report.html")
    assert outcome.code == 3
    (tmp_path / "report.html").write_text("before")
    assert run("report", tmp_path / "data", "-o", tmp_path / "report.html").code == 3
    assert (tmp_path / "report.html").read_text() == "before"


def test_the_metadata_log_is_krafts_own_and_defaults_are_called_defaults(page: str) -> None:
    text = _text(page)
    assert "__cluster_metadata-0 10 KiB – KRaft's own" in text
    assert "not loaded" not in text
    assert "Groups by lag Lags are judged over the hour before the newest commit, what has" in text
    assert "defaults are assumed" not in text
    old = _text(wb.open_log_directory(SHOP.parent / "era-0.10.2.2").report())
    assert "hold no configuration: Kafka's defaults are assumed, such as retention.ms" in old


def test_of_several_brokers_it_says_first_whether_their_replicas_agree() -> None:
    brokers = [SHOP.parent / "two-brokers" / f"broker{node}" for node in (1, 2)]
    page = wb.open_log_directory(brokers).report(deep=True)
    text = _text(page)
    assert "ledger-0 loses committed records. Keep the replica of broker 1" in text
    assert "No broker starts" not in text
    assert "0 errors" in text
    assert re.findall(r"<h2 id=.*?>(.*?)</h2>", page)[:2] == [
        "Do the replicas agree?",
        "What is damaged?",
    ]
    for node in (1, 2):
        assert f"Broker {node}: A broker starts" in text
        assert f"Broker {node}: Will the topics be served?" in text
    commands = {html.unescape(each) for each in re.findall(r"<code>(.*?)</code>", page)}
    runs = {one for each in commands for one in each.split("; ") if " cluster " not in one}
    assert len(runs) > 10
    for command in runs:  # no directory here has a metadata log
        assert run(*shlex.split(command)[1:]).code < 3, command
