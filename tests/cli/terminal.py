"""Run the command line as somebody at a terminal does."""

import os
import pty
import subprocess
import sys


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """Return what the program prints when a terminal reads it; variables are of its environment."""
    reader, writer = pty.openpty()
    program = [sys.executable, "-m", "workbench.cli.main", *arguments]
    environment = {**os.environ, "COLUMNS": "400", "TERM": "xterm", **variables}
    with subprocess.Popen(
        program, stdout=writer, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(writer)
        shown = b""
        while True:
            try:
                data = os.read(reader, 1 << 16)
            except OSError:  # EIO: the program closed its end
                break
            if not data:
                break
            shown += data
        process.wait()
    os.close(reader)
    return shown.decode()
