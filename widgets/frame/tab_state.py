"""TabState: what a tab shows while its view is being made, has failed, or waits for a choice."""

from typing import Final, Literal

import traitlets

from widgets._assets import script, style
from widgets._widget import KafkaWidget

Kind = Literal["empty", "loading", "failed"]

NO_PARTITION: Final = "Select a partition above, or in Explore."


class TabState(KafkaWidget):
    """Say in one sentence why a tab shows nothing.

    Attributes:
        kind: "empty", "loading" or "failed".
        text: the sentence.

    Args:
        kind, text: see above.
    """

    _esm = script("frame/tab_state.js")
    _css = style()

    kind = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)

    def __init__(self, kind: Kind, text: str) -> None:
        """Say it; see the class."""
        super().__init__(kind=kind, text=text, static=False)

    def describe(self) -> str:
        """Return the sentence."""
        return f"TabState: {self.text}"

    def to_png(self) -> bytes:
        """Draw the sentence. Imports matplotlib."""
        from widgets.pictures import text_picture

        return text_picture(self.text)
