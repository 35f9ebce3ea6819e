import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import run
from tests.golden.cases import Case
from workbench.inspection.findings import Finding
from workbench.log_directory import open_log_directory

Golden = Callable[[str], Case]
KEYS = [
    "kind",
    "severity",
    "path",
    "position",
    "offset",
    "found",
    "expected",
    "broker",
    "kafka",
    "lost",
    "removed_at_start",
]
SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_a_sound_directory_gives_an_empty_list_and_code_0(golden: Golden) -> None:
    partition = golden("4.2.0-txn").directory("data") / "txn-b-1"
    outcome = run("verify", partition, "--json")
    assert outcome.json == []
    assert outcome.code == 0
    assert run("verify", partition).out == (
        "A broker of Kafka 4.2 is assumed: "
        "metadata.version in bootstrap.checkpoint is 29, of 4.2.\n"
        "nothing wrong\nchecked 1 partition, 5 segments, 6,745 bytes\n"
    )


def test_findings_are_those_of_the_library_and_errors_give_code_2() -> None:
    outcome = run("verify", SAMPLES / "damaged", "--json")
    findings = [Finding(*list(each.values())[:-3]) for each in outcome.json]
    assert findings == open_log_directory(str(SAMPLES / "damaged")).verify()
    assert all(list(each) == KEYS for each in outcome.json)
    assert outcome.code == 2
    assert outcome.err == ""


@pytest.mark.parametrize(
    ("folder", "severity", "code"),
    [("torn-tail-0", "warning", 1), ("flipped-byte-0", "error", 2), ("healthy-0", None, 0)],
)
def test_the_worst_severity_is_the_exit_code(folder: str, severity: str | None, code: int) -> None:
    outcome = run("verify", SAMPLES / "damaged", "--partition", folder, "--json")
    assert outcome.code == code
    assert {each["severity"] for each in outcome.json} == ({severity} if severity else set())
    assert all(f"/{folder}/" in each["path"] for each in outcome.json)


def test_information_is_told_when_asked_for_and_does_not_count(
    golden: Golden, tmp_path: Path
) -> None:
    copy = tmp_path / "txn-b-1"
    shutil.copytree(golden("4.2.0-txn").directory("data") / "txn-b-1", copy)
    (copy / "notes.txt").write_text("remember")
    outcome = run("verify", copy, "--json", "--info")
    assert {each["severity"] for each in outcome.json} == {"info"}
    assert outcome.code == 0
    assert run("verify", copy, "--json").json == []
    assert open_log_directory(copy).verify() == []
    assert open_log_directory(copy).verify(info=True)
    assert "--info" in run("verify", copy).out


def test_text_says_what_a_broker_would_do() -> None:
    folder = SAMPLES / "damaged" / "torn-tail-0"
    outcome = run("verify", folder)
    finding = open_log_directory(folder).verify()[0]
    assert finding.found in outcome.out
    assert finding.broker in outcome.out
    assert outcome.out == "\n".join(line.rstrip() for line in outcome.out.splitlines()) + "\n"
