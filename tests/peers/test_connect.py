"""Connect copies the lines of a file through the server into another file, over a restart."""

import shutil
from pathlib import Path

import pytest

from tests.peers.java_peers import JavaProcess, write_properties
from tests.ports import free_ports
from tests.server.conftest import SHOP
from tests.server.served_process import ServedProcess

pytestmark = [pytest.mark.broker, pytest.mark.slow]

STRINGS = "org.apache.kafka.connect.storage.StringConverter"


def test_lines_of_a_file_come_out_once_in_another(tmp_path: Path) -> None:
    """The second run begins where the first ended: at stored and at committed offsets."""
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    data = tmp_path / "data"
    shutil.copytree(SHOP, data)
    sink.touch()
    with ServedProcess(data, "--writable") as server:
        for count in (1000, 2000):
            source.write_text("".join(f"line {number}\n" for number in range(count)))
            size = source.stat().st_size
            with copying(server.where, source, sink) as connect:
                connect.wait_until(lambda size=size: sink.stat().st_size >= size)  # type: ignore[misc]
    assert sink.read_text() == source.read_text()


def copying(where: str, source: Path, sink: Path) -> JavaProcess:
    folder = source.parent
    (port,) = free_ports(1)
    worker: dict[str, object] = {
        "bootstrap.servers": where,
        "key.converter": STRINGS,
        "value.converter": STRINGS,
        "listeners": f"http://127.0.0.1:{port}",
        "offset.storage.file.filename": folder / "offsets",
    }
    both = {"tasks.max": 1}
    connectors: dict[str, dict[str, object]] = {
        "source": {"connector.class": "FileStreamSource", "file": source, "topic": "lines"},
        "sink": {"connector.class": "FileStreamSink", "file": sink, "topics": "lines"},
    }
    files = [write_properties(folder / "worker.properties", worker)] + [
        write_properties(folder / f"{name}.properties", {"name": name, **both, **each})
        for name, each in connectors.items()
    ]
    main_class = "org.apache.kafka.connect.cli.ConnectStandalone"
    return JavaProcess(main_class, *files, log=folder / "connect.log")
