"""The conditions of a decision: a broker's version, configurations, and a time."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

import traitlets

from widgets._file import Answer
from widgets._widget import KafkaWidget
from widgets.queries import HEAD, opening
from workbench.config.broker_config import BROKER_NAMES
from workbench.config.definitions import TOPIC_DEFINITIONS
from workbench.config.kafka_versions import SERIES
from workbench.config.settings import Settings, parse_values
from workbench.inspection.broker_version import MeantBroker
from workbench.runtime.times import Time, milliseconds, time_text
from workbench.runtime.words import plural

_NEXT: Final = re.compile(r",\s*(?=[\w.:-]+=)")  # not within a value, such as compact,delete

AS_IT_IS: Final[dict[str, Any]] = {"config": {}, "kafka": None, "now": None}
"""The configuration of the directories, the newest version that they show, the machine's time."""


def conditions(
    config: Mapping[str, Any] | None, now: Time | None, kafka: str | None
) -> dict[str, Any]:
    """Return conditions as the trait of `Conditioned` holds them."""
    return {"config": dict(config or {}), "kafka": kafka, "now": now}


class Conditioned(KafkaWidget):
    """The base of widgets that show what a broker would do under conditions.

    Attributes:
        conditions: `AS_IT_IS`, or other values: ``config``: names of brokers and topics to values,
            a topic's own as ``"orders:retention.ms"``; ``kafka``: the broker's version; ``now``:
            the time that ages are measured by. Setting it decides again.
        query: Python code that gives what is shown. Read-only.
    """

    in_address: tuple[str, ...] = ("conditions",)
    conditions: Any = traitlets.Dict(AS_IT_IS).tag(sync=True)
    query = traitlets.Unicode(read_only=True).tag(sync=True)
    _about_conditions: Any = traitlets.Dict().tag(sync=True)
    _can_play = traitlets.Bool(default_value=False).tag(sync=True)

    def __init__(self, **options: Any) -> None:
        """Decide nothing yet."""
        self._play: Callable[[], None] = lambda: None
        self._decided: dict[str, Any] | None = None
        super().__init__(**options)

    def decide(self, given: Mapping[str, Any]) -> None:
        """Show what a broker does under these conditions; if that fails, keep what is shown."""
        raise NotImplementedError

    def under(self, given: dict[str, Any]) -> None:
        """Decide under conditions, then hold them.

        Raises:
            ConfigError: a configuration's name or value is wrong, or the version is unknown.
            LookupError: a configuration is of a topic that is not there.
            ValueError: ``now`` is not a time.
        """
        self.decide(given)
        self._decided = given
        self.conditions = given

    @traitlets.observe("conditions")
    def _follow_conditions(self, change: Any) -> None:
        if self._decided is not None and change["new"] != self._decided:
            self.under(change["new"])

    def answer_conditions(self, config: list[str], kafka: str, now: str) -> Answer:
        """Decide under what a person typed: texts ``NAME=VALUE``, a version, a time; or refuse."""
        self.under(_typed(config, kafka, now))
        return {}, []

    def let_play(self, play: Callable[[], None]) -> None:
        """Offer to play what is shown, step by step."""
        self._play, self._can_play = play, True

    def answer_play(self) -> Answer:
        """Play what is shown."""
        self._play()
        return {}, []

    def address(self) -> dict[str, str]:
        """Return the conditions as texts, as a person types them."""
        given = self.conditions
        config = ", ".join(f"{name}={value}" for name, value in given["config"].items())
        now = "" if given["now"] is None else time_text(milliseconds(given["now"]))
        return {"config": config, "kafka": given["kafka"] or "", "at": now}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Decide under the conditions of an address."""
        texts = (parts.get(name, "") for name in ("kafka", "at"))
        given = _typed([parts.get("config", "")], *texts)
        if given != self.conditions:
            self.under(given)

    def tell_conditions(self, meant: MeantBroker, settings: Settings, topic: str = "") -> None:
        """Send what can be typed, and what holds where nothing is.

        Args:
            meant: the broker that is assumed.
            settings: its configuration.
            topic: the one whose own configurations are offered, too.
        """
        stored = (
            f"Other configurations are those in __cluster_metadata, of "
            f"{plural(len(settings.stored), 'topic')}, otherwise Kafka's defaults."
            if settings.stored
            else "These directories hold no configuration: Kafka's defaults are assumed. Add what "
            "you know."
        )
        self._about_conditions = {
            "meant": str(meant),
            "stored": stored,
            "topic": topic,
            "names": _names(),
            "versions": list(reversed(SERIES)),
        }


def _typed(config: Iterable[str], kafka: str, now: str) -> dict[str, Any]:
    """Return conditions that were typed; one text may have several ``NAME=VALUE``, with commas."""
    texts = [each for text in config for each in _NEXT.split(text) if each.strip()]
    return conditions(parse_values(texts), now.strip() or None, kafka.strip() or None)


@cache
def _names() -> list[list[str]]:
    """Return every configuration with its meaning, those of topics first."""
    docs = {each.name: each.doc for each in TOPIC_DEFINITIONS}
    others = sorted(name for name in BROKER_NAMES if name not in docs)
    return [*([name, doc] for name, doc in docs.items()), *([name, ""] for name in others)]


def arguments(given: Mapping[str, Any], *, first: str = "") -> str:
    """Return conditions as the arguments of a call in Python, after ``first``."""
    parts = [first] if first else []
    parts += [repr(given["config"])] if given["config"] else []
    parts += [f"{name}={given[name]!r}" for name in ("now", "kafka") if given[name] is not None]
    return ", ".join(parts)


def call_on(paths: list[str], tier: Mapping[str, Any], call: str) -> str:
    """Return Python code that opens paths as ``logs`` and ends in a call."""
    return f"{HEAD}\n\nlogs = {opening(paths, tier)}\n{call}"
