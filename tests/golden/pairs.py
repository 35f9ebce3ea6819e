"""Pairs of log directories: as a broker found it when it started, and as it left it at its stop.

A pair says with which configuration and when the broker ran, and what else was done to the
directory meanwhile (records deleted by a client), so that the engine can be given the same.
"""

import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.golden.cases import CASES, Case
from workbench.config.broker_rules import BrokerRules

OFFSETS: Final = "__consumer_offsets"
SMALL_OFFSETS: Final = "offsets|groups"  # cases for which that topic was given small segments
INTERNAL: Final = {
    "__transaction_state": {"cleanup.policy": "compact", "segment.bytes": "104857600"},
    OFFSETS: {"cleanup.policy": "compact", "segment.bytes": "104857600"},
}
CLEANED: Final = ("r-compact-delete",)
REMOVED: Final = ("message.format.version",)  # no configuration of 4.2
KINDS: Final = r"crash|damage-(clean|unclean)|damage$|interrupted-swap|retention"
PAIRED: Final = tuple(case.name for case in CASES if re.match(KINDS, case.kind))


@dataclass(frozen=True)
class Pair:
    """One start of a broker.

    Attributes:
        case: the archive's name.
        label: of the directory before, within the case.
        version: the broker's.
        before, after: the directories.
        broker: configuration of the broker, by its dotted names: only what concerns logs.
        topics: configuration of the topics, by their dotted names.
        now: when it ran, ms since the epoch: the time of its stop.
        refusals: topics that a broker does not start with, and what it says.
        delete_records: offsets before which a client had records deleted, by topic; -1 is all.
        retains: whether retention ran.
    """

    case: str
    label: str
    version: str
    before: Path
    after: Path
    broker: Mapping[str, str]
    topics: Mapping[str, Mapping[str, str]]
    now: int
    refusals: Mapping[str, str] = field(default_factory=dict)
    delete_records: Mapping[str, int] = field(default_factory=dict)
    retains: bool = False

    @property
    def name(self) -> str:
        """Case and directory: "4.2.0-crash-produce-1/torn-before"."""
        return f"{self.case}/{self.label}"

    @property
    def number(self) -> tuple[int, ...]:
        """The version, to compare with (2, 8)."""
        return tuple(int(part) for part in self.version.split("."))

    @property
    def rules(self) -> BrokerRules:
        """The rules of the version."""
        return BrokerRules.of(self.version)

    def config_of(self, topic: str) -> dict[str, str]:
        """Return the configuration of a topic."""
        found = self.topics.get(topic) or INTERNAL.get(topic) or self.topics.get("every topic")
        return dict(found or {})


def copy_directory(pair: Pair, into: Path, refused: Collection[str] = ()) -> Path:
    """Copy the directory before with its file times, and return the path of the copy.

    Left out are a killed broker's lock, topics that stop a broker, those that a cleaner cleaned
    meanwhile, and a `meta.properties` from before there were cluster ids.

    Args:
        pair: says which directory.
        into: where to put the copy.
        refused: more topics to leave out.
    """
    left_out = [".lock", *(f"{topic}-0" for topic in (*pair.refusals, *refused))]
    if pair.retains:
        left_out += [f"{topic}-0" for topic in CLEANED]
    if pair.number < (2, 8):
        left_out.append("meta.properties")
    shutil.copytree(pair.before, into / "data", ignore=shutil.ignore_patterns(*left_out))
    return into / "data"


def single_topics(pair: Pair, into: Path) -> dict[str, Path]:
    """Copy each topic of the directory before into a directory of its own; return them by topic."""
    made = {}
    for folder in sorted(path for path in pair.before.iterdir() if path.is_dir()):
        topic = folder.name.removesuffix("-0")
        made[topic] = into / topic
        shutil.copytree(folder, made[topic] / folder.name)
        _copy_shared(pair, made[topic])
    return made


def _copy_shared(pair: Pair, target: Path) -> None:
    """Copy the files that lie beside the folders of partitions."""
    left_out = {".lock", "meta.properties"} if pair.number < (2, 8) else {".lock"}
    for path in pair.before.iterdir():
        if path.is_file() and path.name not in left_out:
            shutil.copy2(path, target)


def pairs_of(case: Case) -> Iterator[Pair]:
    """Yield the pairs of a case; topics that stop a broker are in `refusals`, see `refusals_of`."""
    broker, topics = _config(case)
    for label in case.labels:
        after = label.replace("before", "after").replace("kill", "after")
        if after == label or after not in case.labels or label.startswith("fatal/"):
            continue
        directory = case.directory(label)
        yield Pair(
            case.name,
            label,
            case.version,
            directory,
            case.directory(after),
            broker,
            topics,
            _time_of(case.directory(after)),
            refusals=_refusals(case, label),
            delete_records=_deleted(case),
            retains=case.kind == "retention",
        )


def trials_of(case: Case) -> Iterator[tuple[str, Pair, bool]]:
    """Yield the trials of damage-directory: name, pair, and whether the broker came up and stayed.

    Where it did not, `after` is what it left then.
    """
    broker, topics = _config(case)
    for name, outcome in case.info["headline"]["outcome"].items():
        label = f"{name}/before"
        if label not in case.labels:
            continue
        before = case.directory(label)
        after = case.path / name / "after"
        now = (
            max(file.stat().st_mtime_ns for file in before.iterdir() if file.is_file()) // 1_000_000
        )
        stayed = outcome["started"] and not outcome.get("died_later", False)
        yield name, Pair(case.name, label, case.version, before, after, broker, topics, now), stayed


def refusals_of(case: Case, into: Path) -> Iterator[tuple[Pair, Path, str]]:
    """Yield what stops a broker, each topic in a directory made for it, and the broker's words."""
    for pair in pairs_of(case):
        alone = dict(single_topics(pair, into / pair.label)) if pair.refusals else {}
        for topic, words in pair.refusals.items():
            yield pair, alone[topic], words
        if pair.label == "before":
            for topic, fatal in case.info["headline"].get("fatal", {}).items():
                made = into / topic
                shutil.copytree(case.path / "fatal" / topic / "before", made)
                _copy_shared(pair, made)
                yield pair, made, fatal["log"]


def _time_of(directory: Path) -> int:
    return (directory / "recovery-point-offset-checkpoint").stat().st_mtime_ns // 1_000_000


def _config(case: Case) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    info = case.info
    if "config" in info:
        broker = dict(info["config"]["broker"])
        topics = {name: dict(config) for name, config in info["config"]["topics"].items()}
    else:
        starts = [step["config"] for step in info["steps"] if "start" in step and "config" in step]
        broker = dict(starts[-1])
        topics = {name: dict(topic["config"]) for name, topic in info["topics"].items()}
    for config in topics.values():
        for name in ("partitions", *REMOVED):
            config.pop(name, None)
    broker = {name: value for name, value in broker.items() if name.startswith("log.")}
    if re.match(SMALL_OFFSETS, case.kind):
        topics[OFFSETS] = INTERNAL[OFFSETS] | {"segment.bytes": "3000"}
    _late_settings(case, topics)
    return broker, topics


def _late_settings(case: Case, topics: dict[str, dict[str, str]]) -> None:
    """Put in what was configured while the case was made."""
    for step in case.info["steps"]:
        what = str(step.get("do", "")) if isinstance(step, dict) else ""
        found = re.match(r"(\S+): retention\.bytes = .* = (\d+)$", what)
        if found:
            topics[found[1]]["retention.bytes"] = found[2]


def _refusals(case: Case, label: str) -> dict[str, str]:
    refused: dict[str, list[dict[str, Any]]] = case.info.get("broker_refused", {})
    mode = label.removesuffix("-before")
    words = {one["topic"]: "\n".join(one["log"]) for one in refused.get(mode, [])}
    # One 0.9 broker had no memory for the size that garbage told: 4.2 asks for none.
    return {topic: text for topic, text in words.items() if "OutOfMemoryError" not in text}


def _deleted(case: Case) -> dict[str, int]:
    for step in case.info["steps"]:
        found = (
            re.match(r"DeleteRecords before offset (.*)", str(step.get("do", "") if step else ""))
            if isinstance(step, dict)
            else None
        )
        if found:
            return {
                name.rsplit("-", 1)[0]: offset
                for name, offset in zip(DELETED, _numbers(found[1]), strict=True)
            }
    return {}


DELETED: Final = (
    "records-deleted-0", "records-deleted-all-0", "records-deleted-mid-0",
    "records-deleted-idem-0", "epochs-0",
)  # fmt: skip
"""In the order of the offsets in the step; its answers, by name, tell where each log then began."""


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", text)]
