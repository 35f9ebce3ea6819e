"""StoryBar: which work of the engine is played."""

from collections.abc import Mapping
from typing import Any

import traitlets

from widgets._assets import script, style
from widgets._widget import KafkaWidget


class StoryBar(KafkaWidget):
    """Choose the story that is played, and the group whose offsets are loaded.

    Attributes:
        story: the name of the story.
        group: the group of the story about offsets; empty: all.

    Args:
        stories: name of a story → what it shows, in a sentence.
    """

    _esm = script("players/story_bar.js")
    _css = style("players/player.css")

    story = traitlets.Unicode().tag(sync=True)
    group = traitlets.Unicode().tag(sync=True)
    _stories: Any = traitlets.List().tag(sync=True)
    _groups: Any = traitlets.List().tag(sync=True)

    def __init__(self, stories: Mapping[str, str], **options: Any) -> None:
        """Offer stories; see the class."""
        offered = [[name, text] for name, text in stories.items()]
        super().__init__(_stories=offered, static=False, **options)

    @property
    def has_groups(self) -> bool:
        """Whether groups are offered."""
        return bool(self._groups)

    def offer_groups(self, groups: list[str]) -> None:
        """Offer groups to choose from."""
        self._groups = groups

    @traitlets.validate("story")
    def _known(self, proposal: Any) -> str:
        name: str = proposal["value"]
        known = [each for each, _text in self._stories]
        if name not in known:
            raise traitlets.TraitError(f"no story {name!r} (expected one of {', '.join(known)})")
        return name

    def describe(self) -> str:
        """Return the name of the story."""
        return f"StoryBar: {self.story}"

    def to_png(self) -> bytes:
        """Draw the name. Imports matplotlib."""
        from widgets.pictures import text_picture

        return text_picture(self.describe())
