"""Compile the reader in Java into the jar that Spark loads, again only when a source changed.

Spark's own jars, of the environment's pyspark, are all that it is compiled against. Run as
`.venv/bin/python .ci/jar.py` (this is `make jar`).
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pyspark

PROJECT = Path(__file__).resolve().parent.parent
SOURCES = PROJECT / "workbench" / "spark_source" / "jvm"
JAR = SOURCES / "kafka-log.jar"
OLDEST_JAVA = "17"  # of Spark 4.0
STAMP = "META-INF/sources"


def main() -> int:
    """Make the jar if it is not there or its sources changed; return the exit status."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(Path(__file__).read_bytes() + pyspark.__version__.encode())
    for source in sources:
        digest.update(source.read_bytes())
    if read_stamp() == digest.hexdigest():
        return 0
    with tempfile.TemporaryDirectory() as folder:
        jars = Path(pyspark.__file__).with_name("jars") / "*"
        words = [
            "javac",
            "--release",
            OLDEST_JAVA,
            "-nowarn",
            "-proc:none",
            "-cp",
            str(jars),
            "-d",
            folder,
        ]
        subprocess.run([*words, *map(str, sources)], check=True)
        write(Path(folder), digest.hexdigest())
    return 0


def read_stamp() -> str:
    """Return what the jar was made from, nothing when it is not there."""
    if not JAR.is_file():
        return ""
    with zipfile.ZipFile(JAR) as jar:
        return jar.read(STAMP).decode() if STAMP in jar.namelist() else ""


def write(classes: Path, stamp: str) -> None:
    """Write the jar in one step.

    Spark looks for a class `kafka-log.DefaultSource` before it looks for a Python source of this
    name. Java's compiler takes no hyphen, so the class gets its name here.
    """
    unfinished = JAR.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(STAMP, stamp)
        for file in sorted(classes.rglob("*.class")):
            name, content = str(file.relative_to(classes)), file.read_bytes()
            if name.startswith("kafka_log/"):
                name = name.replace("kafka_log", "kafka-log")
                content = content.replace(b"kafka_log/", b"kafka-log/")
            jar.writestr(name, content)
    unfinished.replace(JAR)


if __name__ == "__main__":
    sys.exit(main())
