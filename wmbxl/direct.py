"""Ranges of S3 objects by plain HTTP, from URLs that the filesystem signs.

The filesystem's own reads go through an event loop and are copied four times, which takes half as much CPU as to scan
plain text. Here a thread reads a range into one buffer and leaves Python's lock to the scan meanwhile. Whatever is
not as expected is left to the filesystem, which knows what to do and to say.
"""

from __future__ import annotations

import functools
import threading
import time
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

import urllib3
from botocore.httpsession import get_cert_path
from fsspec import AbstractFileSystem

LIFETIME = 3600  # seconds for which a URL is signed
CONNECTIONS = 128  # kept open to one server

# With these a plain request is the same as the filesystem's; others may name proxies, certificates or keys.
_CONFIG = {
    "connect_timeout",
    "read_timeout",
    "retries",
    "s3",
    "signature_version",
    "region_name",
    "max_pool_connections",
}
_CLIENT = {"endpoint_url", "region_name", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}

Fetcher = Callable[[int, int], bytes]


def fetcher(filesystem: AbstractFileSystem, path: str, etag: str, ordinary: Fetcher) -> Fetcher:
    """Return what gives the bytes of an object of S3 between two positions, as long as it is the same version.

    Parameters
    ----------
    filesystem : s3fs.S3FileSystem
    path : str
    etag : str
    ordinary : callable
        The filesystem's own way, for stores that need more than a plain request.
    """
    plain = (
        set(filesystem.config_kwargs) <= _CONFIG
        and set(filesystem.client_kwargs) <= _CLIENT
        and not filesystem.s3_additional_kwargs
        and not getattr(filesystem, "local_expiry_check", False)  # for servers that don't know If-Match
    )
    return _Ranges(filesystem, path, etag, ordinary) if plain else ordinary


@functools.cache
def _connections(connect: float, read: float, authorities: str) -> urllib3.PoolManager:
    return urllib3.PoolManager(
        maxsize=CONNECTIONS, retries=False, timeout=urllib3.Timeout(connect=connect, read=read),
        cert_reqs="CERT_REQUIRED", ca_certs=authorities,
    )  # fmt: skip


class _Ranges:
    """One object; what is called returns the bytes between two positions."""

    def __init__(self, filesystem: AbstractFileSystem, path: str, etag: str, ordinary: Fetcher) -> None:
        self._filesystem, self._path, self._ordinary = filesystem, path, ordinary
        self._headers = {"If-Match": etag}
        if payer := filesystem.req_kw.get("RequestPayer"):
            self._headers["x-amz-request-payer"] = payer
        self._lock = threading.Lock()
        self._url, self._signed = "", 0.0

    def __call__(self, begin: int, end: int) -> bytes:
        url = self._signed_url()
        if _has_proxy(url):
            return self._ordinary(begin, end)
        headers = {**self._headers, "Range": f"bytes={begin}-{end - 1}"}
        try:
            answer = self._connections().request("GET", url, headers=headers, preload_content=False)
            if answer.status == 206:
                # Undecoded: an object may say that it is gzip, and a range of it is none.
                data: bytes = answer.read(end - begin, decode_content=False)
                if missing := end - begin - len(data):
                    raise urllib3.exceptions.IncompleteRead(len(data), missing)
                answer.release_conn()
                return data
            answer.close()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            # Without what it says: that has the signed URL.
            where = f"{urlsplit(url).netloc}: {type(error).__name__}"
            raise OSError(f"{where} while bytes {begin:,} to {end:,} were read") from None
        if answer.status >= 500:
            raise OSError(f"{urlsplit(url).netloc} answered {answer.status} {answer.reason}")
        self._url = ""  # it may have expired
        return self._ordinary(begin, end)

    def _connections(self) -> urllib3.PoolManager:
        limits = self._filesystem.config_kwargs
        bundle = self._filesystem.session.get_config_variable("ca_bundle")  # of AWS_CA_BUNDLE or a profile
        return _connections(limits["connect_timeout"], limits["read_timeout"], get_cert_path(bundle or True))

    def _signed_url(self) -> str:
        with self._lock:
            if not self._url or time.monotonic() > self._signed + LIFETIME / 2:
                kwargs = self._filesystem.req_kw
                self._url = self._filesystem.sign(self._path, expiration=LIFETIME, **kwargs)
                self._signed = time.monotonic()
            return self._url


def _has_proxy(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(parts.netloc)
