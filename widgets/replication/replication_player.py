"""ReplicationPlayer: brokers that replicate, moment by moment."""

import inspect
from collections.abc import Iterable
from typing import Any, Final

import traitlets

from widgets._assets import script, style
from widgets.players._player import Player, made_by
from widgets.replication.playback_steps import (
    MOST_MOMENTS,
    cluster_state,
    names_of,
    renamed,
    step_rows,
    steps_of,
)
from widgets.view.players.steps import kind_rows
from workbench.errors import ReplicationError
from workbench.replication.rules import Rules
from workbench.replication.simulation.cluster import Cluster
from workbench.replication.simulation.events import KINDS, Event, event_of
from workbench.replication.simulation.playback import Playback, play
from workbench.replication.simulation.scenarios import SCENARIOS, Scenario, scenario_of
from workbench.replication.simulation.scenarios import play as play_scenario
from workbench.replication.simulation.search import Schedule
from workbench.runtime.words import plural

Script = Iterable[Event | str | tuple[Event | str, str]]
"""Events, texts of events, or pairs of one of them and why it happens."""

_CLUSTER: Final = frozenset(inspect.signature(Cluster).parameters) - {"rules"}
_VERSIONS: Final = ("0.10", "1.1", "2.0", "2.8", "4.2")


class ReplicationPlayer(Player):
    """Step through what happens to the replicas of a partition, forward and back.

    Each broker is a lane with its log: the records, colored by leader epoch, the log end offset
    and the high watermark; the leader's lane also has the log end offsets that it knows of its
    followers. Requests and answers are arrows between the lanes; a request that waits is at its
    leader. The table grows with each step. The same events can be played under the rules of
    another version.

    Attributes:
        at: the index of the step shown; -1 without steps.
        steps: the events, each with why it happens.
        rules: the version whose rules hold, such as "0.10"; a change plays the events again.
        played: the moments, and the cluster at the end.

    Args:
        what: the name of a scenario, such as "G-1"; a scenario; a schedule that `find_schedule`
            found; what `workbench.scenarios.play` returned; or events.
        rules: the version; None takes that of ``what``; of events "4.2".
        at: the first step to show; by default the first that breaks a promise, or the last.
        title: what it is; None takes that of the scenario.
        show_values: whether to show the values of your own events; otherwise the records are #1,
            #2 and so on. Scenarios and schedules have values of the workbench's own.
        options: of the `Cluster`, such as ``brokers`` or ``min_insync_replicas``; ``acks`` of a
            scenario.

    Raises:
        ReplicationError: there is no such scenario, or an event is wrong, or ``what`` is something
            else.
        ConfigError: the rules are not a version.

    Kafka: Partition, ReplicaManager, AbstractFetcherThread (0.10.2 to 4.2)
    """

    _esm = script("replication/replication_player.js")
    _css = style("players/player.css", "replication/replication.css")

    rules = traitlets.Unicode("4.2").tag(sync=True)
    _versions: Any = traitlets.List().tag(sync=True)
    _shown: Any = traitlets.Unicode().tag(sync=True)
    _long: Any = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        what: str | Scenario | Schedule | Playback | Script,
        *,
        rules: str | None = None,
        at: int | None = None,
        title: str | None = None,
        show_values: bool = False,
        **options: Any,
    ) -> None:
        """Play; see the class."""
        named = {name: options.pop(name) for name in (*_CLUSTER, "acks") if name in options}
        if isinstance(what, str):
            what = scenario_of(what)
        versions: tuple[str, ...] = _VERSIONS
        known = what.rules if isinstance(what, Scenario | Schedule | Playback) else "4.2"
        if isinstance(what, Scenario):
            versions = what.also
        elif isinstance(what, Playback):
            played = {**what.options, "title": what.title, "about": what.about}
            named = {**played, **named}
            what = _named(
                [(each.event, each.why) for each in what.moments],
                is_shown=show_values or _is_known(what),
            )
        elif not isinstance(what, Schedule):
            what = _named(what, is_shown=show_values)
        versions = (known, *versions)
        self._what, self._options, self._given_title = what, named, title
        first = known if rules is None else rules
        self.played: Playback = self._play(first)
        chosen = dict.fromkeys([*versions, first])
        super().__init__(rules=first, _versions=sorted(chosen, key=_order), **options)
        self._show(at)

    def _play(self, rules: str) -> Playback:
        what, options = self._what, {**self._options, "rules": rules}
        if isinstance(what, Scenario):
            return play_scenario(what, **options)
        return play(what, **options)

    @traitlets.validate("rules")
    def _known_rules(self, proposal: Any) -> str:
        """Refuse a text that is not a version."""
        return Rules.of(str(proposal["value"])).version

    @traitlets.observe("rules")
    def _play_again(self, _change: Any) -> None:
        if self.steps and self.played.rules != self.rules:
            self.played = self._play(self.rules)
            self._show(self.at)

    def _show(self, at: int | None) -> None:
        played = self.played
        moments = played.moments[:MOST_MOMENTS]
        self.steps = steps_of(played)[:MOST_MOMENTS]
        self._picture = None
        with self.hold_sync():
            self._title = self._given_title or played.title
            self._long = played.about
            self._shown = played.rules
            if isinstance(self._what, Scenario) and not self._options:
                name = self._what.name
                self._code = made_by("ReplicationPlayer", f'"{name}"', f'rules="{played.rules}"')
            broken = played.violations
            self._about = f"rules of {played.rules}: " + (
                f"{plural(len(broken), 'promise')} broken" if broken else "all promises kept"
            )
            self._played = {
                "left_out": len(played.moments) - len(moments),
                "kinds": kind_rows(self.steps, KINDS),
                "steps": step_rows(moments, self.steps),
                "start": cluster_state(played.start),
            }
            broke = (number for number, each in enumerate(moments) if each.violations)
            self.at = next(broke, len(moments) - 1) if at is None else at

    def describe(self) -> str:
        """Return the title, the result, the event shown, and its row of the table."""
        name, *_ = super().describe().split("\n")
        if not self.steps:
            return name
        moment = self.played.moments[self.at]
        row = self.played.rows()[self.at]
        numbers = ", ".join(
            f"{name} = {'none' if value is None else value}"
            for name, value in row.items()
            if name not in {"step", "event"}
        )
        return f"{name}\n{self.at + 1}. {moment.event}: {moment.outcome}\n{numbers}"

    def to_png(self) -> bytes:
        """Draw the step shown: the lanes and the table up to it. Imports matplotlib."""
        if self._picture is None:
            from widgets.replication.replication_picture import replication_picture

            self._picture = replication_picture(self.played, self.at, self.title, self.about)
        return self._picture


def _named(script: Script, *, is_shown: bool) -> list[tuple[Event, str]]:
    """Return events with their reasons; with other names for values that are not shown."""
    events = []
    try:
        for each in script:
            event, why = (each, "") if isinstance(each, Event | str) else each
            events.append((event_of(event) if isinstance(event, str) else event, why))
        is_right = all(isinstance(event, Event) for event, _ in events)
    except (TypeError, ValueError) as error:
        if isinstance(error, ReplicationError):
            raise
        is_right = False
    if not is_right:
        raise ReplicationError(
            f"{type(script).__name__}: expected the name of a scenario, such as 'G-1', a scenario, "
            "a schedule, what scenarios.play returned, or events, such as ['produce m0', 'fetch 1']"
        )
    if is_shown:
        return events
    names = names_of([event for event, _ in events])
    return [(renamed(event, names), why) for event, why in events]


def _is_known(played: Playback) -> bool:
    """Return whether the events are those of a scenario, whose values are the workbench's own."""
    events = tuple(each.event._replace(acks=-1) for each in played.moments)
    return any(
        events == tuple(event._replace(acks=-1) for event in each.events)
        for each in SCENARIOS.values()
    )


def _order(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else 99 for part in version.split(".")]
