"""Whether a widget shows keys, values and headers, and whether what is saved of it has them."""

from typing import Any

import traitlets

from widgets._widget import KafkaWidget
from widgets.view.records import AnyMask, Lens, as_mask
from workbench.values.hiding import shown_by_default


class ShowsValues(KafkaWidget):
    """The base of widgets that show keys, values and headers to who looks at them.

    A kernel answers the page with values. They are in the widget's state, which notebooks save,
    and in pages of `to_html` only if ``show_values=True`` was given.

    Attributes:
        show_values: whether keys, values and headers are shown.
        mask: changes bytes before they are shown: a function, or rules; None: nothing does.

    Args:
        show_values: None: they are shown, unless `KAFKA_WORKBENCH_VALUES` is "hidden".
        mask: see above.

    Raises:
        SchemaError: a rule of the mask has no meaning.
        ValueError: `KAFKA_WORKBENCH_VALUES` is neither "shown" nor "hidden".
    """

    show_values = traitlets.Bool(default_value=True).tag(sync=True)
    _keeps_values = traitlets.Bool(default_value=False).tag(sync=True)

    def __init__(
        self,
        *,
        show_values: bool | None = None,
        mask: AnyMask = None,
        **options: Any,
    ) -> None:
        """Show values, or hide them; see the class."""
        self.mask = as_mask(mask)
        shown = shown_by_default() if show_values is None else show_values
        super().__init__(show_values=shown, _keeps_values=bool(show_values), **options)

    @property
    def lens(self) -> Lens:
        """How much of keys, values and headers is shown now; in a page of `to_html`, in that."""
        return self.lens_for(self.show_values and (self._keeps_values or not self.is_saving))

    @property
    def saved_lens(self) -> Lens:
        """How much of them is in the widget's state."""
        return self.lens_for(self.show_values and self._keeps_values)

    def lens_for(self, show_values: bool) -> Lens:  # noqa: FBT001 - what it is for
        """Return the lens that shows values, or hides them."""
        return Lens(show_values=show_values, mask=self.mask)

    def get_state(self, *given: Any, **options: Any) -> dict[str, Any]:
        """Return the state; that of a page of `to_html` says whether values are in it."""
        state: dict[str, Any] = super().get_state(*given, **options)
        if self.is_saving and "show_values" in state:
            state["show_values"] = self.saved_lens.show_values
        return state
