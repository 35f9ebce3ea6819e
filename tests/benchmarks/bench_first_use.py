"""A fresh process: import, open, first records; with a warm cache of compiled kernels."""

import subprocess
import sys
import time

from tests.benchmarks.measure import generated, table

ROUNDS = 5
STEPS = {
    "import": "import workbench",
    "list a directory": "import workbench; workbench.open_log_directory(PATH).listing",
    "first records": "import workbench as w; w.open_log_directory(PATH).scan(limit=100).to_arrow()",
    "batch table": "import workbench; workbench.open_log_directory(PATH).inspect.batches()",
}


def main() -> None:
    """Print the table."""
    folder = generated("none", 100, 96 << 20).parent
    rows = []
    for name, code in STEPS.items():
        command = [sys.executable, "-c", code.replace("PATH", repr(str(folder)))]
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            subprocess.run(command, check=True)
            times.append(time.perf_counter() - start)
        rows.append([name, f"{min(times):.2f} s"])
    table("a fresh process, wall", ["up to", "time"], rows)


if __name__ == "__main__":
    main()
