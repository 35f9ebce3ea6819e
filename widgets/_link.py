"""Join the ES modules of ``static/`` into the one text that anywidget evaluates, and style sheets.

The files stay real modules, so that node and a browser can load and test them one by one; here
their imports are removed and each module is inserted once, before the first that needs it. There
is no build step. The rules are strict because the joined modules share one scope: only
named imports by relative path, ``export`` only before a declaration, every imported name exported,
no top-level name twice, and no top-level destructuring.
"""

import posixpath
import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"

_IMPORT = re.compile(
    r'^import \{(?P<names>[\w,\s]+)\} from "(?P<file>\.\.?/[\w./-]+)";$', re.MULTILINE
)
_EXPORT = re.compile(r"^export (?=(?:const|let|function|class|async function) )", re.MULTILINE)
# A declaration, down to the next line that neither is indented nor begins with a closing bracket.
_DECLARED = re.compile(
    r"^(?P<export>export )?(?P<kind>const|let|class|function|async function) "
    r"(?P<rest>.*(?:\n(?:[ )\]}].*)?)*)",
    re.MULTILINE,
)
_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL
)
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_UNKNOWN = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def link(entry: str, folder: Path = STATIC) -> str:
    """Return the linked text of one entry module.

    Args:
        entry: a file in ``folder``, by its path there with slashes; its ``export default`` is kept.

    Raises:
        ValueError: an import or export has a form that cannot be joined, a name is imported that
            is not exported, two modules declare one name, a declaration takes apart an object or a
            list, or modules import each other in a ring.
    """
    linked: dict[str, str] = {}
    owners: dict[str, str] = {}
    exports: dict[str, set[str]] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"{' imports '.join((*path, name))}: cannot join a ring of imports")
        if name in linked:
            return
        source = (folder / name).read_text(encoding="utf-8")
        for found in _IMPORT.finditer(source):
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), found["file"]))
            visit(other, (*path, name))
            named = set(re.findall(r"\w+", found["names"]))
            missing = named - exports[other]
            if missing:
                raise ValueError(f"{name}: {other} does not export {sorted(missing)}")
        exports[name] = _declare(name, source, owners)
        body = _EXPORT.sub("", _IMPORT.sub("", source))
        is_entry = not path
        for line in _UNKNOWN.findall(body):
            if not (is_entry and line.startswith("export default ")):
                raise ValueError(f"{name}: cannot join {line!r}")
        linked[name] = f"// {name}\n{body.strip()}\n"

    visit(entry, ())
    return "\n".join(linked.values())


def style(*names: str) -> str:
    """Return the style sheet of every widget, and after it those of these names in `STATIC`."""
    return "\n".join((STATIC / each).read_text("utf-8") for each in ("shared/base.css", *names))


def _declare(module: str, source: str, owners: dict[str, str]) -> set[str]:
    """Enter the top-level names of a module into ``owners``; return those it exports."""
    exported = set()
    for found in _DECLARED.finditer(source):
        names = _names(found["kind"], found["rest"])
        if "" in names:
            raise ValueError(f"{module}: cannot join {found[0].splitlines()[0]!r}")
        for name in names:
            if name in owners:
                raise ValueError(f"{module}: {name} is declared in {owners[name]} already")
            owners[name] = module
        if found["export"]:
            exported.update(names)
    return exported


def _names(kind: str, rest: str) -> list[str]:
    """Return the names of a declaration, ``A = 1, B = 2;`` after ``const``; empty: no name."""
    if kind not in {"const", "let"}:
        return re.findall(r"^\w*", rest)
    outer, before = _TEXT.sub("", rest), ""
    while outer != before:
        outer, before = _BRACKETS.sub("", outer), outer
    return re.findall(r"(?:^|,)\s*(\w*)", outer.partition(";")[0])
