"""Mutations of whole log directories: chosen by chance, kept as data, done again the same way.

A mutation is its kind, the path that it is done to, and a seed for what is left to chance. So a
list of them can be written down, shortened and repeated.
"""

import os
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.campaign.file_mutations import CONTENT_MUTATIONS, OF_SUFFIX
from tests.campaign.log_mutations import LOG_MUTATIONS, Change
from tests.campaign.tree_mutations import TREE_MUTATIONS

LARGEST: Final = 16 << 20  # bytes of a file that is read to be changed


class Mutation(NamedTuple):
    """One change of a directory.

    Attributes:
        kind: a name out of `KINDS`.
        path: relative to the directory; bytes that are not UTF-8 as surrogates.
        seed: of what the kind leaves to chance.
    """

    kind: str
    path: str
    seed: int

    def apply(self, directory: Path) -> None:
        """Do it; where the path is not there any more, or not what it was, nothing is done."""
        path, rng = directory / self.path, Random(self.seed)
        is_within = path.parent.resolve().is_relative_to(directory.resolve())
        if not is_within or not os.path.lexists(path):
            return
        if self.kind in TREE_MUTATIONS:
            TREE_MUTATIONS[self.kind](directory, path, rng)
        elif path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            path.write_bytes(_content(self.kind)(path.read_bytes(), rng))


def _content(kind: str) -> Change:
    every = [LOG_MUTATIONS, CONTENT_MUTATIONS, *OF_SUFFIX.values()]
    return next(kinds[kind] for kinds in every if kind in kinds)


KINDS: Final = (
    *LOG_MUTATIONS,
    *CONTENT_MUTATIONS,
    *dict.fromkeys(kind for kinds in OF_SUFFIX.values() for kind in kinds),
    *TREE_MUTATIONS,
)
"""Names of all kinds."""


def choose(directory: Path, rng: Random) -> list[Mutation]:
    """Choose one mutation to five and do them; return them."""
    done: list[Mutation] = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        paths = sorted(directory.rglob("*"), key=str)
        if not paths:
            break
        mutation = _one(directory, paths, rng)
        mutation.apply(directory)
        done.append(mutation)
    return done


def _one(directory: Path, paths: list[Path], rng: Random) -> Mutation:
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    logs = [path for path in files if path.suffix == ".log" and path.stat().st_size]
    others = [path for path in files if path.suffix in OF_SUFFIX]
    way = rng.random()
    if logs and way < 0.45:
        kind, path = rng.choice(tuple(LOG_MUTATIONS)), rng.choice(logs)
    elif others and way < 0.65:
        path = rng.choice(others)
        kind = rng.choice(tuple(OF_SUFFIX[path.suffix]))
    elif files and way < 0.8:
        kind, path = rng.choice(tuple(CONTENT_MUTATIONS)), rng.choice(files)
    else:
        kind, path = rng.choice(tuple(TREE_MUTATIONS)), rng.choice(paths)
    return Mutation(kind, str(path.relative_to(directory)), rng.randrange(2**32))
