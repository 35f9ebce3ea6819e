"""An interpreter that ends while its server runs, and answers."""

import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.server.asking import Asker
from tests.server.conftest import SHOP
from tests.server.served_process import ServedProcess
from tests.waiting import HANGS_AFTER_S
from workbench.files.names import CLEAN_SHUTDOWN
from workbench.server.protocol.api_keys import METADATA

CLIENTS: Final = 4
PROGRAM: Final = """
import sys
import workbench as wb

server = wb.serve(sys.argv[1], writable=sys.argv[2] == "writable")
server.start()
print(server.bootstrap_servers, flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("kind", ["read-only", "writable"])
def test_a_server_stops_cleanly_with_the_interpreter(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder)
    (folder / CLEAN_SHUTDOWN).unlink()
    ready = threading.Barrier(CLIENTS + 1, timeout=HANGS_AFTER_S)

    def ask(where: str) -> None:
        with suppress(OSError, AssertionError), Asker(where) as asker:  # until the server has gone
            for _ in range(2):
                asker.ask(METADATA, 9, {"topics": None})
            ready.wait()
            while True:
                asker.ask(METADATA, 9, {"topics": None})

    command = [sys.executable, "-c", PROGRAM, str(folder), kind]
    if kind == "writable":
        command[2] = PROGRAM.replace("writable=", "recover=True, writable=")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        where = process.stdout.readline().strip()
        clients = [threading.Thread(target=ask, args=(where,)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        ready.wait()
        _, errors = process.communicate("end\n", timeout=HANGS_AFTER_S)
        for client in clients:
            client.join()
    assert (process.returncode, errors) == (0, "")
    assert (folder / CLEAN_SHUTDOWN).exists() == (kind == "writable")


def test_a_signal_ends_a_server_whose_output_nobody_reads(tmp_path: Path) -> None:
    """Its lines fill the pipe, so it waits there; it stops cleanly all the same."""
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder)
    with ServedProcess(folder, "--writable") as running:
        with Asker(running.where) as asker:
            for _ in range(1000):  # each takes more than 64 bytes of 64 KiB
                asker.ask(METADATA, 9, {"topics": [{"name": "orders"}]})
        running.process.terminate()
        assert running.process.wait(HANGS_AFTER_S) == 0
    assert (folder / CLEAN_SHUTDOWN).exists()
