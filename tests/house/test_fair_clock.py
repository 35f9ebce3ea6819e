"""The clock of a busy machine counts what threads waited for a core, also once they have ended."""

import hashlib
import threading
from pathlib import Path

import psutil
import pytest

from tests.fair_clock import Line
from tests.waiting import wait_until


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux alone counts it")
def test_what_threads_waited_is_not_lost_when_they_end() -> None:
    over, line = threading.Event(), Line()

    def compute() -> None:
        while not over.is_set():
            hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 20_000)  # without the GIL

    threads = [threading.Thread(target=compute) for _ in range(4 * (psutil.cpu_count() or 1))]
    before = line.waited()
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: line.waited() > before + 0.2)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    seen = line.waited()
    assert seen > before + 0.2
    assert line.waited() >= seen
