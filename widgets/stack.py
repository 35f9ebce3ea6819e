"""Stack: controls and a widget that follows them, one below the other."""

from collections.abc import Sequence
from typing import Any

import ipywidgets

from widgets._widget import KafkaWidget
from workbench.errors import PlayerError


class Stack(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Show widgets one below the other; where none can be shown, the picture of the first of ours.

    Without one of ours, that is the text of the first `ipywidgets.HTML`.

    Args:
        children: the widgets from top to bottom, including sliders and buttons of ipywidgets.
    """

    def __init__(self, children: Sequence[Any], **options: Any) -> None:
        """Stack the widgets; see the class."""
        if not isinstance(children, list | tuple):
            raise PlayerError(f"{type(children).__name__}: expected a list of widgets to stack")
        super().__init__(tuple(children), **options)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget's bundle with a picture or a text for saved notebooks."""
        data = super()._repr_mimebundle_(**options)
        ours = next((each for each in self.children if isinstance(each, KafkaWidget)), None)
        if ours is not None:
            data["text/plain"] = ours.describe()
            data["image/png"] = ours.to_png()
            return data
        text = next((each for each in self.children if isinstance(each, ipywidgets.HTML)), None)
        if text is not None:
            data["text/html"] = text.value
        return data
