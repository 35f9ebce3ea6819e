"""kafka-python's integration tests, of its source distribution, against a writable server.

Its tests of TLS and SASL start brokers of their own (`tests/server/test_security.py` does that with
our server), all others run. The distribution lacks `test/service.py`, which starts processes: here
the server runs already.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from tests.peers.fetched import installed, sources_of
from tests.peers.served import Outcome, assert_as_expected, writable_server

_NO_AUTHORIZER = "the server has no authorizer; the tests' broker has one"
REFUSED: Final = {
    "test_create_describe_delete_acls": _NO_AUTHORIZER,
    "test_kafka_consumer_offsets_for_time_old": "skips itself: it asks what 0.10.0 cannot answer",
}
"""Test → why it does not pass."""

_REQUIREMENTS: Final = Path(__file__).with_name("kafka_python") / "requirements.txt"
_SERVICE: Final = """
class ExternalService:
    def __init__(self, host, port):
        pass

class SpawnedService:
    pass
"""


@pytest.mark.slow
def test_kafka_python_finds_a_broker(tmp_path: Path) -> None:
    with writable_server(tmp_path / "data") as server:
        outcomes = _run(tmp_path, server.where)
    assert len(outcomes) >= 55
    assert_as_expected(outcomes, REFUSED)


def _run(folder: Path, where: str) -> dict[str, Outcome]:
    """Run the tests in a folder; return how each ended."""
    shutil.copytree(sources_of("kafka-python") / "test", folder / "test")
    (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text(_SERVICE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {
        **os.environ,
        "KAFKA_ROOT": str(folder),
        "KAFKA_URI": f"kafka://{where}",
        "KAFKA_VERSION": "4.2.0",
        "PYTHONPATH": os.pathsep.join([str(folder), str(installed(_REQUIREMENTS))]),
    }
    files = [f"test/integration/test_{name}_integration.py" for name in _FILES]
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=short",
        "--junit-xml=outcomes.xml",
    )
    command = [sys.executable, "-m", "pytest", *options, *files]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    cases = ET.parse(folder / "outcomes.xml").iter("testcase")  # noqa: S314
    return {case.attrib["name"]: _outcome(case) for case in cases}


_FILES: Final = ("admin", "consumer", "producer")


def _outcome(case: ET.Element) -> Outcome:
    for child in case:
        if child.tag in {"failure", "error", "skipped"}:
            word = "skipped" if child.tag == "skipped" else "failed"
            return Outcome(word, f"{child.get('message')}\n{child.text}"[-2000:])
    return Outcome("passed")
