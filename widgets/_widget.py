"""What every widget of the workbench does the same way.

Options nobody knows are refused. A custom message ``{"kind": "page", "id": 3, …}`` goes to the
method ``answer_page`` and what it returns goes back with the id. Jupyter swallows errors of
callbacks; here they are sent to the front end, which shows them, and kept in `last_error`. In a
saved notebook, an exported page or an untrusted one, the widget is a picture and a text instead.
"""

import traceback
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

MOST_BYTES = 1 << 20
"""A message of the front end that asks for more than this many bytes or rows is refused."""


class KafkaWidget(anywidget.AnyWidget):
    """The base of the widgets.

    Raises:
        TypeError: an option is not a trait of the widget.
    """

    _error = traitlets.Unicode().tag(sync=True)

    def __init__(self, *, static: bool = True, **options: Any) -> None:
        """Make the widget; ``static=False`` leaves the picture out of saved notebooks."""
        unknown = sorted(set(options) - set(self.trait_names()))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(unknown)}")
        self._static = static
        self._picture: bytes | None = None
        self.last_error: BaseException | None = None
        super().__init__(**options)
        self.on_msg(self.receive)

    def to_png(self) -> bytes:
        """The static picture, as a PNG file. Imports matplotlib."""
        raise NotImplementedError

    def describe(self) -> str:
        """One line for where no picture can be shown."""
        raise NotImplementedError

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take over what the front end changed; an error on the way is shown there."""
        self._guard(lambda: super(KafkaWidget, self).set_state(sync_data))

    def receive(self, _widget: object, message: dict[str, Any], _buffers: list[Any]) -> None:
        """Give a custom message to its method and send the answer back."""
        kind, ident = message.get("kind"), message.get("id")
        answer = getattr(self, f"answer_{kind}", None) if isinstance(kind, str) else None
        if answer is None:
            self.send({"kind": "error", "id": ident, "text": f"no answer to a {kind!r} message"})
            return
        body = {name: value for name, value in message.items() if name not in {"kind", "id"}}
        done = self._guard(lambda: answer(**body))
        if done is None:
            self.send({"kind": "error", "id": ident, "text": self._error})
            return
        content, buffers = done
        self.send({"kind": kind, "id": ident, **content}, buffers=buffers)

    def _guard(self, action: Callable[[], Any]) -> Any:
        """Run what the front end asked for; show an error instead of losing it."""
        try:
            result = action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user has to see it
            self.last_error = error
            self._error = "".join(traceback.format_exception_only(error)).strip()
            return None
        if self._error:
            self._error = ""
        return result

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        data, metadata = bundle
        data["text/plain"] = self.describe()
        if self._static:
            data["image/png"] = self.to_png()
        return data, metadata
