"""Open a broker's directory with the engine, append to every log, and be killed: a process.

Arguments: the directory, and a file with what is written so far, which is renewed before the end.
"""

import os
import pickle
import signal
import sys
from pathlib import Path

from tests.brokers.written import TOPICS, Expected, Writer, open_manager
from workbench.runtime.clock import ManualClock


def main(data: Path, state: Path) -> None:
    """Append two batches to each log but those named in the state, then die by SIGKILL."""
    now, left_alone, written = pickle.loads(state.read_bytes())  # noqa: S301 - our own
    clock = ManualClock(now)
    manager = open_manager(data, clock)
    manager.startup()
    after: dict[str, Expected] = {}
    for topic in TOPICS:
        expected: Expected = written[topic.name]
        writer = Writer(manager, topic.name, clock, has_epochs=True)
        writer.expected = expected
        log = writer.log
        assert (log.log_start_offset, log.log_end_offset) == (expected.begin, expected.end), topic
        if topic.name not in left_alone:
            epoch = log.leader_epochs.latest_epoch or 0
            writer.send(3, epoch=epoch)
            writer.send(2, "gzip", epoch=epoch)
        writer.finish()
        after[topic.name] = expected
    state.write_bytes(pickle.dumps(after))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
