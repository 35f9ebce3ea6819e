"""A session that nothing of the workbench has touched knows the format."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.java_home import ensure_java

pytestmark = pytest.mark.spark

SHOP = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
CODE = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").getOrCreate()
frame = spark.read.format("kafka-log").option("assign", '{"orders":[0]}').load(sys.argv[1])
print(frame.count())
assert not [name for name in sys.modules if name.partition(".")[0] == "workbench"]
"""


def test_a_plain_session_knows_the_format(tmp_path: Path) -> None:
    ensure_java()
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(SHOP)],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["1588"], done.stderr
