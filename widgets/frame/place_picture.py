"""The place bar as a static picture. Drawn with matplotlib, which takes half a second to import."""

import io

from matplotlib.figure import Figure

from widgets.pictures import INK, plain_text


def place_picture(text: str) -> bytes:
    """Return a PNG with the place in one line."""
    with plain_text():
        figure = Figure(figsize=(10, 0.4), dpi=110, facecolor="white")
        figure.text(0.016, 0.5, text, size=9, color=INK, va="center")
        out = io.BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
