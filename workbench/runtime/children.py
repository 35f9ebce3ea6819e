"""The one way in which the workbench starts another program.

The working directory is often one that was just unpacked, and a log directory comes from anywhere:
nothing that lies there must run. ``python -m`` looks for modules in the working directory first; a
relative entry of ``PATH`` finds programs there, and an empty one of ``PYTHONPATH`` modules. So a
program is named by an absolute path, Python gets ``-P``, and what needs none of the user's
directories works in the root directory. What is the user's own stays: ``JAVA_TOOL_OPTIONS``, and
entries of ``PYTHONPATH`` that have a name.

Source: Python, "Command line and environment" (-P, PYTHONSAFEPATH)
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from workbench.errors import MissingDependencyError

_SAFE_PATH = "PYTHONSAFEPATH"


def executable(name: str) -> str | None:
    """Return the absolute path of a program in an absolute entry of ``PATH``; None: not there."""
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    found = shutil.which(name, path=os.pathsep.join(folders))
    return found if found is not None and os.path.isabs(found) else None


def python(module: str, *arguments: str) -> list[str]:
    """Return the words that run a module of this installation, never one of the working directory.

    Raises:
        MissingDependencyError: Python does not know its own executable, as where it is embedded.
    """
    if not sys.executable:
        raise MissingDependencyError("python", "run the workbench by an interpreter of Python")
    return [sys.executable, "-P", "-m", module, *arguments]


def run(words: Sequence[str], *, limit_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end, without input, in the root directory.

    Args:
        words: an absolute path, and arguments; paths among them are absolute, too.
        limit_s: after so many seconds, the program is ended.

    Returns:
        Its exit code and what it printed.

    Raises:
        OSError: the program cannot be started.
        TimeoutError: it took longer.
    """
    try:
        return subprocess.run(
            _checked(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
            cwd=os.path.abspath(os.sep),
            env=environment(os.environ),
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{words[0]}: not done in {limit_s:g} s") from None


def become(words: Sequence[str], inherited: Mapping[str, str]) -> int:
    """Let a program that talks to the user take the place of this process, in its directory.

    Args:
        words: an absolute path, and arguments, among them the user's, with relative paths.
        inherited: environment variables.

    Returns:
        The program's exit code, where a process cannot become another (Windows).
    """
    words, variables = _checked(words), environment(inherited)
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(words[0], words, variables)  # noqa: S606 - no shell is wanted
    return subprocess.run(words, env=variables, check=False).returncode


@contextmanager
def python_searches_as_here() -> Iterator[None]:
    """While a library starts programs that start Python, let those search what this process does.

    Where the working directory is on this process's path (a notebook, ``python -c``), what lies
    there is the user's program, and stays on theirs.
    """
    before = os.environ.get(_SAFE_PATH)
    if not _searches_working_directory():
        os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE_PATH, None)
        else:
            os.environ[_SAFE_PATH] = before


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables whose ``PYTHONPATH`` means the same in any working directory."""
    variables = dict(inherited)
    entries = variables.pop("PYTHONPATH", "").split(os.pathsep)
    if named := [os.path.abspath(entry) for entry in entries if entry]:
        variables["PYTHONPATH"] = os.pathsep.join(named)
    return variables


def _searches_working_directory() -> bool:
    here = os.getcwd()
    return any(not entry or os.path.abspath(entry) == here for entry in sys.path)


def _checked(words: Sequence[str]) -> list[str]:
    """Return the words of a command whose program is named by an absolute path.

    Raises:
        FileNotFoundError: it is not.
    """
    if not os.path.isabs(words[0]):
        raise FileNotFoundError(f"{words[0]}: not an absolute path of a program")
    return list(words)
