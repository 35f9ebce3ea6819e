"""What the documents say of Spark is true: their code and the jobs run."""

import re
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.cli.program import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark.md").read_text()
QUESTIONS = (ROOT / "docs" / "questions.md").read_text()
SHOP = ROOT / "sample_data" / "shop-4.3.1"
LOG = str(ROOT / "sample_data" / "damaged" / "healthy-0")


@pytest.mark.spark
def test_the_page_on_spark_runs(spark: Any, tmp_path: Path) -> None:
    (block,) = re.findall(r"```text\n(spark\.read.*?)```", PAGE, re.DOTALL)
    code = " ".join(block.split()).replace("s3://backup/broker-1", str(SHOP))
    assert eval(code, {"spark": spark}).count() > 0  # noqa: S307 - the page is ours
    (cell,) = re.findall(r"`(spark\.read[^`]+)`", QUESTIONS)
    assert eval(cell, {"spark": spark, "DIR": str(SHOP)}).count() > 0  # noqa: S307 - it is ours
    jobs = re.findall(r"^    kafka-workbench (spark .+?) *#", PAGE, re.MULTILINE)
    assert len(jobs) == 6
    words = {**dict.fromkeys(("DIR", "LEFT", "RIGHT"), LOG), "…": ""}
    words |= {each: str(tmp_path / each) for each in ("OUT", "TABLE")}
    for job in jobs:
        outcome = run(*filter(None, (words.get(word, word) for word in job.split())))
        assert outcome.code == 0, outcome.err


@pytest.mark.spark
def test_the_spark_of_the_documents_runs(
    spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for path in sorted((ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"^```pyspark\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
        code = compile("\n".join(blocks), path.name, "exec")
        exec(code, {"spark": spark, "wb": wb})  # noqa: S102 - the text is ours
    printed = capsys.readouterr().out
    assert "|        0| 1588|" in printed
    assert "largest value: 519" in printed
