"""Where files live: stores reached through fsspec, with time limits, retries in one place, and what errors mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tenacity
from fsspec import AbstractFileSystem
from fsspec.utils import get_protocol

from wmbxl.errors import Unreadable
from wmbxl.filesystems import filesystem_of

TRIES = 8
LONGEST = 120  # seconds after which no further try begins
CONNECT_TIMEOUT = 5  # seconds
READ_TIMEOUT = 15  # seconds without a byte

_PERMANENT = (
    FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError, NotImplementedError,
    ValueError, TypeError, ImportError,
)  # fmt: skip


def locate(url: str, storage_options: Mapping[str, Any]) -> tuple[AbstractFileSystem, str]:
    """Return the filesystem that a URL lies in, and the path there.

    A store that hangs is given up after `CONNECT_TIMEOUT` or `READ_TIMEOUT` seconds a try, and only `retry` tries
    again, unless `storage_options` say otherwise (``config_kwargs`` for S3, ``client_kwargs`` for HTTP).
    """
    protocol = get_protocol(url)
    if protocol in ("s3", "s3a"):
        return _locate_s3(url, dict(storage_options))
    if protocol in ("http", "https"):
        return filesystem_of(url, **_with_http_limits(dict(storage_options)))
    return filesystem_of(url, **storage_options)


def _locate_s3(url: str, options: dict[str, Any]) -> tuple[AbstractFileSystem, str]:
    given = options.get("config_kwargs") or {}
    options["config_kwargs"] = {
        "connect_timeout": CONNECT_TIMEOUT,
        "read_timeout": READ_TIMEOUT,
        "signature_version": "s3v4",  # or botocore signs URLs in the older way, which not all buckets accept
        # botocore and s3fs would each try five times: 25 tries within every one of ours.
        "retries": {"total_max_attempts": 1},
        **given,
    }
    filesystem, path = filesystem_of(url, **options)
    filesystem.retries = 1  # no argument sets it
    return filesystem, path


def _with_http_limits(options: dict[str, Any]) -> dict[str, Any]:
    try:
        from aiohttp import ClientTimeout  # optional
    except ImportError:  # fsspec says what to install
        return options
    limits = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT, sock_read=READ_TIMEOUT)
    options["client_kwargs"] = {"timeout": limits, **(options.get("client_kwargs") or {})}
    return options


def is_local(filesystem: AbstractFileSystem) -> bool:
    """Whether a filesystem is this machine's own."""
    return _speaks(filesystem, "file")


def is_s3(filesystem: AbstractFileSystem) -> bool:
    """Whether a filesystem is S3 or speaks like it."""
    return _speaks(filesystem, "s3")


def _speaks(filesystem: AbstractFileSystem, name: str) -> bool:
    protocol = filesystem.protocol
    return name in ((protocol,) if isinstance(protocol, str) else protocol)


def open_listed(filesystem: AbstractFileSystem, path: str, size: int, version: str, **how: Any) -> Any:
    """Open a file; an object of S3 whose size and etag a listing told isn't asked for them again.

    Each read of such an object is on condition that it is still the same one.
    """
    if not same_throughout(filesystem, size, version):
        return filesystem.open(path, "rb", **how)
    file = filesystem.open(path, "rb", size=size, **how)
    file.details = {"name": path, "size": size, "ETag": version}
    if not getattr(filesystem, "local_expiry_check", False):  # s3fs compares etags itself then
        file.req_kw = file.read_kw = {**file.req_kw, "IfMatch": version}
    return file


def same_throughout(filesystem: AbstractFileSystem, size: int, version: str) -> bool:
    """Whether `open_listed` lets nobody read another version of a file than the one that was listed."""
    return is_s3(filesystem) and size > 0 and bool(version)


def real_error(error: BaseException) -> BaseException:
    """Return what happened: fsspec calls a file missing when its HTTP server could not be reached."""
    cause = error.__cause__
    if not isinstance(error, FileNotFoundError) or cause is None or isinstance(cause, _PERMANENT):
        return error
    connection = _is_a(cause, "ClientConnectionError")  # of aiohttp
    return cause if connection or isinstance(cause, OSError | TimeoutError) else error


def _is_a(error: BaseException, name: str) -> bool:
    """Whether an error is of a class by its name, so that a store's package isn't imported for its errors."""
    return any(base.__name__ == name for base in type(error).__mro__)


def _passing(error: BaseException) -> bool:
    real = real_error(error)
    lasting = isinstance(real, (*_PERMANENT, Unreadable)) or _is_a(real, "FileExpired") or _is_refused(real)
    return isinstance(real, Exception) and not lasting


def _is_refused(error: BaseException) -> bool:
    """Whether credentials lack, which botocore tells by errors of its own."""
    return any(_is_a(error, name) for name in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"))


retry = tenacity.Retrying(
    retry=tenacity.retry_if_exception(_passing),
    stop=tenacity.stop_after_attempt(TRIES) | tenacity.stop_after_delay(LONGEST),
    wait=tenacity.wait_random_exponential(multiplier=0.5, max=30),  # "full jitter"
    reraise=True,
)


def list_s3(filesystem: AbstractFileSystem, base: str, begin: str = "") -> Iterator[dict[str, Any]]:
    """Yield the objects below a folder whose next part begins with `begin`, a page of keys at a time.

    `find` of the filesystem holds all of them, and keeps them.
    """
    bucket, _, folder = base.strip("/").partition("/")
    prefix = f"{folder}/{begin}" if folder else begin
    page: dict[str, Any] = {"IsTruncated": True}
    while page["IsTruncated"]:
        after = {"ContinuationToken": page["NextContinuationToken"]} if "NextContinuationToken" in page else {}
        page = retry(filesystem.call_s3, "list_objects_v2", Bucket=bucket, Prefix=prefix, **after, **filesystem.req_kw)
        for item in page.get("Contents", ()):
            if item["Size"] or not item["Key"].endswith("/"):  # an empty one stands for a folder
                yield {**item, "name": f"{bucket}/{item['Key']}", "size": item["Size"]}


def get(filesystem: AbstractFileSystem, path: str) -> bytes:
    """Return the bytes of a file; of S3 by one request (s3fs would first ask for the size)."""
    data: bytes = filesystem.cat_file(path, **({"max_concurrency": 1} if is_s3(filesystem) else {}))
    return data


def put_new(filesystem: AbstractFileSystem, path: str, data: bytes) -> None:
    """Write an object that appears whole, unless there is one by that name already.

    S3 is asked not to write it twice. Other stores, and those that speak like S3 but can't do this, replace it.
    """

    def put() -> None:
        if not is_s3(filesystem):
            filesystem.pipe_file(path, data)
            return
        try:
            filesystem.pipe_file(path, data, mode="create")
        except OSError as error:
            code = getattr(error.__cause__, "response", {}).get("Error", {}).get("Code")
            if code == "NotImplemented":
                filesystem.pipe_file(path, data)
            elif code != "PreconditionFailed":  # which says that it is there, perhaps from a try whose answer was lost
                raise

    retry(put)


def last_word(error: BaseException) -> str:
    """Return what a person is told of an error that `retry` let through, in this thread, just now."""
    real = real_error(error)
    tries = retry.statistics.get("attempt_number", 1) if _passing(error) else 1
    return f"{type(real).__name__}: {real}" + (f" (given up after {tries} tries)" if tries > 1 else "")


def unreadable(url: str, error: BaseException, position: int | None = None) -> Unreadable:
    """Return an error as the ledger names it."""
    real = real_error(error)
    if isinstance(real, Unreadable):
        return real
    if isinstance(real, FileNotFoundError):
        return Unreadable("missing", f"{url}: the file is gone", position)
    if isinstance(real, PermissionError) or _is_refused(real):
        return Unreadable("permission_denied", f"{url}: permission denied: check rights or credentials", position)
    if _is_a(real, "FileExpired"):  # of s3fs: the object has another etag than when it was opened
        return changed(url)
    return Unreadable("io_error", f"{url}: {last_word(error)}", position)


def changed(url: str) -> Unreadable:
    """Return the fault of a file that is another one than when it was listed."""
    return Unreadable("changed", f"{url}: changed while it was read: run the audit again")
