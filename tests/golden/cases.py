"""The golden cases: what real brokers left on disk, and what clients and Kafka's tool saw in it.

`CASES` lists them without opening an archive; `open_case` extracts one. A `Case` hides that the
cases up to 2.3.1 (and `upgrade-chain`) and the later ones differ: the old ones have dumps by
several versions of the tool and a file of its own for read_committed, the later ones have log
directories two folders deep (``trial1/after``) and both isolations in one file.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.golden.archive import extract
from tests.golden.dump_text import Dump

ARCHIVES = Path(__file__).parent / "archives"
OLD_VERSIONS = {
    "k0.8.2": "0.8.2.2",
    "k0.9": "0.9.0.1",
    "k0.10.0": "0.10.0.1",
    "k0.10.2": "0.10.2.2",
    "k0.11": "0.11.0.3",
    "k1.0": "1.0.2",
    "k1.1": "1.1.1",
    "k2.3": "2.3.1",
}

Isolation = Literal["read_uncommitted", "read_committed"]


class CaseName(NamedTuple):
    """A case that is in the archives."""

    name: str  # "4.2.0-compact-basic"; also the archive's name
    version: str  # of the broker: "4.2.0"; of the last broker for `upgrade-chain`
    kind: str  # what follows the version: "compact-basic", "formats", "damage-clean"…


def _parse(name: str) -> CaseName:
    if name == "upgrade-chain":
        return CaseName(name, "3.9.1", name)
    prefix, _, kind = name.partition("-")
    return CaseName(name, OLD_VERSIONS.get(prefix, prefix), kind)


CASES = tuple(
    _parse(path.name.removesuffix(".tar.xz")) for path in sorted(ARCHIVES.glob("*.tar.xz"))
)


def names(kind: str = "", *, version: str = "") -> list[str]:
    """Return the names of the cases whose kind matches the regular expression from its start."""
    return [
        case.name
        for case in CASES
        if re.match(kind, case.kind) and case.version.startswith(version)
    ]


def era(case: CaseName) -> str:
    """Return the era of a case's broker: the magic of its messages, or where its metadata are."""
    number = tuple(int(part) for part in case.version.split("."))
    if number < (0, 11):
        return "magic 0" if number < (0, 10) else "magic 1"
    return "ZooKeeper" if number < (3, 0) else "KRaft"


def asked_again(cases: Iterable[CaseName]) -> set[str]:
    """Return the names of the cases of whose kind and era another one is newer."""
    newest: dict[tuple[str, str], CaseName] = {}
    found = set()
    for case in sorted(cases, key=lambda case: [int(part) for part in case.version.split(".")]):
        question = re.sub(r"^(crash-produce)-\d$", r"\1", case.kind), era(case)
        if question in newest:
            found.add(newest[question].name)
        newest[question] = case
    return found


def open_case(name: str, into: Path) -> "Case":
    """Extract a case below ``into``, with the file times the broker left, and return it.

    Raises:
        FileNotFoundError: no archive has this name.
    """
    extract(ARCHIVES / f"{name}.tar.xz", into / name)
    return Case(into / name)


class Case:
    """One extracted case. Do not change its files: a test session extracts a case only once.

    Attributes:
        path: the folder that holds everything.
        name, version, kind: as in `CaseName`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.version, self.kind = _parse(path.name)

    def __repr__(self) -> str:
        return f"Case({self.name!r})"

    @cached_property
    def info(self) -> dict[str, Any]:
        """case.json: purpose, config, every step, headline figures (another set in each kind)."""
        info: dict[str, Any] = json.loads((self.path / "case.json").read_text())
        return info

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Log directories as paths below `path`, in the order of their names.

        ``fatal/TOPIC/before`` (one topic that stopped a broker) count; ``tier`` (remote storage)
        does not.
        """
        return tuple(sorted(_find_log_directories(self.path, "")))

    def directory(self, label: str) -> Path:
        """Return the path of a log directory; give it to ``open_log_directory``."""
        if label not in self.labels:
            raise LookupError(f"{self.name} has no {label!r}, only {', '.join(self.labels)}")
        return self.path / label

    def truth(self) -> list[dict[str, Any]]:
        """Return what producers were acknowledged, in the order sent.

        Keys: topic, partition, offset, timestamp (0.10 on), key and value (hex or None), headers;
        2.8 on: producerId, producerEpoch, txn, or ``error`` and ``message`` instead of an offset;
        before: producer, tag (the outcome of the transaction). A key or value above 4096 bytes is
        given as ``value_len`` and ``value_sha256``. Empty for the cases that have none.
        """
        return self.rows("truth")

    def consumed(
        self, isolation: Isolation = "read_uncommitted", label: str | None = None
    ) -> list[dict[str, Any]]:
        """Return what a consumer read from the broker that stood on a log directory.

        Only what was read in that isolation: topics without transactions were often read once,
        read_uncommitted.

        Args:
            isolation: the consumer's.
            label: one of `consumed_labels`; may be left out when there is one only.
        """
        if label is None:
            if len(self.consumed_labels) > 1:
                raise LookupError(f"{self.name}: which of {', '.join(self.consumed_labels)}?")
            label = next(iter(self.consumed_labels), "")
        rows = []
        for name, belongs_to in self._consumed_files().items():
            if belongs_to == label:
                of_file = "read_committed" if name.endswith("-committed") else "read_uncommitted"
                rows += [
                    row for row in self.rows(name) if row.get("isolation", of_file) == isolation
                ]
        return rows

    @cached_property
    def consumed_labels(self) -> tuple[str, ...]:
        """Labels for which a consumer's reading is stored.

        With several brokers or log.dirs it is their common part, ``after`` for ``after/broker1``.
        """
        return tuple(sorted(set(self._consumed_files().values())))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of ``NAME.jsonl`` as dicts; empty when the case has no such file.

        Beside truth and consumed: positions (log end and where a consumer ended), bytime
        (offsetsForTimes), commits, committed (offsets sent, and served), rejected, deleterecords.
        """
        path = self.path / f"{name}.jsonl"
        if not path.exists():
            return []
        with path.open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    def dump(self, label: str, version: str | None = None) -> Dump:
        """Return what DumpLogSegments printed about a log directory.

        Args:
            label: one of `labels`.
            version: the tool's, one of `dump_versions`; None takes the broker's own if there is
                one, otherwise the only other one.

        Raises:
            LookupError: that directory was not dumped.
        """
        found = self._dump_files(label)
        if version is None:
            version = next((v for v in (label.partition("-")[2], self.version) if v in found), None)
        if version is None and len(found) == 1:
            version = next(iter(found))
        if version not in found:
            raise LookupError(f"{self.name}: {label} has dumps of {sorted(found)}, not {version}")
        path = found[version]
        return Dump(
            path,
            version,
            prefix=f"{label}/" if path.stem.startswith("data-") and label != "data" else "",
        )

    def dump_versions(self, label: str) -> tuple[str, ...]:
        """Return the versions of DumpLogSegments whose text is stored for a log directory."""
        return tuple(sorted(self._dump_files(label)))

    def _dump_files(self, label: str) -> dict[str, Path]:
        own = {
            path.stem.removeprefix(f"{label.replace('/', '-')}-"): path
            for path in (self.path / "dump").glob(f"{label.replace('/', '-')}-*.txt")
        }
        found = {version: path for version, path in own.items() if re.fullmatch(r"[\d.]+", version)}
        if not found and self.kind == "damage-directory":  # one text about all its directories
            return {self.version: self.path / "dump" / f"data-{self.version}.txt"}
        return found

    def _consumed_files(self) -> dict[str, str]:
        """Return name without suffix → label of every stored reading."""
        return {
            path.stem: self._label_of_consumed(path.stem)
            for path in sorted(self.path.glob("*consumed*.jsonl"))
        }

    def _label_of_consumed(self, name: str) -> str:
        if name.endswith("-consumed"):  # damage-directory
            return name.removesuffix("-consumed") + "/after"
        which = name.removesuffix("-committed").removeprefix("consumed").removeprefix("-")
        if which == "":
            return "data" if "data" in self.labels else "after"
        if which == "2":
            return "later" if "later" in self.labels else "after2"
        for label in (which, f"{which}/after", f"{which}-after"):
            if label in self.labels:
                return label
        return next(label for label in self.labels if label.endswith(f"-{which}"))  # upgrade-chain


def _find_log_directories(folder: Path, label: str) -> Iterator[str]:
    """Yield the labels of the folders that hold partition directories, or a broker's own files."""
    entries = sorted(folder.iterdir()) if label != "tier" else []
    if any(
        entry.name == "meta.properties"
        or (
            entry.is_dir()
            and re.fullmatch(r".+-\d+(\.[0-9a-f]+-[a-z]+)?", entry.name)
            and any(entry.glob("*.log*"))
        )
        for entry in entries
        if label
    ):
        yield label
        return
    for entry in entries:
        if entry.is_dir() and entry.name != "dump":
            yield from _find_log_directories(
                entry, f"{label}/{entry.name}" if label else entry.name
            )
