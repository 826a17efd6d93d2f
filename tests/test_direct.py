"""Ranges by plain HTTP: the right bytes of the right version; all else is left to the filesystem; no secrets."""

from __future__ import annotations

import gzip
import random
import time
from typing import Any

import pytest

from tests.s3 import KEY, Faults, Proxy, Server
from wmbxl import direct, stores

DATA = random.Random(0).randbytes(300_000)
PLACE = "corpora/direct/object"


def unwanted(begin: int, end: int) -> bytes:
    raise AssertionError("the filesystem's own way was taken")


def reader(options: dict[str, Any], ordinary: direct.Fetcher = unwanted) -> direct.Fetcher:
    """Put an object on the server, and return what reads its ranges."""
    filesystem, path = stores.locate(f"s3://{PLACE}", options)
    filesystem.pipe_file(path, DATA)
    return direct.fetcher(filesystem, path, filesystem.info(path, refresh=True)["ETag"], ordinary)


def test_ranges_are_read_by_one_request_each(s3: Server, proxy: Proxy) -> None:
    read = reader(s3.options(proxy.port))
    proxy.heads.clear()
    assert read(0, len(DATA)) == DATA
    assert read(1000, 1001) == DATA[1000:1001]
    assert read(250_000, len(DATA)) == DATA[250_000:]
    assert [head.split(b"?")[0] for head in proxy.heads] == [f"GET /{PLACE}".encode()] * 3
    assert all(b"if-match:" in head.lower() for head in proxy.heads)


def test_an_object_that_says_it_is_encoded(s3: Server) -> None:
    data = gzip.compress(DATA)
    s3.files.pipe_file("corpora/direct/encoded", data, ContentEncoding="gzip")
    filesystem, path = stores.locate("s3://corpora/direct/encoded", s3.options())
    head = filesystem.call_s3("head_object", Bucket="corpora", Key="direct/encoded")
    assert head["ContentEncoding"] == "gzip"
    read = direct.fetcher(filesystem, path, head["ETag"], unwanted)
    assert read(0, len(data)) == data
    assert read(5, 100) == data[5:100]


def test_a_bucket_that_anybody_may_read(s3: Server) -> None:
    s3.files.pipe_file("public/object", DATA)
    options = {"anon": True, "endpoint_url": f"http://127.0.0.1:{s3.port}"}
    filesystem, path = stores.locate("s3://public/object", options)
    read = direct.fetcher(filesystem, path, filesystem.info(path)["ETag"], unwanted)
    assert read(10, 20) == DATA[10:20]


def test_an_object_that_changed_is_left_to_the_filesystem(s3: Server) -> None:
    asked = []
    read = reader(s3.options(), lambda begin, end: asked.append((begin, end)) or b"told")
    s3.files.pipe_file(PLACE, b"x" * len(DATA))
    assert read(0, 10) == b"told"
    assert asked == [(0, 10)]


def test_an_url_is_signed_again_before_it_expires(s3: Server, proxy: Proxy) -> None:
    read = reader(s3.options(proxy.port))
    assert isinstance(read, direct._Ranges)
    urls = []
    for _ in range(2):
        assert read(0, 1) == read(0, 1) == DATA[:1]
        urls.append(read._url)
        read._signed -= direct.LIFETIME / 2
        time.sleep(1.1)  # signatures tell seconds
    assert urls[0] != urls[1]


def test_an_expired_url_is_left_to_the_filesystem(s3: Server) -> None:
    read = reader(s3.options(), lambda begin, end: b"by itself")
    assert isinstance(read, direct._Ranges)
    assert read(0, 1) == DATA[:1]
    read._url = read._url.replace("X-Amz-Expires=3600", "X-Amz-Expires=1")
    assert read(0, 1) == b"by itself"
    assert read(0, 1) == DATA[:1]  # signed again


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        (Faults(resets=1), "Protocol"),
        (Faults(truncated=1), "Protocol|Incomplete"),
        (Faults(slow_down=1), "answered 503"),
    ],
    ids=["reset", "truncated", "slow_down"],
)
def test_a_fault_is_told_without_the_signed_url(s3: Server, proxy: Proxy, faults: Faults, told: str) -> None:
    read = reader(s3.options(proxy.port))
    proxy.faults = faults
    with pytest.raises(OSError, match=told) as caught:
        read(0, len(DATA))
    seen = f"{caught.value}{caught.value.__cause__}{caught.value.args}"
    assert KEY not in seen
    assert "Signature" not in seen
    assert read(0, len(DATA)) == DATA


def test_a_server_that_is_gone(s3: Server) -> None:
    with Proxy(s3.port) as proxy:
        read = reader(s3.options(proxy.port, config_kwargs={"read_timeout": 1}))
        read(0, 1)
    with pytest.raises(OSError, match=f"127.0.0.1:{proxy.port}: ") as caught:
        read(0, 1)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        {"s3_additional_kwargs": {"RequestPayer": "requester"}},
        {"config_kwargs": {"proxies": {}}},
        {"client_kwargs": {"verify": False}},
        {"local_expiry_check": True},
    ],
    ids=["arguments", "proxies", "certificates", "etags"],
)
def test_settings_that_only_the_filesystem_knows_how_to_follow(s3: Server, more: dict[str, Any]) -> None:
    assert reader(s3.options(**more)) is unwanted


def test_a_proxy_of_the_environment_is_left_to_the_filesystem(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read = reader(s3.options(), lambda begin, end: b"through the proxy")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert read(0, 10) == b"through the proxy"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read(0, 10) == DATA[:10]
