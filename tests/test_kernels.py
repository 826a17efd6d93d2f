"""Each kernel against plain Python."""

import functools
import itertools
import json
import struct
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding as llvm

from tests import naive, strategies
from wmbxl import folding, hashing, kernels, vector
from wmbxl import text as text_module
from wmbxl.batches import Batch
from wmbxl.benchmark import Benchmark
from wmbxl.folding import Folder, small_letters
from wmbxl.index import ProbeIndex

Array = np.ndarray[Any, Any]
Found = list[tuple[int, str, int, int]]  # document, n-gram, first byte and byte after the last, in the document


def _no_ids(docs: Sequence[int]) -> list[str | None]:
    return [None] * len(docs)


def packed(documents: list[bytes]) -> tuple[Array, Array]:
    """Return documents as a batch holds them: padded to 64 bytes, and not writable."""
    texts = pa.array(documents, pa.large_binary())
    batch = Batch.of(texts, np.arange(len(documents)), _no_ids)
    return batch.data, batch.offsets


def folded(text: str, profile: str) -> bytes:
    """Return a text as the kernel wants it: no capitals outside ASCII in the release profile."""
    text = naive.clean(text)
    return (text.lower() if profile == "release" else text).encode()


def find(index: ProbeIndex, documents: list[bytes], buffer: int | None = None) -> tuple[Found, int, int]:
    """Return the matches, the tokens of all documents, and the number of calls that it took."""
    data, offsets = packed(documents)
    state, scratch = kernels.new_state(), kernels.new_scratch()
    totals = np.zeros(1 + len(index.ns), dtype=np.int64)
    least = int(index.tables().parameters[kernels.STRIDE]) * len(index.ns)
    found = np.empty((buffer or least + 1000, 4), dtype=np.int64)
    matches: Found = []
    calls = 0
    while state[kernels.DOC] < len(documents):
        count = kernels.find_matches(data, offsets, index.tables(), state, scratch, totals, found)
        calls += 1
        for doc, gram, start, end in found[:count].tolist():
            matches.append((doc, index.ngram(gram), start - int(offsets[doc]), end - int(offsets[doc])))
    return matches, int(totals[0]), calls


def expected(surfaces: list[str], documents: list[bytes], ns: tuple[int, ...], profile: str) -> Found:
    known = {gram for text in surfaces for n in ns for gram in naive.ngrams(naive.tokens(text, profile), n)}
    out: Found = []
    for doc, data in enumerate(documents):
        text = data.decode()
        at = np.cumsum([0, *(len(char.encode()) for char in text)]).tolist()
        spans = naive.token_spans(text, profile)
        for i, (start, _, _) in enumerate(spans):
            for n in ns:
                gram = " ".join(token for _, _, token in spans[i : i + n])
                if i + n <= len(spans) and gram in known:
                    out.append((doc, gram, at[start], at[spans[i + n - 1][1]]))
    return out


def index_of(surfaces: list[str], ns: tuple[int, ...] = (1,), profile: str = "release") -> ProbeIndex:
    named = {str(i): text for i, text in enumerate(surfaces)}
    return ProbeIndex.build(Benchmark.from_surfaces(named), ns, profile)  # type: ignore[arg-type]


AWKWARD = "\\alpha\u2003B\u0085{c}\\\\d \\1 e\\f$ \u3000x\u1680\\Gamma\u00a0\\é y\\"
BEFORE, AFTER = b"x\\alph", b"abc{ "  # a command that would go on, letters that would go on


@pytest.mark.parametrize("profile", ["release", "raw"])
def test_tokens_at_every_offset_in_a_block(profile: str) -> None:
    """With n = 1 and the document as the benchmark, matches are tokens."""
    document = folded(AWKWARD, profile)
    index = index_of([AWKWARD], profile=profile)
    spans = expected([AWKWARD], [document], (1,), profile)
    for shift in range(140):
        for tail in (b"", AFTER, AFTER * 30):
            documents = [BEFORE + b"." * shift, document, tail]
            found, tokens, _ = find(index, documents)
            assert [match[1:] for match in found if match[0] == 1] == [match[1:] for match in spans]
            assert tokens == sum(len(naive.tokens(text.decode(), profile)) for text in documents)


@pytest.mark.parametrize("profile", ["release", "raw"])
@pytest.mark.parametrize(
    "piece", ["a ", "\\a", "\\a ", "{", "\u2003", "\u3000b", "中", "😀 ", "\\", "é\\é", "A1", "\u0085", "\u200b"]
)
def test_runs_over_block_edges(piece: str, profile: str) -> None:
    for length in [1, 7, 15, 16, 21, 22, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200]:
        text = piece * length
        for ending in ("", "z", " z", "\\z"):
            document = folded(text + ending, profile)
            _, tokens, _ = find(index_of(["none"], profile=profile), [document, b"z"])
            assert tokens == len(naive.tokens(text + ending, profile)) + 1


@pytest.mark.parametrize("profile", ["release", "raw"])
def test_every_oddity(profile: str) -> None:
    documents = [folded(text, profile) for text in strategies.ODDITIES]
    texts = [document.decode() for document in documents]
    for n in (1, 2):
        found, tokens, _ = find(index_of(texts, (n,), profile), documents)
        assert tokens == sum(len(naive.tokens(text, profile)) for text in texts)
        assert found == expected(texts, documents, (n,), profile)


@pytest.mark.parametrize("held", [128, 129, 200])
def test_a_document_longer_than_the_tokens_held(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """Windows lie across every place where tokens are dropped, for the longest n too."""
    monkeypatch.setattr(kernels, "TOKENS_HELD", held)
    surface = " ".join(f"w{i}" for i in range(70))
    for ns in [(1,), (13,), (64,), (2, 13, 64)]:
        index = index_of([surface], ns)
        document = b"".join(b"x " * shift + surface.encode() + b"\n" for shift in range(40))
        found, tokens, _ = find(index, [document, document])
        assert tokens == 2 * (40 * 70 + sum(range(40)))
        assert found == expected([surface], [document, document], ns, "release")


def test_tokens_held_exactly() -> None:
    surface = " ".join("abcdefghijklm")
    index = index_of([surface], (13,))
    for tokens in range(kernels.TOKENS_HELD - 70, kernels.TOKENS_HELD + 70):
        document = b"x " * (tokens - 13) + surface.encode()
        found, counted, _ = find(index, [document])
        assert counted == tokens
        assert [match[1] for match in found] == [surface]


@pytest.mark.parametrize("ns", [(1,), (3,), (13,), (1, 2, 8), (2, 64)])
def test_a_full_buffer_is_emptied_and_the_scan_goes_on(ns: tuple[int, ...]) -> None:
    surface = "so " * 70
    documents = [b"so " * 300, b"", b"so " * 3, b"x " + b"so " * 150, b"so " * 2000]
    index = index_of([surface], ns)
    whole, tokens, once = find(index, documents, 1 << 16)
    assert once == 1
    assert whole == expected([surface], documents, ns, "release")
    least = int(index.tables().parameters[kernels.STRIDE]) * len(ns)
    for buffer in (least, least + 1, 2 * least + 3):
        again, counted, calls = find(index, documents, buffer)
        assert again == whole
        assert counted == tokens
        assert calls > 1


@settings(deadline=None, max_examples=150)
@given(strategies.corpora(), strategies.profiles())
def test_matches_of_any_corpus(example: strategies.Example, profile: str) -> None:
    surfaces = [text for channels in example.problems.values() for text in channels.values()]
    documents = [folded(text, profile) for text in example.documents]
    found, tokens, _ = find(index_of(surfaces, example.ns, profile), documents)
    assert tokens == sum(len(naive.tokens(document.decode(), profile)) for document in documents)
    assert found == expected(surfaces, documents, example.ns, profile)


def test_no_documents() -> None:
    assert find(index_of(["a"]), []) == ([], 0, 0)
    assert find(index_of(["a"]), [b"", b"", b"a"]) == ([(2, "a", 0, 1)], 1, 1)


# ---------------------------------------------------------------- case


def check_folding(texts: list[str]) -> None:
    """Folding changes what lower-casing changes, except that ASCII is left to the kernels."""
    data, offsets = packed([text.encode() for text in texts])
    folded = Folder(release=True).fold(Batch(data, offsets, np.arange(len(texts)), _no_ids))
    for doc, text in enumerate(texts):
        part = folded.data[folded.offsets[doc] : folded.offsets[doc + 1]].tobytes().decode()
        assert part.lower() == text.lower()
        assert all(ord(char) < 0x80 or char.lower() == char for char in part)
        first, bounds = folded.resized["first"], folded.offsets[doc : doc + 2]
        resized = ((first >= bounds[0]) & (first < bounds[1])).any()
        assert resized or [len(char.encode()) for char in part] == [len(char.encode()) for char in text]
    assert data.tobytes() == packed([text.encode() for text in texts])[0].tobytes()  # what was read stays


@pytest.mark.usefixtures("either_tier")
def test_every_letter_is_folded() -> None:
    everything = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    check_folding(everything)
    changed = np.flatnonzero(np.arange(len(small_letters())) != small_letters())
    assert set(changed.tolist()) == {ord(char) for char in everything if char.lower() != char}


@pytest.mark.parametrize(
    "char", ["É", "İ", "Σ", "ΑΣΑ", "ΑΣ\u03a2", "\u212a", "\U00010400", "é", "中", "😀", "\u3000Α\u3000", " Σ\u0085"]
)
def test_capitals_at_every_offset(char: str) -> None:
    for before in range(132):
        for after in (0, 1, 63, 64, 65):
            check_folding(["a" * before, "b" * (before % 7) + char + "c" * after, "d " * 35, char])


def check_places(texts: list[str]) -> None:
    """Whatever a match begins and ends with, it is found again in what was read."""
    data, offsets = packed([text.encode() for text in texts])
    folded = Folder(release=True).fold(Batch(data, offsets, np.arange(len(texts)), _no_ids))
    for doc, text in enumerate(texts):
        small = folded.data[folded.offsets[doc] : folded.offsets[doc + 1]].tobytes().decode()
        origin = text_module.original_positions(text)
        points = np.array([(start, stop) for start in range(len(small)) for stop in range(start + 1, len(small) + 1)])
        if not len(points):
            continue
        sizes = np.append(0, np.cumsum([len(char.encode()) for char in small]))
        spans, places = folded.original(np.full(len(points), doc), folded.offsets[doc] + sizes[points], points)
        assert places.tolist() == [[origin[start], origin[stop - 1] + 1] for start, stop in points.tolist()]
        bounds = offsets[doc] + np.append(0, np.cumsum([len(char.encode()) for char in text]))
        assert spans.tolist() == bounds[places].tolist()


RESIZED = ["İ", "\\İ", "Ⱥ", "\u212a", "\u2126", "ẞ", "a", " ", "É", "ΑΣ", "中"]


@pytest.mark.usefixtures("either_tier")
@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.sampled_from("".join(RESIZED)), max_size=12), max_size=4), st.sampled_from([1, 2, 1024]))
def test_places_before_letters_changed_their_length(texts: list[str], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_WORDS_HELD", held)
        check_folding(texts)
        check_places(texts)


@pytest.mark.usefixtures("either_tier")
@pytest.mark.parametrize("held", [1, 1024])
def test_folding_of_every_oddity(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(folding, "_WORDS_HELD", held)
    check_folding([naive.clean(text) for text in strategies.ODDITIES])


@pytest.mark.usefixtures("either_tier")
@settings(deadline=None)
@given(st.lists(strategies.documents(), max_size=4))
def test_folding_of_any_text(texts: list[str]) -> None:
    check_folding([naive.clean(text) for text in texts])


@pytest.mark.usefixtures("either_tier")
def test_nothing_to_fold_is_not_copied() -> None:
    data, offsets = packed([b"Abc", "é".encode()])
    batch = Batch(data, offsets, np.arange(2), _no_ids)
    assert Folder(release=True).fold(batch).data is batch.data
    assert Folder(release=False).fold(batch).data is batch.data


@settings(deadline=None)
@given(st.lists(st.text(" \t\u2028\u3000\x1f\x85a\u200b", max_size=5), max_size=6))
def test_blank_documents(texts: list[str]) -> None:
    data, offsets = packed([text.encode() for text in texts])
    batch = Batch(data, offsets, np.arange(len(texts)), _no_ids)
    assert batch.blank_documents() == [doc for doc, text in enumerate(texts) if not text.strip()]


# ---------------------------------------------------------------- JSON strings

ESCAPES = [
    *["\\n", "\\t", "\\r", "\\b", "\\f", "\\/", "\\\\", '\\"'],
    *["\\u0000", "\\u00e9", "\\u4E2d", "\\uFFFF", "\\uD83D\\uDE00"],
    *["\\ud800", "\\udfff", "\\ud83d", "\\ude00"],
    *["a", "n", "u", "é", "中", "😀", "\x00", " " * 63, "x" * 64],
]


def padded(data: Array) -> Array:
    return np.concatenate([data, np.full(128, ord("\\"), dtype=np.uint8)])


def unescaped(strings: list[str]) -> list[str]:
    source, bounds = packed([string.encode() for string in strings])
    places = np.stack([bounds[:-1] + 1, bounds[1:] - 1], axis=1)  # without quotes
    out, offsets = np.empty(len(source) + 64, dtype=np.uint8), np.zeros_like(bounds)
    kernels.unescape(padded(source), places, out, offsets)
    return [out[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets.tolist())]


def check_strings(strings: list[str]) -> None:
    assert unescaped(strings) == [naive.clean(json.loads(string, strict=False)) for string in strings]


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(ESCAPES), max_size=12), max_size=5))
def test_json_strings(parts: list[list[str]]) -> None:
    check_strings([f'"{"".join(pieces)}"' for pieces in parts])


@pytest.mark.parametrize("escape", ESCAPES)
def test_json_strings_at_every_offset(escape: str) -> None:
    for before in range(70):
        for tail in ("", "é", "z" * 70):
            check_strings([f'"{"y" * before}{escape}{tail}"', '"\\u0041"'])


# ---------------------------------------------------------------- places


@settings(deadline=None)
@given(st.lists(st.text("aé中😀\u0301 ", max_size=200), min_size=1, max_size=4), st.data())
def test_code_points(texts: list[str], data: st.DataObject) -> None:
    encoded = [text.encode() for text in texts]
    bytes_, offsets = packed(encoded)
    rows, points = [], []
    for doc, text in enumerate(texts):
        places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
        for start, end in sorted({tuple(sorted(pair)) for pair in data.draw(st.lists(places, max_size=5))}):
            first, last = len(text[:start].encode()), len(text[:end].encode())
            rows.append([doc, 0, offsets[doc] + first, offsets[doc] + last])
            points.append([start, end])
    out = np.full((len(rows), 2), -1, dtype=np.int64)
    kernels.code_points(bytes_, offsets, np.array(rows, dtype=np.int64).reshape(-1, 4), out)
    assert out.tolist() == points


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=20))
def test_priorities_are_xxh64(pairs: list[tuple[int, int]]) -> None:
    documents, starts = (np.array([pair[i] for pair in pairs], dtype=np.uint64) for i in (0, 1))
    want = [xxhash.xxh64_intdigest(struct.pack("<QQ", *pair)) for pair in pairs]
    assert hashing.evidence_priority(documents, starts).tolist() == want


# ---------------------------------------------------------------- JSON values

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('a"\\[]{},é ', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('k"\\]}', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def split(data: bytes, cuts: list[int], most: int) -> list[bytes]:
    """Split as the reader does, the data coming in pieces."""
    state, spans = np.zeros(kernels.VALUES_STATE, dtype=np.int64), np.empty((most, 2), dtype=np.int64)
    held = bytearray()
    out: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        held += data[start:end]
        finished = False
        while not finished:
            array = np.frombuffer(bytes(held), dtype=np.uint8)
            count, finished = kernels.split_values(array, state, spans)
            out += [array[a:b].tobytes() for a, b in spans[:count].tolist()]
            del held[: kernels.release_values(state, len(held))]
    return out + ([bytes(held)] if held.strip() else [])


@pytest.mark.parametrize("indent", [None, 0, 2])
@settings(deadline=None)
@given(st.lists(VALUES, max_size=5), st.integers(1, 3), st.data())
def test_values_of_an_array(indent: int | None, values: list[Any], most: int, data: st.DataObject) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=False).encode() + b"\n"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    assert [json.loads(item) for item in split(text, cuts, most)] == values


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text("k", min_size=1), VALUES, min_size=1), max_size=5), st.data())
def test_values_one_after_the_other(values: list[Any], data: st.DataObject) -> None:
    glue = data.draw(st.sampled_from(["\n", "", " \r\n\n"]))
    text = glue.join(json.dumps(value, indent=1) for value in values).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    assert [json.loads(item) for item in split(text, cuts, 2)] == values


def test_values_cut_at_every_byte() -> None:
    values = [{'a\\"]': ["}", {}]}, "x,]", [[1], []], -1.5, None]
    text = json.dumps(values).encode()
    for cut in range(len(text) + 1):
        assert [json.loads(item) for item in split(text, [cut], 7)] == values


# ---------------------------------------------------------------- UTF-8


def decodes(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)), max_size=6))
def test_what_is_utf8(documents: list[bytes]) -> None:
    offsets = np.cumsum([0, *map(len, documents)])
    tight = np.frombuffer(b"".join(documents), dtype=np.uint8)
    roomy = np.frombuffer(b"".join([*documents, b"\0" * 64]), dtype=np.uint8)
    good = all(map(decodes, documents))
    assert kernels.are_utf8(roomy, offsets) == good
    assert good or not kernels.are_utf8(tight, offsets)


@pytest.mark.parametrize("before", [0, 60, 61, 62, 63])
def test_every_lead_byte_over_block_edges(before: int) -> None:
    edges = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    tails = [b"", b"\x7f", *(bytes(tail) for k in (1, 2, 3) for tail in itertools.product((0x80, 0xBF), repeat=k))]
    wrong = []
    for lead, second in itertools.product(range(0x80, 0x100), edges):
        for tail in tails:
            document = b"a" * before + bytes([lead, second]) + tail
            data = np.frombuffer(document + b"b" * 64, dtype=np.uint8)
            if kernels.are_utf8(data, np.array([0, len(document)])) != decodes(document):
                wrong.append(document[before:])
    assert not wrong


# ---------------------------------------------------------------- bits


def way(name: str) -> Any:
    """Return one of the ways to do something, which this processor may not be given but can go."""
    if name.endswith("at_once") and llvm.llvm_version_info[0] < 20:
        pytest.skip("this LLVM can't pack bytes")
    if name == "put_unescaped_by_group" and not vector.shuffles:
        pytest.skip("this processor can't look up bytes in bytes")
    return getattr(vector, name)


compiled = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="one way only, with the compiler off")


@pytest.mark.parametrize(
    "name",
    ["put_positions", *(pytest.param(f"put_positions_{how}", marks=compiled) for how in ("at_once", "by_group"))],
)
def test_positions_of_bits(name: str) -> None:
    put = way(name)

    @numba.njit  # type: ignore[untyped-decorator]
    def positions(target: Array, to: int, word: Any, base: int) -> None:
        put(target, to, word, base)

    chooser = np.random.default_rng(1)
    for count in (0, 1, 7, 8, 9, 31, 32, 33, 63, 64):
        bits = np.sort(chooser.permutation(64)[:count])
        target = np.full(3 + 64 + 64, -1)
        positions(target, 3, np.uint64(sum(1 << int(bit) for bit in bits)), 1000)
        assert target[:3].tolist() == [-1, -1, -1]
        assert target[3 : 3 + count].tolist() == (1000 + bits).tolist()
        assert target[3 + 64 :].tolist() == [-1] * 64


@pytest.mark.parametrize(
    "name",
    [
        "put_unescaped",
        *(pytest.param(f"put_unescaped_{how}", marks=compiled) for how in ("at_once", "by_group", "one_by_one")),
    ],
)
@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.sampled_from([b"x", b"yy", b"\\n", b"\\\\", b'\\"', b"\\t", b"\\/", b"n\xc3\xa9"]), min_size=64, max_size=64
    )
)
def test_a_block_without_its_escapes(name: str, pieces: list[bytes]) -> None:
    put = compiled_unescape(name)
    written, escaped, wanted = b"", 0, b""
    for piece in pieces:
        if len(written) + len(piece) > 64:
            break
        if piece[:1] == b"\\":
            escaped |= 1 << (len(written) + 1)
            wanted += json.loads(b'"' + piece + b'"').encode()
        else:
            wanted += piece
        written += piece
    source = np.frombuffer(b"\\" * 5 + written + b"z" * 128, dtype=np.uint8)
    target = np.full(3 + 64 + 64 + 64, 7, dtype=np.uint8)
    put(target, 3, source, 5, np.uint64(escaped))
    assert target[:3].tolist() == [7, 7, 7]
    assert target[3 : 3 + len(wanted)].tobytes() == wanted
    assert target[3 + 64 + 64 :].tolist() == [7] * 64


@functools.cache
def compiled_unescape(name: str) -> Any:
    put = way(name)

    @numba.njit  # type: ignore[untyped-decorator]
    def unescape(target: Array, to: int, source: Array, at: int, escaped: Any) -> None:
        put(target, to, source, at, escaped)

    return unescape


# ---------------------------------------------------------------- tables


@numba.njit  # type: ignore[untyped-decorator]
def look_up(slots: Array, hashes: Array, value: Any, shift: Any) -> int:
    return kernels.look_up(slots, hashes, value, shift)  # which may only be called from compiled code


@numba.njit  # type: ignore[untyped-decorator]
def in_filter(table: Array, value: Any, shift: Any) -> bool:
    return kernels.in_filter(table, value, shift)


@settings(deadline=None)
@given(st.sets(st.integers(0, 2**64 - 1), max_size=50), st.sets(st.integers(0, 2**64 - 1), max_size=20))
def test_what_is_entered_is_found(entered: set[int], others: set[int]) -> None:
    hashes = np.array(sorted(entered), dtype=np.uint64)
    shift = np.uint64(57)
    slots, bloom = hashing.make_slots(hashes, 57), hashing.make_filter(hashes, 57)
    for value in [*entered, *others]:
        at = look_up(slots, hashes, np.uint64(value), shift)
        assert at == (sorted(entered).index(value) if value in entered else -1)
    assert all(in_filter(bloom, np.uint64(value), shift) for value in entered)


# ---------------------------------------------------------------- JSON records


def texts_found(records: list[bytes], name: str = "text") -> list[str | None]:
    """Return the texts that the kernel finds, as JSON strings; None where it leaves the record to a parser."""
    data, offsets = packed(records)
    data, spans = padded(data), np.stack([offsets[:-1], offsets[1:]], axis=1)
    places = np.empty_like(spans)
    kernels.find_texts(data, spans, np.frombuffer(name.encode(), dtype=np.uint8), places)
    assert [start == kernels.BLANK for start, _ in places.tolist()] == [not record.strip() for record in records]
    return [f'"{data[start:end].tobytes().decode()}"' if start >= 0 else None for start, end in places.tolist()]


def text_wanted(record: bytes) -> str | None:
    """Return the text of a record by Python's parser; None if it isn't strict JSON, or has no text that is a string."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(record.decode(), parse_constant=refuse)
    except ValueError:
        return None
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) else None


RECORDS = st.dictionaries(st.sampled_from(["text", "id", "a", 'te"xt', "texts", "te", ""]), VALUES, max_size=4)


@settings(deadline=None, max_examples=300)
@given(st.lists(RECORDS | VALUES, max_size=5), st.booleans(), st.sampled_from([None, 2]))
def test_texts_of_records(values: list[Any], ascii_only: bool, indent: int | None) -> None:
    records = [json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode() for value in values]
    found = texts_found(records)
    for record, string in zip(records, found, strict=True):
        want = text_wanted(record)
        keys = json.loads(record)
        if isinstance(keys, dict) and any("\\" in json.dumps(key, ensure_ascii=ascii_only) for key in keys):
            continue  # a key with an escape could be any name, so that a parser is asked
        assert (None if string is None else json.loads(string)) == want


@settings(deadline=None, max_examples=400)
@given(RECORDS, st.data())
def test_what_is_broken_is_not_found(value: dict[str, Any], data: st.DataObject) -> None:
    """A record with a byte more, less or other: what the kernel finds, Python finds too."""
    record = bytearray(json.dumps({"text": "é\n中", **value}, ensure_ascii=data.draw(st.booleans())).encode())
    at = data.draw(st.integers(0, len(record) - 1))
    record[at : at + data.draw(st.integers(0, 2))] = data.draw(
        st.sampled_from(
            [b"", b'"', b"\\", b"{", b"}", b"]", b",", b":", b"1", b"-", b".", b"e", b"\x00", b"\xff", b"n"]
        )
    )
    (string,) = texts_found([bytes(record)])
    assert string is None or json.loads(string) == text_wanted(bytes(record))


VALID = [
    "0",
    "-0",
    "10",
    "-1.5",
    "0.0e+1",
    "1E-9",
    "12e5",
    "true",
    "false",
    "null",
    "[]",
    "{}",
    '{"a": [1, {"b": ""}]}',
]
INVALID = [
    *["01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 2", "NaN", "-Infinity", "nul", "tru", "falsy"],
    *["[1,]", "{,}", '{"a"}', '{"a":}', "[1 2]", "'a'", "\xa01", '"\t"', '"\\x"', '"\\u12g4"', "]", "[}", "{]"],
]


@pytest.mark.parametrize(
    ("value", "valid"), [*((value, True) for value in VALID), *((value, False) for value in INVALID)]
)
def test_values_beside_the_text(value: str, valid: bool) -> None:
    for record in (
        f'{{"a": {value}, "text": "b"}}',
        f'{{"text":"b","a":[{value}]}}',
        f' {{"text":"b" ,"a":{value}\t}} ',
    ):
        assert texts_found([record.encode()]) == ['"b"' if valid else None]


@pytest.mark.parametrize(
    ("record", "text"),
    [('{"text": "a", "text": "b"}', "b"), ('{"text": "a", "text": 1}', None), ('{"text": 1, "text": "b"}', None),
     ('{"a": {"text": "b"}}', None), ('{"te\\u0078t": "a"}', None), ('{"text": "a", "te\\u0078t": "b"}', None),
     ('{"a": {"te\\u0078t": 1}, "text": "b"}', "b"), ('["text", "a"]', None), ('"text"', None), ("", None),
     (" \t ", None),
     ('{"text": "a"} x', None), ('{"text": "a"', None), ('{"text": "a}', None), ('{"text" "a"}', None)],
)  # fmt: skip
def test_which_text_counts(record: str, text: str | None) -> None:
    assert texts_found([record.encode()]) == [None if text is None else f'"{text}"']


def test_a_name_with_a_quote_is_left_to_a_parser() -> None:
    assert texts_found([b'{"a":"b"}', b'{"a\\":": "b"}'], 'a":') == [None, None]


@pytest.mark.parametrize("piece", ['\\"', "\\\\", "\\\\\\\\", "\\u00e9", "é", "中", "😀", '\\\\\\"', "\\n"])
def test_strings_over_block_edges(piece: str) -> None:
    for before in range(70):
        text = "x" * before + piece + "y" * (before % 3) + piece
        records = [f'{{"a": "{text}", "text": "{text}"}}'.encode(), f'{{"text":"{text}"}}'.encode()]
        assert texts_found(records) == [f'"{text}"'] * 2


def test_bytes_that_are_not_utf8_are_left_to_a_parser() -> None:
    broken = [b"\x80", b"\xc1\x81", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80",
              b"\xf8\x88\x80\x80\x80", b"\xe4\xb8", b"\xf0\x9f\x98"]  # fmt: skip
    for before in range(66):
        records = [b'{"text": "' + b"x" * before + piece + b'"}' for piece in broken]
        assert texts_found(records) == [None] * len(broken)


@pytest.mark.parametrize("depth", [1, 62, 63, 64, 200])
def test_nesting(depth: int) -> None:
    (found,) = texts_found([b'{"text": "b", "a": ' + b"[" * depth + b"]" * depth + b"}"])
    assert found == ('"b"' if depth < 64 else None)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"", b"a", b"b" * 63, b"c" * 64, b"\r", b"d" * 200]), max_size=8),
    st.booleans(),
    st.integers(1, 9),
)
def test_lines(lines: list[bytes], ended: bool, held: int) -> None:
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    found: list[bytes] = []
    at, room = 0, np.empty((held, 2), dtype=np.int64)
    while at < len(data):
        count = kernels.cut_lines(padded(np.frombuffer(data, dtype=np.uint8)), at, len(data), room)
        found += [data[start:end] for start, end in room[:count].tolist()]
        at = int(room[count - 1, 1]) + 1
    want = data.split(b"\n")
    assert found == (want[:-1] if not want[-1] else want)
