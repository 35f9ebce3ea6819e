"""The known scenarios of replication: the normal path, and how records are lost or logs diverge.

    import workbench as wb

    played = wb.scenarios.play("G-1", rules="0.10")
    print(played)                          # the table, and the promise that is broken
    wb.scenarios.play("G-1", rules="4.2")  # the same events under other rules

Each step says why it happens. What a later version does differently appears by itself: the events
are the same, the rules are not. `play` takes other rules, acks and configurations.

Kafka: KIP-101, KIP-279, KIP-320, KIP-497, KIP-966; KAFKA-7415
"""

import tomllib
from importlib.resources import files
from typing import Any, Final, NamedTuple

from workbench.errors import ReplicationError
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import Event, event_of
from workbench.replication.simulation.playback import Playback
from workbench.replication.simulation.playback import play as play_events
from workbench.runtime.signatures import options_of, shows


class Scenario(NamedTuple):
    """Events on a cluster, each with its reason.

    Attributes:
        name: such as "G-1".
        title: what it is, in a few words.
        about: what it shows, in sentences.
        rules: the version that shows it.
        also: other versions that are worth a comparison.
        options: of the `Cluster`.
        script: the events as texts, each with why it happens.
    """

    name: str
    title: str
    about: str
    rules: str
    also: tuple[str, ...]
    options: dict[str, Any]
    script: tuple[tuple[str, str], ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events."""
        return tuple(event_of(text) for text, _ in self.script)


def _script(text: str) -> tuple[tuple[str, str], ...]:
    """Return the events of a text, each with the indented reason below it."""
    pairs: list[list[str]] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            pairs[-1].append(line.strip())
        else:
            pairs.append([line])
    return tuple((event, " ".join(why)) for event, *why in pairs)


def _stored() -> tuple[Scenario, ...]:
    """Return the scenarios of `scenarios.toml`."""
    text = files(__package__).joinpath("scenarios.toml").read_text("utf-8")
    return tuple(
        Scenario(
            each["name"],
            each["title"],
            " ".join(each["about"].split()),
            each["rules"],
            tuple(each["also"]),
            {name: tuple(v) if isinstance(v, list) else v for name, v in each["options"].items()},
            _script(each["script"]),
        )
        for each in tomllib.loads(text)["scenario"]
    )


SCENARIOS: Final = {scenario.name: scenario for scenario in _stored()}
"""Every scenario by its name."""


def scenario_of(name: str) -> Scenario:
    """Return a scenario.

    Raises:
        ReplicationError: there is none of that name.
    """
    found = SCENARIOS.get(name)
    if found is None:
        raise ReplicationError(f"scenario {name!r}: expected one of {', '.join(SCENARIOS)}")
    return found


@shows(options_of(Cluster))
def play(
    scenario: str | Scenario,
    *,
    rules: str | None = None,
    acks: int | None = None,
    **options: Any,
) -> Playback:
    """Play a scenario.

    Args:
        scenario: its name, or a scenario.
        rules: the version whose rules hold; None takes the scenario's.
        acks: of every produce, in place of the scenario's: -1 (all), 0 or 1.
        options: of the `Cluster`, in place of the scenario's, such as ``min_insync_replicas``.

    Raises:
        ReplicationError: there is no such scenario.
        ConfigError: ``rules`` is not a version.
    """
    chosen = scenario_of(scenario) if isinstance(scenario, str) else scenario
    script = [
        (event._replace(acks=acks) if acks is not None and event.do == "produce" else event, why)
        for event, (_, why) in zip(chosen.events, chosen.script, strict=True)
    ]
    return play_events(
        script,
        title=f"{chosen.name} {chosen.title}",
        about=chosen.about,
        **{**chosen.options, "rules": rules or chosen.rules, **options},
    )
