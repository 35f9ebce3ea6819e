"""The base of the workbench's widgets.

Unknown options are rejected. A custom message ``{"kind": "page", "id": 3, …}`` is passed to the
method ``answer_page``, whose result goes back with the id. Jupyter swallows errors of callbacks;
here the front end shows them, and `last_error` keeps them. In a saved, exported or untrusted
notebook, the widget is a picture and a text instead.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any

import anywidget
import traitlets

from widgets._file import Answer, Front, file_page
from workbench.loaders.exports.page import write_page
from workbench.runtime.signatures import explain_calls
from workbench.runtime.words import did_you_mean

MOST_BYTES = 1 << 20
"""The front end gets nothing if it asks for more bytes or rows than this."""


def error_text(error: BaseException) -> str:
    """Return what is wrong, without Python's name of the error; `KafkaWidget.last_error` has it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text or f"the widget failed ({type(error).__name__})"


class KafkaWidget(anywidget.AnyWidget):
    """The base of the widgets.

    Raises:
        TypeError: an option is not a trait of the widget.
    """

    is_saving = False  # while `to_html` makes a page
    in_address: tuple[str, ...] = ()
    """Names of the traits that `address` has."""

    _error = traitlets.Unicode().tag(sync=True)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        explain_calls(cls, also=("__init__",))

    def __init__(self, *, static: bool = True, **options: Any) -> None:
        """Make the widget; ``static=False`` leaves the picture out of saved notebooks."""
        unknown = sorted(set(options) - set(self.trait_names()))
        if unknown:
            known = [*signature(type(self)).parameters, *self.trait_names()]
            hint = did_you_mean(unknown[0], [name for name in known if not name.startswith("_")])
            raise TypeError(f"{type(self).__name__}: unknown option {', '.join(unknown)}{hint}")
        self._static = static
        self._picture: bytes | None = None
        self.last_error: BaseException | None = None
        super().__init__(**options)
        self.on_msg(self.receive)

    def to_png(self) -> bytes:
        """Return the static picture as a PNG file: by default the line. Imports matplotlib."""
        from widgets.pictures import text_picture

        return text_picture(self.describe())

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        title: str | None = None,
        overwrite: bool = False,
    ) -> str:
        """Return the widget as one HTML page that needs no kernel and no network.

        Zoom, selection and playback work in it. It holds what the widget shows now, under the
        widget's mask and without values unless ``show_values=True`` was given, and, up to 32 MiB
        before compression, the answers to the questions that its front end would ask a kernel.
        Where something is missing, it says so. A search or comparison that runs is waited for.

        Args:
            path: a file to write the page to; None: none.
            title: the page's title; None: `describe`.
            overwrite: replace a file of that name.

        Raises:
            OutputError: the file exists, or would be inside a directory that the widget reads.
            OSError: it cannot be written.
        """

        def make() -> str:
            about = self.describe()
            self.is_saving = True
            try:
                front = Front(str(self._esm), str(self._css), self.get_state())
                return file_page(front, self.foreseen_answers(), about, title or about)
            finally:
                self.is_saving = False

        self.wait()
        if path is None:
            return make()
        return write_page(path, make, self.inputs(), overwrite=overwrite)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until what runs in the background is over, and show it; here nothing does."""

    def inputs(self) -> list[str]:
        """Return the paths of the directories that the widget reads."""
        return []

    def address(self) -> dict[str, str]:
        """Return what the widget shows, beside the selection, as names and texts of an address."""
        return {}

    def show_address(self, parts: Mapping[str, str]) -> None:
        """Show what an address says; what it does not say has its default.

        Raises:
            TraitError, ValueError, LookupError: a text is not what its name needs.
        """

    def foreseen_answers(self) -> Iterable[tuple[str, dict[str, Any], Answer]]:
        """Yield what a reader of `to_html`'s page may ask: kind and content, and the answer.

        The most useful ones first: `file_page` stops at its limit.
        """
        return ()

    def describe(self) -> str:
        """Describe the widget in one line, where no picture can be shown."""
        raise NotImplementedError

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply the front end's changes; show an error there."""
        self._guard(lambda: super(KafkaWidget, self).set_state(sync_data))

    def receive(self, _widget: object, message: dict[str, Any], _buffers: list[Any]) -> None:
        """Pass a custom message to its method and send the answer back."""
        kind, ident = message.get("kind"), message.get("id")
        answer = getattr(self, f"answer_{kind}", None) if isinstance(kind, str) else None
        if answer is None:
            self.send({"kind": "error", "id": ident, "text": f"unknown message kind {kind!r}"})
            return
        body = {name: value for name, value in message.items() if name not in {"kind", "id"}}
        done = self._guard(lambda: answer(**body))
        if done is None:
            self.send({"kind": "error", "id": ident, "text": self._error})
            return
        content, buffers = done
        self.send({"kind": kind, "id": ident, **content}, buffers=buffers)

    def show_error(self, error: BaseException) -> None:
        """Show an error that no caller waits for."""
        self.last_error, self._error = error, error_text(error)

    def _guard(self, action: Callable[[], Any]) -> Any:
        """Run what the front end asked for; show an error instead of losing it."""
        try:
            result = action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the user has to see it
            self.show_error(error)
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
