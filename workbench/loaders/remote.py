"""Log directories in S3, HDFS and whatever else `pyarrow.fs` can read by a URI, and in archives.

Credentials and endpoints come from pyarrow's own sources: the environment, or the URI's query
(``s3://bucket/logs?endpoint_override=host:9000&scheme=http``).
"""

import errno
import os
import re
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from workbench.errors import NOT_THERE, LogDirectoryError
from workbench.file_system.archives.opening import opened_archive
from workbench.file_system.read_cache import CachedFiles
from workbench.file_system.source import (
    THIS_MACHINE,
    Files,
    RemoteEntry,
    RemoteFiles,
    is_uri,
    mounts_of,
    with_mount,
)
from workbench.inspection.listing import Listing, MakePartition, StrPath, list_log_directories
from workbench.inspection.partition import DiskPartition

SCHEMES: Final = ("s3", "gs", "abfs", "abfss", "hdfs", "viewfs", "file")
"""Schemes of the URIs that can be opened."""

_WEB: Final = ("http", "https")
_FROM_WEB: Final = (
    "a directory of a web server is not read, because HTTP has no listing of files; copy it (wget "
    "-r -np -nH) or mount it (rclone mount), or download an archive of it, and open that"
)
_ATTEMPTS: Final = 3  # of a request to S3
_SECONDS: Final = 10  # until a connection is given up
_TIMES: Final = ("connect_timeout", "request_timeout")
_FLAGS: Final = ("anonymous", "force_virtual_addressing")
_TEXTS: Final = ("region", "scheme", "endpoint_override", "tls_ca_file_path")
_SECRETS: Final = ("access_key", "secret_key", "session_token")
_REASONS: Final = (
    ("NO_SUCH_BUCKET", "there is no such bucket"),
    ("INVALID_ACCESS_KEY_ID", "the access key is not known there"),
    ("SIGNATURE_DOES_NOT_MATCH", "the secret key does not belong to the access key"),
    ("ExpiredToken", "the credentials have expired"),
    ("EXPIRED_TOKEN", "the credentials have expired"),
    ("ACCESS_DENIED", "access denied; the credentials come from the environment or ~/.aws"),
    ("FORBIDDEN", "access denied; the credentials come from the environment or ~/.aws"),
    ("HTTP status 403", "access denied; the credentials come from the environment or ~/.aws"),
    ("HTTP status 301", "the bucket is in another region; give region=… in the query"),
    ("SLOW_DOWN", "the server refuses so many requests"),
    ("HTTP status 503", "the server refuses so many requests, or is not available"),
    ("NETWORK_CONNECTION", "the server cannot be reached"),
    ("UNAVAILABLE", "the server cannot be reached"),
    ("DefaultAzureCredential", "there are no credentials for Azure"),
    ("timed out", "the server does not answer"),
    ("libjvm", "HDFS needs Java and Hadoop's libhdfs (JAVA_HOME, HADOOP_HOME)"),
    ("libhdfs", "HDFS needs Java and Hadoop's libhdfs (JAVA_HOME, HADOOP_HOME)"),
)
_GONE: Final = ("NO_SUCH_KEY", "RESOURCE_NOT_FOUND", "HTTP status 404")
_NO_ACCESS: Final = ("", "")
_SHORTEST: Final = 3  # characters; a shorter word is not a secret
_LONGEST: Final = 300  # characters of a server's own words
_SHORTER: Final = ("HTTP status 416", "InvalidRange", "INVALID_RANGE")


def _secrets(uris: Iterable[str]) -> Iterator[str]:
    """Yield what no message may hold: credentials in the environment and in URIs."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        yield os.environ.get(name, "")
    for uri in uris:
        parts = urlsplit(uri, allow_fragments=False)
        if not parts.scheme.startswith("abfs"):  # whose user is the container
            yield from map(unquote, parts.netloc.rpartition("@")[0].split(":"))
        yield from (value for name, value in parse_qsl(parts.query) if name in _SECRETS)


def _reason(error: BaseException, uri: str = "") -> str:
    """Return why a file system far away refuses, in a few words, without secrets."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    known = next((words for mark, words in _REASONS if mark in text), None)
    detail = re.sub(r"\(Request ID: [^)]*\)|//\S*@", "", text.partition("\n")[0]).strip()
    for secret in _secrets([uri]):
        detail = detail.replace(secret, "…") if len(secret) > _SHORTEST else detail
    return known or detail[:_LONGEST] or type(error).__name__


@contextmanager
def _named(path: str, uri: str) -> Iterator[None]:
    """Raise errors of pyarrow with the path, as the operating system's are, without secrets.

    ``uri`` is as it was given.

    Raises:
        FileNotFoundError: there is no such file or folder.
        OSError: as pyarrow says.
    """
    from pyarrow.lib import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
    except (OSError, ArrowException) as error:
        if any(mark in str(error) for mark in _GONE):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
        raise OSError(errno.EIO, _reason(error, uri), path) from None


class _ArrowFile:
    """An open file of a pyarrow file system.

    Args:
        file: as pyarrow opened it.
        path: its path, and the URI of the file system as it was given, for errors.
        size_now: asks the server for its size.
    """

    def __init__(
        self, file: Any, path: tuple[str, str], size_now: Callable[[], int | None]
    ) -> None:
        self._file = file
        self._path = path
        self._size_now = size_now
        self._size = int(file.size())
        self._lock = threading.Lock()  # of its position

    def size(self) -> int:
        """Return how many bytes it had when it was opened."""
        return self._size

    def version(self) -> int:
        """Return a number that differs between versions of the file, where that is known."""
        from pyarrow.lib import ArrowException

        known: dict[Any, Any] = {}
        with suppress(OSError, ArrowException):
            known = self._file.metadata() or {}
        return zlib.crc32(repr(sorted(known.items())).encode())

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Return bytes from a position, fewer at the end and where the file was shortened.

        Raises:
            OSError: they cannot be read, or fewer come than there are.
        """
        wanted = max(0, min(nbytes, self._size - offset))
        with _named(*self._path):
            try:
                found = self._filled(wanted, offset, 0xA5)
                # pyarrow does not say that a body ended early: then the last byte is unchanged.
                is_short = False
                if len(found) == wanted and found.endswith(b"\xa5"):
                    found = self._filled(wanted, offset, 0x5A)
                    is_short = found.endswith(b"\x5a")
            except OSError as error:
                if any(mark in str(error) for mark in _SHORTER):
                    return b""
                raise
            is_short |= len(found) < wanted and (self._size_now() or 0) >= offset + wanted
            if is_short:
                raise OSError(errno.EIO, f"the server sent fewer than {wanted:,} bytes")
        return bytes(found)

    def _filled(self, wanted: int, offset: int, before: int) -> bytearray:
        """Return bytes read into memory that held another byte before."""
        buffer = bytearray([before]) * wanted
        with self._lock:
            self._file.seek(offset)
            count = int(self._file.readinto(buffer)) if wanted else 0
        del buffer[count:]
        return buffer

    def close(self) -> None:
        """Close it."""
        self._file.close()


class ArrowFiles:
    """A pyarrow file system, read below a prefix.

    Args:
        files: a `pyarrow.fs.FileSystem`.
        uri: as it was given; pickling keeps it alone, as it may hold what is needed to open it.
        folder: the directory in ``files`` that the prefix stands for.

    Attributes:
        uri: as it was given.
    """

    def __init__(self, files: Any, uri: str, folder: str) -> None:
        self._files = files
        self.uri = uri
        self._prefix = _place(uri).prefix
        self._folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return _answering, (self.uri,)

    def _inside(self, path: str) -> str:
        return (self._folder + path.removeprefix(self._prefix)).rstrip("/")

    def open(self, path: str) -> _ArrowFile:
        """Open a file.

        Raises:
            OSError: it cannot be opened.
        """
        with _named(path, self.uri):
            inside = self._inside(path)
            return _ArrowFile(
                self._files.open_input_file(inside),
                (path, self.uri),
                lambda: self._files.get_file_info(inside).size,
            )

    def entry(self, path: str) -> RemoteEntry | None:
        """Return the entry at a path; None if there is none.

        Raises:
            OSError: the file system does not answer.
        """
        from pyarrow.fs import FileType

        with _named(path, self.uri):
            info = self._files.get_file_info(self._inside(path))
        return None if info.type == FileType.NotFound else _entry(info)

    def entries(self, path: str) -> list[RemoteEntry]:
        """Return the entries of a directory.

        Raises:
            OSError: it cannot be listed.
        """
        from pyarrow.fs import FileSelector

        with _named(path, self.uri):
            found = self._files.get_file_info(FileSelector(self._inside(path)))
        return [_entry(info) for info in found]

    def to_write(self, path: str) -> tuple[Any, str]:
        """Return the file system of pyarrow, and a path as it takes it."""
        return self._files, self._inside(path)

    def tree(self, path: str) -> dict[str, list[RemoteEntry]]:
        """Return the entries of a directory and of all directories below it, by their paths.

        Raises:
            OSError: it cannot be listed.
        """
        from pyarrow.fs import FileSelector

        inside = self._inside(path)
        found: dict[str, list[RemoteEntry]] = {path: []}
        with _named(path, self.uri):
            infos = self._files.get_file_info(FileSelector(inside, recursive=True))
        for info in infos:
            entry = _entry(info)
            folder = path + info.path.rpartition("/")[0].removeprefix(inside)
            found.setdefault(folder, []).append(entry)
            if entry.is_folder:
                found.setdefault(f"{folder}/{entry.name}", [])
        return found


def _entry(info: Any) -> RemoteEntry:
    name = sys.intern(info.base_name)  # a million files have few names
    return RemoteEntry(name, not info.is_file, info.size or 0, (info.mtime_ns or 0) // 1_000_000)


class _Place(NamedTuple):
    """What a URI names.

    Attributes:
        prefix: scheme and bucket or server, without credentials: the start of every path there.
        path: the directory, below the prefix.
    """

    prefix: str
    path: str


def _place(uri: str) -> _Place:
    parts = urlsplit(uri, allow_fragments=False)
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme.startswith("abfs") and at:  # the container, perhaps with a password
        host = f"{user.partition(':')[0]}@{host}"
    prefix = f"{parts.scheme}://{host}"
    return _Place(prefix, prefix + unquote(parts.path).rstrip("/"))


def _s3_files(uri: str) -> tuple[Any, str, str]:
    """Return the file system of a URI of S3, with few retries; the URI, and the bucket."""
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem, resolve_s3_region

    parts = urlsplit(uri, allow_fragments=False)
    user, _, bucket = parts.netloc.rpartition("@")
    options: dict[str, Any] = dict.fromkeys(_TIMES, _SECONDS)
    if user:
        key, _, secret = user.partition(":")
        options |= {"access_key": unquote(key), "secret_key": unquote(secret)}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name in _TEXTS or name in _SECRETS:
            options[name] = value
        elif name in _FLAGS:
            options[name] = value.lower() in {"true", "1", ""}
        elif name in _TIMES:
            options[name] = float(value)
        else:
            known = ", ".join((*_TEXTS, *_SECRETS, *_FLAGS, *_TIMES))
            raise ValueError(f"unknown option {name} (expected one of {known})")
    has_region = options.get("region") or os.environ.get("AWS_REGION")
    has_region = has_region or os.environ.get("AWS_DEFAULT_REGION")
    if not has_region and not options.get("endpoint_override"):
        options["region"] = resolve_s3_region(bucket)
    strategy = AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
    return S3FileSystem(retry_strategy=strategy, **options), uri, bucket


def _arrow_files(uri: str) -> ArrowFiles:
    """Return the file system of a URI."""
    from pyarrow.fs import FileSystem

    if uri.startswith("s3://"):
        return ArrowFiles(*_s3_files(uri))
    place, limited = _place(uri), uri
    if uri.startswith("gs://") and "retry_limit_seconds" not in uri:
        limited += ("&" if "?" in uri else "?") + urlencode({"retry_limit_seconds": _SECONDS})
    files, folder = FileSystem.from_uri(limited)
    inside = place.path.removeprefix(place.prefix)
    return ArrowFiles(files, uri, folder.rstrip("/").removesuffix(inside))


def opened(path: str, fs: Files = THIS_MACHINE) -> tuple[str, Files]:
    """Return a path without its query and credentials, and what reads it.

    A path of this machine is returned as it is, unless it leads into an archive.

    Args:
        path: a path of this machine, or a URI.
        fs: what was opened before together with it: a URI without a query is read as the one with
            a query in the same bucket.

    Raises:
        LogDirectoryError: the location cannot be reached, there is no such bucket, access is
            denied, or the scheme is not known. Secrets of the URI are not in the message.
    """
    if path.startswith("file://"):
        path = unquote(urlsplit(path, allow_fragments=False).path)
    if not is_uri(path):
        return opened_archive(path, fs)
    place = _place(path)
    before = mounts_of(fs).get(place.prefix)
    if before is None:
        place = _checked_place(path)
        return place.path, with_mount(fs, place.prefix, CachedFiles(_answering(path)))
    if _access(path) not in {_NO_ACCESS, _access(_uri_of(before))}:
        problem = f"{place.prefix} is given with two queries; open the two by themselves"
        raise LogDirectoryError(place.path, problem)
    return place.path, fs


def _access(uri: str) -> tuple[str, str]:
    """Return the credentials and the query of a URI."""
    parts = urlsplit(uri, allow_fragments=False)
    return parts.netloc.rpartition("@")[0], parts.query


def _uri_of(files: RemoteFiles) -> str:
    """Return the URI that a file system was opened with."""
    inside = files.files if isinstance(files, CachedFiles) else files
    return inside.uri if isinstance(inside, ArrowFiles) else ""


def all_opened(paths: Iterable[str], fs: Files = THIS_MACHINE) -> tuple[tuple[str, ...], Files]:
    """Return several paths, and what reads them all; see `opened`."""
    found = []
    for each in paths:
        path, fs = opened(each, fs)
        found.append(path)
    return tuple(found), fs


def _checked_place(uri: str) -> _Place:
    """Return what a URI names.

    Raises:
        LogDirectoryError: it cannot be opened, whatever a server says.
    """
    scheme, _, rest = uri.partition("://")
    host, _, tail = rest.partition("?")[0].partition("/")
    if "@" not in host and ":" in host and "@" in tail:
        where = f"{scheme}://…@{tail.rpartition('@')[2]}"
        raise LogDirectoryError(where, "a slash in a secret key must be written as %2F")
    place = _place(uri)
    if scheme in _WEB:
        raise LogDirectoryError(place.path, _FROM_WEB)
    if scheme not in SCHEMES:
        named = ", ".join(f"{each}://" for each in SCHEMES)
        raise LogDirectoryError(place.path, f"unknown scheme {scheme}:// (expected {named})")
    if scheme != "hdfs" and place.prefix == f"{scheme}://":
        raise LogDirectoryError(place.path, "no bucket is named")
    return place


def _answering(uri: str) -> ArrowFiles:
    """Return the file system of a URI, once its server has answered.

    Raises:
        LogDirectoryError: it does not, or there is nothing at the path.
    """
    from pyarrow.lib import ArrowException

    place = _place(uri)
    try:
        files = _arrow_files(uri)
        try:
            is_there = files.entry(place.path) is not None
        except OSError:  # its response has no body, so the reason is in that of a list
            is_there = False
        if not is_there:
            files.entries(place.path)  # raises: no such bucket, or nothing at the path
    except FileNotFoundError:
        raise LogDirectoryError(place.path, NOT_THERE) from None
    except (OSError, ValueError, ImportError, ArrowException) as error:
        raise LogDirectoryError(place.path, _reason(error, uri)) from None
    return files


def attach_tier(
    listing: Listing,
    remote: StrPath | None,
    remote_keys: Mapping[str, StrPath] | None,
    fs: Files,
) -> None:
    """Let the partitions of a listing read their segments in a remote tier, too.

    Args:
        listing: what was opened.
        remote: the folder or URL of the tier; None: there is none.
        remote_keys: key id → file of the private key.
        fs: what the listing is read through.

    Raises:
        As `inspection.remote_tier.tier.attach_remote_tier` and `opened`.
    """
    if remote is not None:
        from workbench.inspection.remote_tier.tier import attach_remote_tier

        attach_remote_tier(listing, *opened(os.fspath(remote), fs), _key_files(remote_keys))


def only_in_tier(
    listing: Listing,
    remote: StrPath | None = None,
    remote_keys: Mapping[str, StrPath] | None = None,
) -> list[DiskPartition]:
    """Return the partitions that only the remote tier of a listing has.

    Empty without a tier, and for one that was opened alone; for arguments see `attach_tier`.

    Raises:
        OSError: a folder of the tier cannot be listed.
    """
    if remote is None or any(root.is_tier for root in listing.roots):
        return []
    from workbench.inspection.remote_tier.tier import partitions_without_log

    where = opened(os.fspath(remote), listing.fs)
    return partitions_without_log(listing, *where, _key_files(remote_keys))


def listed_with_tier(
    paths: Iterable[StrPath],
    remote: StrPath | None,
    remote_keys: Mapping[str, StrPath] | None,
    make: MakePartition = DiskPartition,
    fs: Files = THIS_MACHINE,
) -> tuple[Listing, StrPath | None]:
    """List log directories whose partitions also read a remote tier, or a remote tier alone.

    Args:
        paths: log directories, partitions or files; or the tier; none: the tier is read alone.
        remote, remote_keys: see `attach_tier`.
        make: makes a partition.
        fs: what was opened there before.

    Returns:
        The listing, and the tier that it reads; None without one.

    Raises:
        LogDirectoryError: a path does not exist, or its server cannot be reached.
        As `attach_tier`.
    """
    places = [os.fspath(each) for each in paths]
    if not places and remote is not None:
        places = [os.fspath(remote)]
    given, fs = all_opened(places, fs)
    listing = list_log_directories(given, make, fs=fs)
    root = listing.roots[0]
    if root.is_log_directory and len(listing.roots) == 1 and root.nothing_here is not None:
        from workbench.inspection.remote_tier.tier import with_tier_alone

        path = root.path if remote is None else opened(os.fspath(remote), fs)[0]
        listing = with_tier_alone(listing, path, make, _key_files(remote_keys))
        if listing.partitions and remote is None:
            (remote,) = places
    attach_tier(listing, remote, remote_keys, fs)
    return listing, remote


def _key_files(remote_keys: Mapping[str, StrPath] | None) -> dict[str, str]:
    return {key_id: os.fspath(path) for key_id, path in (remote_keys or {}).items()}


def writable_place(uri: str) -> tuple[Any, str]:
    """Return the `pyarrow.fs` file system of a URI, and the path in it, to write to.

    Raises:
        LogDirectoryError: the location cannot be reached, or the scheme is not known.
    """
    from pyarrow.lib import ArrowException

    place = _checked_place(uri)
    try:
        files = _arrow_files(uri)
    except (OSError, ValueError, ImportError, ArrowException) as error:
        raise LogDirectoryError(place.path, _reason(error, uri)) from None
    return files.to_write(place.path)
