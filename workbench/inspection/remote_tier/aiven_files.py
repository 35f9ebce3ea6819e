"""The files of Aiven's layout as the files that they were made of.

Below ``aiven+<URL of the tier>`` (``aiven-<keys>+…`` if it was opened with keys), a segment has a
`.log`, an `.index`, a `.timeindex`, a `.txnindex`, a `.snapshot` and a `.leader_epoch_checkpoint`.
A read fetches only the chunks that it needs, and decrypts and decompresses them; one chunk is kept
for the next read.

Aiven: FetchChunkEnumeration, DefaultChunkManager (1.2)
"""

from functools import cached_property
from typing import Any, Final

from workbench.errors import CorruptFileError, RemoteStorageError
from workbench.file_system.kept import Kept
from workbench.file_system.source import (
    THIS_MACHINE,
    Files,
    FileSource,
    MountedFiles,
    RemoteEntry,
    with_mount,
)
from workbench.files.names import FileKind
from workbench.inspection.entries import FileEntry
from workbench.inspection.remote_tier import tier_names
from workbench.inspection.remote_tier.aiven_keys import IV_SIZE, TAG_SIZE, Cipher, KeyRing
from workbench.inspection.remote_tier.aiven_manifest import (
    MOST_MANIFEST_BYTES,
    Manifest,
    parse_manifest,
)
from workbench.record.codecs import zstd_frame
from workbench.record.reading.arena import Arena, DecompressionError

MOST_CHUNK_BYTES: Final = 32 << 20
"""A larger chunk, or index, is not read: the plugin's default is 4 MiB."""

_MANIFESTS: Final = 64  # kept in memory
_CIPHERS: Final = 4096  # kept in memory: RSA takes some ten ms for each
_SECTIONS: Final = {
    tier_names.INDEX: "offset",
    tier_names.TIME_INDEX: "timestamp",
    tier_names.TRANSACTION_INDEX: "transaction",
    tier_names.SNAPSHOT: "producerSnapshot",
    tier_names.LEADER_EPOCHS: "leaderEpoch",
}
_KINDS: Final[dict[FileKind, str]] = {
    "log": tier_names.LOG,
    "index": tier_names.INDEX,
    "timeindex": tier_names.TIME_INDEX,
    "txnindex": tier_names.TRANSACTION_INDEX,
    "snapshot": tier_names.SNAPSHOT,
}


def mount_prefix(tier: str, keys: KeyRing) -> str:
    """Return what the paths of a tier's files begin with, if it was opened with these keys.

    Without the keys, or with others, the paths differ: no caller reads with keys that it did not
    give.
    """
    opened = f"aiven-{keys.identity}" if keys.identity else "aiven"
    return f"{opened}+{tier}" if "://" in tier else f"{opened}+file://{tier}"


class AivenFiles:
    """A tier of Aiven's plugin.

    Args:
        tier: its folder.
        keys: what decrypts it.
        stored_by: what reads the folder.

    Attributes:
        prefix: what the paths of its files begin with.
        stored_by: what reads the files as they are stored.
    """

    def __init__(self, tier: str, keys: KeyRing, stored_by: Files) -> None:
        self._tier = tier
        self._keys = keys
        self.stored_by = stored_by
        self.prefix = mount_prefix(tier, keys)
        self._ciphers: Kept[str, Cipher] = Kept(_CIPHERS)
        self._manifests: Kept[str, Manifest] = Kept(_MANIFESTS)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out what was read: another process reads it again."""
        return AivenFiles, (self._tier, self._keys, self.stored_by)

    @cached_property
    def fs(self) -> MountedFiles:
        """What reads the tier's files, by their paths."""
        return with_mount(THIS_MACHINE, self.prefix, self)

    def files(self, stem: str) -> dict[FileKind, FileEntry]:
        """Return the files of a segment.

        Args:
            stem: path of its stored files, without their suffixes.
        """
        name = stem.rpartition("/")[2]
        return {
            kind: FileEntry(f"{name}{suffix}", self._path(f"{stem}{suffix}"), fs=self.fs)
            for kind, suffix in _KINDS.items()
        }

    def leader_epochs(self, stem: str) -> FileEntry:
        """Return the file of a segment's leader epochs."""
        name = f"{stem.rpartition('/')[2]}{tier_names.LEADER_EPOCHS}"
        return FileEntry(name, self._path(f"{stem}{tier_names.LEADER_EPOCHS}"), fs=self.fs)

    def manifest(self, stem: str) -> Manifest:
        """Return the manifest of a segment; it is never encrypted.

        Raises:
            OSError: it cannot be read, or is damaged.
        """
        found = self._manifests.get(stem)
        if found is None:
            path = f"{stem}{tier_names.MANIFEST}"
            with FileSource(path, self.stored_by) as source:
                data = source.read(0, MOST_MANIFEST_BYTES + 1).tobytes()
            try:
                found = parse_manifest(data)
            except CorruptFileError as error:
                raise RemoteStorageError(path, error.problem) from None
            self._manifests.put(stem, found)
        return found

    def _path(self, stored: str) -> str:
        return self.prefix + stored.removeprefix(self._tier)

    def _stem(self, path: str) -> tuple[str, str]:
        """Return the path of a segment's stored files without a suffix, and a file's suffix."""
        stem, dot, suffix = path.rpartition(".")
        return self._tier + stem.removeprefix(self.prefix), dot + suffix

    def _opened(self, stem: str) -> tuple[Manifest, Cipher | None]:
        manifest = self.manifest(stem)
        if manifest.encryption is None:
            return manifest, None
        cipher = self._ciphers.get(stem)
        if cipher is None:
            try:
                cipher = self._keys.cipher(manifest.encryption)
            except CorruptFileError as error:
                raise RemoteStorageError(f"{stem}{tier_names.MANIFEST}", error.problem) from None
            self._ciphers.put(stem, cipher)
        return manifest, cipher

    def open(self, path: str) -> "ChunkedFile | BytesFile":
        """Open a file.

        Raises:
            FileNotFoundError: the segment has none of this kind.
            OSError: it cannot be read, or not decrypted.
        """
        stem, suffix = self._stem(path)
        manifest, cipher = self._opened(stem)
        if suffix == tier_names.LOG:
            source = FileSource(f"{stem}{tier_names.LOG}", self.stored_by)
            return ChunkedFile(source, manifest, cipher)
        section = manifest.indexes.get(_SECTIONS.get(suffix, ""))
        if section is None:
            raise FileNotFoundError(path)
        position, size = section
        stored = f"{stem}{tier_names.INDEXES}"
        if not size:
            return BytesFile(b"")
        if size > MOST_CHUNK_BYTES:
            found = f"an index of {size:,} bytes, expected at most {MOST_CHUNK_BYTES:,}"
            raise RemoteStorageError(stored, found)
        with FileSource(stored, self.stored_by) as source:
            data = source.read(position, size).tobytes()
        if len(data) != size:
            found = f"ends at byte {position + len(data):,}, inside its {_SECTIONS[suffix]} index"
            raise RemoteStorageError(stored, found)
        try:
            return BytesFile(data if cipher is None else cipher.decrypt(data))
        except CorruptFileError as error:
            raise RemoteStorageError(stored, error.problem) from None

    def entry(self, path: str) -> RemoteEntry | None:
        """Return the name and size of a file; None if it cannot be opened."""
        stem, suffix = self._stem(path)
        name = path.rpartition("/")[2]
        try:  # without a look into the files themselves
            size = self._size_of(self.manifest(stem), suffix)
        except OSError:  # opening it says why
            return None
        if size is None:
            return None
        return RemoteEntry(name, is_folder=False, size=size, modified_ms=0)

    @staticmethod
    def _size_of(manifest: Manifest, suffix: str) -> int | None:
        """Return the size of a file as it was in the log; None if the segment has none."""
        if suffix == tier_names.LOG:
            return manifest.size
        _, size = manifest.indexes.get(_SECTIONS.get(suffix, ""), (0, None))
        if size is None or manifest.encryption is None:
            return size
        return max(size - IV_SIZE - TAG_SIZE, 0)

    def entries(self, path: str) -> list[RemoteEntry]:
        """Folders are listed as they are stored, not here."""
        raise FileNotFoundError(path)

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Folders are listed as they are stored, not here."""
        raise FileNotFoundError(path)


class BytesFile:
    """A file in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def size(self) -> int:
        """Return how many bytes it has."""
        return len(self._data)

    def version(self) -> int:
        """Return 0: a stored segment does not change."""
        return 0

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end."""
        return self._data[offset : offset + nbytes]

    def close(self) -> None:
        """Do nothing."""


class ChunkedFile:
    """A `.log` file that is stored in chunks. Threads may share one."""

    def __init__(self, source: FileSource, manifest: Manifest, cipher: Cipher | None) -> None:
        self._source = source
        self._manifest = manifest
        self._cipher = cipher
        self._kept: tuple[int, bytes] = (-1, b"")

    def size(self) -> int:
        """Return how many bytes it has."""
        return self._manifest.size

    def version(self) -> int:
        """Return 0: a stored segment does not change."""
        return 0

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end.

        Raises:
            RemoteStorageError: a chunk is missing, or not the one that the manifest describes.
        """
        end = min(offset + nbytes, self._manifest.size)
        if self._manifest.is_plain:
            return self._source.read(offset, max(end - offset, 0)).tobytes()
        pieces = []
        while offset < end:
            number, skip = divmod(offset, self._manifest.chunk_size)
            piece = self._chunk(number)[skip : skip + end - offset]
            pieces.append(piece)
            offset += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _chunk(self, number: int) -> bytes:
        kept = self._kept
        if kept[0] == number:
            return kept[1]
        manifest = self._manifest
        start, stop = manifest.positions[number : number + 2].tolist()
        wanted = min(manifest.chunk_size, manifest.size - number * manifest.chunk_size)
        if max(stop - start, wanted) > MOST_CHUNK_BYTES:
            found = f"chunk {number} of {max(stop - start, wanted):,} bytes"
            raise self._error(f"{found}, expected at most {MOST_CHUNK_BYTES:,}")
        self._kept = (-1, b"")  # its memory is free for the next one
        data = self._source.read(start, stop - start).tobytes()
        if len(data) != stop - start:
            raise self._error(f"ends inside chunk {number}, expected {stop:,} bytes")
        try:
            if self._cipher is not None:
                data = self._cipher.decrypt(data)
            if manifest.compression:
                data = _decompressed(data, wanted)
        except (CorruptFileError, DecompressionError) as error:
            problem = error.problem if isinstance(error, CorruptFileError) else str(error)
            raise self._error(f"chunk {number}: {problem}") from None
        if len(data) != wanted:
            raise self._error(f"chunk {number} has {len(data):,} bytes, expected {wanted:,}")
        self._kept = (number, data)
        return data

    def _error(self, problem: str) -> RemoteStorageError:
        return RemoteStorageError(self._source.path, problem)

    def close(self) -> None:
        """Close it."""
        self._source.close()


def _decompressed(data: bytes, size: int) -> bytes:
    """Return the content of a zstd frame, of at most a size."""
    arena = Arena(64)
    arena.limit = size
    zstd_frame.decompress(memoryview(data), arena)
    return arena.data[: arena.used].tobytes()
