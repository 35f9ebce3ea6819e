"""Real Kafka brokers of any version on loopback, and Java programs against their class path.

A test tool, also used by ``sample_data/make``. Brokers come from their Maven artifacts, resolved
once per version; from 3.3 on a broker is a KRaft node of its own, before that a ZooKeeper of the
same class path is beside it. Needs ``java``, ``javac`` and ``mvn`` (Java 17 runs 0.8.2 to 4.x).

    with Broker("4.2.0", folder) as broker:
        ...  # clients connect to broker.bootstrap
    print(dump_log_segments("4.2.0", sorted(broker.data.glob("orders-0/*.log"))))

Everything listens on 127.0.0.1 only.
"""

import base64
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.ports import free_ports

CACHE = Path(
    os.environ.get("KAFKA_BROKER_CACHE", Path.home() / ".cache" / "kafka-log-workbench" / "java")
)
SHORT_LIVED = (  # brokers here live for seconds: compile fast, not well
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
)
JVM_OPTIONS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
)
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>workbench</groupId><artifactId>broker</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>{dependencies}</dependencies></project>
"""
# Never on Maven Central, and needed for JMX alone.
EXCLUDED_GROUPS = ("com.sun.jdmk", "com.sun.jmx", "javax.jms")
CLASS_PATH_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"
KRAFT_SINCE = (3, 3)
FORMATTED = ("meta.properties", "bootstrap.checkpoint")  # what Kafka's tool writes
START_SECONDS = 120
STOP_SECONDS = 120
ZOOKEEPER_SESSION_SECONDS = 4


def _random_id() -> str:
    """Return an id as Kafka's tool makes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def parse_version(version: str) -> tuple[int, ...]:
    """Return "0.10.2.2" as (0, 10, 2, 2), to compare with (0, 11)."""
    return tuple(int(part) for part in version.split("."))


class Artifact(NamedTuple):
    """What Maven resolves."""

    group: str
    name: str
    version: str
    classifier: str = ""


def _artifacts(version: str) -> list[Artifact]:
    """Return broker, tools, a logger, and what a newer JDK lacks."""
    number = parse_version(version)
    scala = "2.13" if number >= (2, 4) else "2.12" if number >= (1, 0) else "2.11"
    wanted = [Artifact("org.apache.kafka", f"kafka_{scala}", version)]
    if (2, 0) <= number < (2, 4):  # its own ZooKeeper fails on Java 14 and later
        wanted.insert(0, Artifact("org.apache.zookeeper", "zookeeper", "3.5.9"))
    if number >= (0, 10):
        wanted.append(Artifact("org.apache.kafka", "kafka-tools", version))
    if number >= (4, 0):
        wanted.append(Artifact("org.slf4j", "slf4j-simple", "1.7.36"))
    elif number >= (3, 7) or (3, 1) <= number < (3, 2):  # 3.1.2 has reload4j itself
        wanted.append(Artifact("org.slf4j", "slf4j-reload4j", "1.7.36"))
    elif number >= (0, 9):
        wanted.append(Artifact("org.slf4j", "slf4j-log4j12", "1.7.25"))
        wanted.append(Artifact("log4j", "log4j", "1.2.17"))
    if (0, 10, 1) <= number < (1, 0):
        wanted.append(Artifact("javax.xml.bind", "jaxb-api", "2.3.1"))
    return wanted


def resolve(
    stored: Path, artifacts: Iterable[Artifact], excluded: Iterable[str] = EXCLUDED_GROUPS
) -> str:
    """Return a class path; resolved by Maven once, and kept in a file.

    Args:
        stored: the file, in a folder of its own.
        artifacts: what is on the path, with what it depends on.
        excluded: groups of artifacts that are not.

    Raises:
        RuntimeError: Maven is missing or could not resolve an artifact; its words are in the error.
    """
    if stored.exists():
        path = stored.read_text().strip()
        if all(Path(jar).exists() for jar in path.split(os.pathsep)):
            return path
    if shutil.which("mvn") is None:
        raise RuntimeError("mvn is not installed (Debian: apt install maven)")
    exclusions = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"
        for group in excluded
    )
    dependencies = "".join(
        f"<dependency><groupId>{each.group}</groupId><artifactId>{each.name}</artifactId>"
        f"<version>{each.version}</version><classifier>{each.classifier}</classifier>"
        f"<exclusions>{exclusions}</exclusions></dependency>"
        for each in artifacts
    )
    stored.parent.mkdir(parents=True, exist_ok=True)
    pom = stored.with_name("pom.xml")
    pom.write_text(POM.format(dependencies=dependencies))
    command = ["mvn", "-q", "-B", "-f", str(pom), CLASS_PATH_GOAL, f"-Dmdep.outputFile={stored}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Maven did not resolve {pom}:\n{done.stdout}{done.stderr}")
    return stored.read_text().strip()


def class_path(version: str) -> str:
    """Return the class path of a broker with its clients and tools.

    Raises:
        RuntimeError: see `resolve`.
    """
    return resolve(CACHE / version / "classpath", _artifacts(version))


def java_home() -> Path:
    """Return the folder of the JDK whose ``java`` is run."""
    return Path(shutil.which("java") or "java").resolve().parents[1]


def java_command(
    version: str,
    main_class: str,
    *arguments: str,
    heap: str = "512m",
    classes: Path | None = None,
    also: str = "",
    flags: Sequence[str] = SHORT_LIVED,
) -> list[str]:
    """Return the command that runs a class of a Kafka version.

    Args:
        version: the version.
        main_class: its class, or one in ``classes`` or ``also``.
        arguments: those of the class.
        heap: the JVM's.
        classes: the folder of compiled classes.
        also: a class path beside that of the version.
        flags: those of the JVM that decide how it compiles and collects.
    """
    log4j = CACHE / "log4j.properties"
    if not log4j.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        log4j.write_text(LOG4J)
    parts = [str(classes or ""), class_path(version), also]
    path = os.pathsep.join(filter(None, parts))
    settings = (f"-Xmx{heap}", f"-Dlog4j.configuration={log4j.as_uri()}")
    return ["java", *flags, *JVM_OPTIONS, *settings, "-cp", path, main_class, *arguments]


def class_archive(version: str, main_class: str, flags: Sequence[str] = SHORT_LIVED) -> Path:
    """Return the file that keeps what a class of Kafka loads; it halves the time of a start."""
    kind = "" if flags is SHORT_LIVED else "-warm"
    return CACHE / version / f"{main_class}-{java_home().name}{kind}.jsa"


def run_java(
    version: str, main_class: str, *arguments: str, classes: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a class to its end and return its output as text; the caller looks at ``returncode``."""
    command = java_command(version, main_class, *arguments, classes=classes)
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")


def dump_log_segments(version: str, files: Sequence[Path], *options: str) -> str:
    """Return what the version's own DumpLogSegments prints about files, then its standard error.

    Dump copies: the tool makes a missing ``.index`` beside a ``.timeindex``.
    """
    is_moved = parse_version(version) >= (4, 3)
    main_class = f"{'org.apache.' if is_moved else ''}kafka.tools.DumpLogSegments"
    names = ",".join(str(file) for file in files)
    done = run_java(version, main_class, *options, "--files", names)
    return done.stdout + done.stderr


def compile_java(version: str, source: str, main_class: str, also: str = "") -> Path:
    """Compile one source text against a Kafka version; return the folder of its classes.

    A line that ends in ``//@ 0.11..2.5`` is kept only when the version is at least the first and
    below the second, either of which may be left out: one client source serves all eras. The
    classes are kept until the source changes. ``also`` is a class path beside that of the version.

    Raises:
        RuntimeError: javac refused it; its words are in the error.
    """
    number = parse_version(version)

    def is_kept(line: str) -> bool:
        mark = re.search(r"//@ ([\d.]*?)\.\.([\d.]*)$", line)
        if mark is None:
            return True
        is_old_enough = not mark[1] or number >= parse_version(mark[1])
        return is_old_enough and (not mark[2] or number < parse_version(mark[2]))

    text = "\n".join(line if is_kept(line) else "" for line in source.split("\n"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    classes = CACHE / version / f"{main_class}-{digest}"
    if classes.exists():
        return classes
    working = classes.with_name(f"{classes.name}.{os.getpid()}")
    working.mkdir(parents=True)
    file = working / f"{main_class}.java"
    file.write_text(text)
    path = os.pathsep.join(filter(None, [class_path(version), also]))
    command = ["javac", "-nowarn", "-cp", path, "-d", str(working), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(working)
        raise RuntimeError(f"javac refused {main_class} for Kafka {version}:\n{done.stderr}")
    if classes.exists():  # another process was faster
        shutil.rmtree(working)
    else:
        working.rename(classes)
    return classes


class Broker:
    """One broker with its files below ``folder``: ``data`` (log.dirs), ``server.log``, ZooKeeper's.

    May be started, stopped and killed again and again on the same data; ports remain the same. As a
    context manager it is started on entry and shut down cleanly on exit. Not thread-safe.

    Args:
        version: the broker's, may be changed while it is down (an upgrade in place).
        folder: made when missing.
        settings: server.properties by their dotted names, over the defaults chosen here; also
            ``log.dirs``.
        heap: that of the broker's JVM.
        flags: see `java_command`.
    """

    def __init__(
        self,
        version: str,
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        heap: str = "512m",
        flags: Sequence[str] = SHORT_LIVED,
    ) -> None:
        self.version = version
        self.folder = folder
        self.settings = dict(settings or {})
        self.heap = heap
        self.flags = flags
        self.log = folder / "server.log"
        self.data = folder / "data"
        folder.mkdir(parents=True, exist_ok=True)
        self._port, self._second_port = free_ports(2)  # second: the controller's, or ZooKeeper
        self._was_killed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self._archives: list[Path] = []  # that the processes write when they end

    @property
    def bootstrap(self) -> str:
        """The address clients connect to, ``127.0.0.1:PORT``."""
        return f"127.0.0.1:{self._port}"

    @property
    def zookeeper(self) -> str:
        """ZooKeeper's address; below 3.3 only."""
        return f"127.0.0.1:{self._second_port}"

    @property
    def is_running(self) -> bool:
        """Whether the broker's process lives."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start and wait until the broker says it is up.

        Raises:
            RuntimeError: it ended or did not come up; the end of its log is in the error.
        """
        seen = self.log.stat().st_size if self.log.exists() else 0
        properties = self.folder / "server.properties"
        settings = self._default_settings() | self.settings
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        if parse_version(self.version) >= KRAFT_SINCE:
            self._format(properties, settings)
        elif self._zookeeper is None:
            self._start_zookeeper()
            if self._was_killed:  # ZooKeeper has to forget the dead broker's session first
                time.sleep(ZOOKEEPER_SESSION_SECONDS + 2)
        self._was_killed = False
        self._process = self._launch("kafka.Kafka", properties, self.heap, self.flags)
        started = re.compile(rb"Kafka Server started|started \(kafka\.server\.Kafka")
        deadline = time.monotonic() + START_SECONDS
        while not started.search(self.log.read_bytes()[seen:]):
            if not self.is_running or time.monotonic() > deadline:
                self.kill()
                lines = self.log.read_bytes()[seen:].decode(errors="replace").splitlines()
                told = [line for line in lines if re.search(r"ERROR|FATAL|Exception", line)]
                words = "\n".join((told or lines)[-20:])
                raise RuntimeError(f"Kafka {self.version} did not start:\n{words}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop cleanly (SIGTERM), ZooKeeper after it. Does nothing when nothing runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the broker as a crash does (SIGKILL); its ZooKeeper is stopped."""
        self._was_killed = self._was_killed or self.is_running
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        for process, its_signal in ((self._process, how), (self._zookeeper, signal.SIGTERM)):
            if process is not None and process.poll() is None:
                process.send_signal(its_signal)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    how = signal.SIGKILL
                    process.kill()
                    process.wait()
        self._process = self._zookeeper = None
        for written in self._archives:
            if how is signal.SIGKILL:  # it may be half an archive
                written.unlink(missing_ok=True)
            elif written.exists():
                written.replace(written.with_suffix(""))
        self._archives.clear()

    def _launch(
        self, main_class: str, argument: Path, heap: str, flags: Sequence[str] = SHORT_LIVED
    ) -> subprocess.Popen[bytes]:
        """Start a class. What it loads the first time is kept, which halves its later starts."""
        command = java_command(self.version, main_class, str(argument), heap=heap, flags=flags)
        java, *options = command
        archive = class_archive(self.version, main_class, flags)
        if archive.exists():
            shared = f"-XX:SharedArchiveFile={archive}"
        else:
            self._archives.append(archive.with_suffix(f".jsa.{uuid.uuid4().hex}"))
            shared = f"-XX:ArchiveClassesAtExit={self._archives[-1]}"
        command = [java, "-Xlog:disable", shared, *options]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder
            )

    def _default_settings(self) -> dict[str, str]:
        number = parse_version(self.version)
        listener = f"PLAINTEXT://{self.bootstrap}"
        settings = {"log.dirs": str(self.data), "num.partitions": "1"}
        if number >= KRAFT_SINCE:
            controller = f"127.0.0.1:{self._second_port}"
            settings |= {
                "process.roles": "broker,controller",
                "node.id": "1",
                "controller.quorum.voters": f"1@{controller}",
                "listeners": f"{listener},CONTROLLER://{controller}",
                "advertised.listeners": listener,
                "controller.listener.names": "CONTROLLER",
            }
        else:
            settings |= {"broker.id": "1", "zookeeper.connect": self.zookeeper}
            settings |= {"zookeeper.session.timeout.ms": f"{ZOOKEEPER_SESSION_SECONDS}000"}
            if number >= (0, 9):
                settings |= {"listeners": listener}
            else:
                settings |= {"host.name": "127.0.0.1", "port": str(self._port)}
        settings |= {"offsets.topic.replication.factor": "1"}
        if number >= (0, 11):
            settings |= {
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
                "group.initial.rebalance.delay.ms": "0",
            }
        if number >= (4, 0):
            settings |= {
                "share.coordinator.state.topic.replication.factor": "1",
                "share.coordinator.state.topic.min.isr": "1",
            }
        return settings

    def _format(self, properties: Path, settings: dict[str, str]) -> None:
        """Give an empty KRaft directory its cluster id.

        Kafka's tool does it for the first broker of a version; others get its files with other ids.
        """
        directory, *others = map(Path, settings["log.dirs"].split(","))
        meta, kept = directory / "meta.properties", CACHE / self.version / "formatted"
        if meta.exists():
            return
        is_usual = not others and settings["node.id"] == "1"
        if is_usual and kept.exists():
            shutil.copytree(kept, directory, dirs_exist_ok=True)
            ids = re.compile(r"^((?:cluster|directory)\.id=).*", re.MULTILINE)
            meta.write_text(ids.sub(lambda line: line[1] + _random_id(), meta.read_text()))
            return
        arguments = ("format", f"--cluster-id={_random_id()}", "-c", str(properties))
        done = run_java(self.version, "kafka.tools.StorageTool", *arguments)
        if done.returncode:
            raise RuntimeError(f"the directory was not formatted:\n{done.stdout}{done.stderr}")
        if is_usual:
            made = kept.with_name(f"formatted.{uuid.uuid4().hex}")
            made.mkdir(parents=True)
            for name in FORMATTED:
                if (directory / name).exists():
                    shutil.copy(directory / name, made)
            try:
                made.rename(kept)
            except OSError:  # another process was faster
                shutil.rmtree(made)

    def _start_zookeeper(self) -> None:
        properties = self.folder / "zookeeper.properties"
        properties.write_text(
            f"dataDir={self.folder / 'zookeeper'}\nclientPort={self._second_port}\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "tickTime=500\n"  # a session lives for two ticks at least
        )
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._zookeeper = self._launch(main_class, properties, "256m")
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._second_port), 1).close()
            except OSError as error:
                if self._zookeeper.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"ZooKeeper did not start: see {self.log}") from error
                time.sleep(0.2)
            else:
                return
