"""Let real brokers start on the damaged directories, and write down what they did.

    python -m tests.startup.make 4.2.0 [DAMAGE ...]
    python -m tests.startup.make base 3.7.2

Without names, the damages whose base the version can read. Needs java and mvn, as `kafka_broker`.
`base` makes the small sound directory of a version. The outcomes are added to `outcomes/VERSION.json`: whether the broker started, the exception that
ended it, and the folders that it left.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from tests.golden.archive import pack
from tests.kafka_broker import Broker, java_command, run_java
from tests.startup.damages import DAMAGES, METADATA, Damage, open_base

BASES_FOLDER: Final = Path(__file__).parent / "bases"
OUTCOMES: Final = Path(__file__).parent / "outcomes"
SECONDS: Final = 75  # a broker that neither started nor ended by then waits for something
WAITS_MS: Final = 20_000  # for a controller
SETTLED: Final = 2.0  # seconds in which a started broker makes the folders of its partitions
BASES: Final = {
    "4": ("plain", "disks", "raft", "dynamic", "zookeeper", "3.7", "3.9"),
    "3.9": ("3.9", "3.7"),
    "3.7": ("3.7",),
}
STARTED: Final = re.compile(rb"Kafka Server started")
FATAL: Final = re.compile(
    r"(?:Exiting Kafka due to fatal exception|Fatal error during .* startup|"
    r"Encountered fatal fault: .*|Error while starting.*|because all log dirs.*)"
)
THROWN: Final = re.compile(r"^(?:Caused by: )?([a-z][\w.]*\.[A-Z][\w$]*)(?:: (.*))?$", re.MULTILINE)


class Trial(Broker):
    """A broker on a directory that is as it is: nothing is formatted."""

    def try_to_start(self) -> str:
        """Return "started", "ended" or "waits"."""
        self.log.unlink(missing_ok=True)
        properties = self.folder / "server.properties"
        settings = self._default_settings() | self.settings
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._process = self._launch("kafka.Kafka", properties, self.heap)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if not self.is_running:
                return "ended"
            if STARTED.search(self.log.read_bytes()):
                time.sleep(SETTLED)
                return "started" if self.is_running else "ended later"
            time.sleep(0.2)
        return "waits"


def outcome_of(version: str, damage: Damage, folder: Path) -> dict[str, Any]:
    """Start a broker on a damaged copy, and return what it did."""
    root = open_base(damage.base, folder / "base")
    damage.change(root)
    ports = {"node.id": str(damage.node_id)}
    directories = [root / name for name in damage.log_dirs]
    trial = Trial(version, folder / "broker", ports)
    voter = f"{damage.node_id}@127.0.0.1:{trial._second_port}"  # noqa: SLF001
    voters = "bootstrap.servers" if damage.base == "dynamic" else "voters"
    trial.settings |= {
        f"controller.quorum.{voters}": voter.split("@")[1] if voters != "voters" else voter,
        "log.dirs": ",".join(map(str, directories)),
        "initial.broker.registration.timeout.ms": str(WAITS_MS),
    }
    if damage.base == "dynamic":
        trial.settings["controller.quorum.voters"] = ""
    how = trial.try_to_start()
    trial._end(signal.SIGKILL)  # noqa: SLF001
    text = trial.log.read_text(errors="replace").replace(str(root), "")
    found: dict[str, Any] = {"how": how}
    if how != "started":
        found["exception"], found["message"] = _thrown(text)
    found["folders"] = {
        name: sorted(
            re.sub(r"\.[0-9a-f]{32}-", ".*-", path.name)
            for path in (root / name).iterdir()
            if path.is_dir()
        )
        for name in damage.log_dirs
        if (root / name).exists()
    }
    metadata = root / damage.log_dirs[0] / METADATA
    if metadata.exists():
        found["snapshots"] = sorted(path.name for path in metadata.glob("*.checkpoint*"))
    return found


def _thrown(text: str) -> tuple[str, str]:
    """Return class and message of the exception that ended the broker; else the last error."""
    at = FATAL.search(text)
    first = THROWN.search(text, at.end() if at else 0)
    if first is None:
        lines = [line for line in text.splitlines() if re.search(r"ERROR|FATAL", line)]
        return "", (lines or [""])[-1][:300]
    cause = [m for m in THROWN.finditer(text, first.end()) if m[0].startswith("Caused by")][:1]
    message = (first[2] or "")[:300]
    if cause:
        message += f" | {cause[0][1]}: {(cause[0][2] or '')[:200]}"
    return first[1], message


def make_base(version: str) -> None:
    """Write `bases/MAJOR.MINOR.tar.xz`: topics orders (2 partitions) and stock, a clean stop."""
    with tempfile.TemporaryDirectory() as folder:
        with Broker(version, Path(folder)) as broker:
            for topic, count in (("orders", 2), ("stock", 1)):
                done = run_java(
                    version, "org.apache.kafka.tools.TopicCommand", "--create", "--topic", topic,
                    "--partitions", str(count), "--bootstrap-server", broker.bootstrap,
                )  # fmt: skip
                assert not done.returncode, done.stderr
                sent = subprocess.run(
                    java_command(
                        version, "org.apache.kafka.tools.ConsoleProducer"
                        if version >= "4" else "kafka.tools.ConsoleProducer",
                        "--topic", topic, "--bootstrap-server", broker.bootstrap,
                    ),
                    input="".join(f"{topic} {n}\n" for n in range(10)), text=True, check=True,
                    capture_output=True,
                )  # fmt: skip
                assert not sent.returncode
        whole = broker.folder / "whole"
        whole.mkdir()
        broker.data.rename(whole / "data")
        BASES_FOLDER.mkdir(exist_ok=True)
        pack(whole, BASES_FOLDER / f"{version[:3]}.tar.xz")


def main(version: str, names: list[str]) -> None:
    """Add outcomes to the version's file."""
    OUTCOMES.mkdir(exist_ok=True)
    file = OUTCOMES / f"{version}.json"
    outcomes = json.loads(file.read_text()) if file.exists() else {}
    bases = next(bases for prefix, bases in BASES.items() if version.startswith(prefix))
    for name, damage in DAMAGES.items():
        if name not in names if names else name in outcomes or damage.base not in bases:
            continue
        folder = Path(tempfile.mkdtemp(prefix="start-"))
        try:
            outcomes[name] = outcome_of(version, damage, folder)
        finally:
            shutil.rmtree(folder)
        print(name, json.dumps(outcomes[name])[:200], flush=True)  # noqa: T201
        known = {each: outcomes[each] for each in DAMAGES if each in outcomes}
        file.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "base":
        make_base(sys.argv[2])
    else:
        main(sys.argv[1], sys.argv[2:])
