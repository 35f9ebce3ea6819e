"""Charts in Jupyter's theme: a light and a dark picture of the same figure."""

import base64
import io
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
from matplotlib import image
from matplotlib.figure import Figure

from widgets.charts import dark_colors, table_html, themed_html


def chart() -> Figure:
    figure = Figure(figsize=(4, 2))
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], [1, 4, 9], color="#0072B2")
    axes.axvline(2, color="#16191d")
    axes.set_title("records per hour <orders>", loc="left")
    axes.legend(["orders"], frameon=True)
    return figure


def test_the_page_shows_the_picture_of_its_theme() -> None:
    html = themed_html(chart())
    light, dark = (
        image.imread(io.BytesIO(base64.b64decode(data)), format="png")
        for data in re.findall(r"base64,([^\"]+)\"", html)
    )
    assert light.shape == dark.shape
    assert light[0, 0, 3] == 1  # white paper
    assert dark[0, 0, 3] == 0  # the page's own ground
    opaque = dark[dark[..., 3] > 0.9][:, :3]
    grey = opaque[np.ptp(opaque, axis=1) < 0.1]
    assert grey.min() > 0.7, "something is dark on a dark page"
    assert np.ptp(opaque, axis=1).max() > 0.4, "the line has lost its color"
    assert 'alt="records per hour &lt;orders&gt;"' in html


def test_the_figure_is_as_before_afterwards() -> None:
    figure = chart()
    before = io.BytesIO()
    figure.savefig(before, format="png")
    with dark_colors(figure):
        pass
    themed_html(figure)
    after = io.BytesIO()
    figure.savefig(after, format="png")
    assert after.getvalue() == before.getvalue()


def test_a_notebook_gets_both_keeps_the_png_and_aligns_texts() -> None:
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from widgets.charts import follow_theme
follow_theme()  # first, as in a notebook; the first figure sets up the backend
from matplotlib import pyplot
figure = pyplot.figure()
figure.add_subplot().plot([1, 2])
data, _ = shell.display_formatter.format(figure)
import pandas
shown, _ = shell.display_formatter.format(pandas.DataFrame({"topic": ["orders"]}))
print("klw-texts" in shown["text/html"])
print(sorted(data))
"""
    kernel = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=kernel
    )
    is_aligned, kinds = done.stdout.splitlines()[-2:]
    assert kinds == "['image/png', 'text/html', 'text/plain']"
    assert is_aligned == "True"


def test_outside_of_a_notebook_nothing_is_imported() -> None:
    code = (
        "import sys; from widgets.charts import follow_theme; follow_theme();"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_texts_of_a_table_are_at_the_left_and_numbers_at_the_right() -> None:
    table = pd.DataFrame({"topic": ["orders", None], "offset": [1, 2], "key": [b"k", None]})
    html = table_html(table) or ""
    (rule,) = re.findall(r"<style>(table.*?) { text-align: left", html)
    (name,) = re.findall(r'class="dataframe (.*?)"', html)
    cells = ":is(td, thead th):nth-last-child"
    assert rule == f"table.{name} {cells}(3), table.{name} {cells}(1)"
    assert table_html(table[["offset"]]) == html_of_pandas(table[["offset"]])
    by_topic = table_html(table.set_index("topic")[["offset"]]) or ""
    assert re.search(r"<style>table\S+ tbody th { text-align: left", by_topic)


def html_of_pandas(table: pd.DataFrame) -> str:
    html: str = table._repr_html_()  # type: ignore[operator]
    return html
