"""Three notebooks and the app where else people run them: in Debian's Firefox."""

from pathlib import Path
from typing import Final

import pytest

from notebooks.build import sources
from tests.e2e.apps import end, start
from tests.e2e.firefox import firefox
from tests.e2e.jupyter import JUPYTERLAB, NOT_OURS, RUN_ALL, SHOWN, STATUS, check_widgets

pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]

SHOP: Final = Path(__file__).parents[2] / "sample_data" / "shop-4.3.1"
NOTEBOOKS: Final = ("03", "05", "11")
_CARDS: Final = "() => document.querySelectorAll('.klw-overcard[data-state=done]').length"

_FOCUS: Final = """() => {
  const app = window.jupyterapp;
  const notebook = app && [...app.shell.widgets("main")].find((each) => each.sessionContext);
  notebook?.node.dispatchEvent(new FocusEvent("focus"));
  return Boolean(app?.shell.currentWidget);
}"""
"""Without a window, Firefox gives nothing the focus, by which JupyterLab knows the notebook."""


def test_three_notebooks_in_firefox(served: str, tmp_path: Path) -> None:
    with firefox(tmp_path / "profile") as page:
        for name in (each.stem for each in sources() if each.stem[:2] in NOTEBOOKS):
            path = JUPYTERLAB.path.format(workspace=f"firefox-{name}")
            page.goto(f"{served}/{path}/{name}.ipynb")
            page.until(_FOCUS, wanted=True)
            page.until(STATUS, "idle")
            page.evaluate(RUN_ALL)
            page.until("() => window.ranAll", "done", seconds=180)
            check_widgets(page.evaluate(SHOWN))
        ours = [each for each in page.errors if not any(word in each for word in NOT_OURS)]
        assert not ours


def test_the_app_in_firefox(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    app = start(SHOP, home)
    try:
        with firefox(tmp_path / "profile") as page:
            page.goto(app.address)
            page.until(_CARDS, 10)
            assert not page.errors
    finally:
        end(app)
