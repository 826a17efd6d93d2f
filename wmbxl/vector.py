"""Vector instructions for the kernels: questions asked of 64 bytes at once.

Each function exists twice: as LLVM code, and as plain Python for when Numba's compiler is off
(``NUMBA_DISABLE_JIT=1``), so that coverage tools and debuggers can step through the kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from wmbxl import interpreted
from wmbxl.interpreted import Range

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.int64]]
WIDTH = interpreted.WIDTH
ESCAPES = ((0x62, 0x08), (0x66, 0x0C), (0x6E, 0x0A), (0x72, 0x0D), (0x74, 0x09))  # b f n r t, and what they stand for
_UNESCAPED = np.arange(256, dtype=np.uint8)
for _letter, _byte in ESCAPES:
    _UNESCAPED[_letter] = _byte
_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, WIDTH)
_LANES = 8
_INDEX = ir.IntType(32)
_WORDS = ir.VectorType(_WORD, _LANES)
_PLACES = ir.VectorType(_BYTE, _LANES)
_BITS_OF_BYTES = [([bit for bit in range(8) if byte >> bit & 1] + [0] * _LANES)[:_LANES] for byte in range(256)]


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the address of ``array[index]``."""
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.gep_inbounds(builder, struct.data, index)


def _load(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Return the 64 bytes from ``array[index]``."""
    address = _pointer(context, builder, array_type, array, index)
    return builder.load(builder.bitcast(address, _VECTOR.as_pointer()), align=1)


def _store(context: Any, builder: Any, vector: Any, array_type: Any, array: Any, index: Any) -> None:
    """Write 64 bytes from ``array[index]`` on."""
    address = _pointer(context, builder, array_type, array, index)
    builder.store(vector, builder.bitcast(address, _VECTOR.as_pointer()), align=1)


def _splat(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * WIDTH)


def _of_bytes(builder: Any, operation: str, one: Any, other: Any) -> Any:
    """Apply an operation that LLVM has for integers to each pair of bytes."""
    name = f"llvm.{operation}.v{WIDTH}i8"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR, _VECTOR]), name)
    return builder.call(function, [one, other])


def _distance(builder: Any, vector: Any, low: int, high: int) -> Any:
    """Return bytes that are zero just where those of `vector` lie in a range (inclusive)."""
    if low == high:
        return builder.xor(vector, _splat(low))
    if high == 0xFF:
        return _of_bytes(builder, "usub.sat", _splat(low), vector)
    if low:
        vector = builder.sub(vector, _splat(low))
    return _of_bytes(builder, "usub.sat", vector, _splat(high - low))


def _kept_as_word(builder: Any, word: Any) -> Any:
    """Return the same word, made of 64 single bits, and hide from LLVM that it was.

    Where there is no register for such bits (before AVX-512), LLVM would carry them from block to block one by one.
    """
    return builder.asm(ir.FunctionType(_WORD, [_WORD]), "", "=r,0", [word], False)


def byte_mask(*ranges: Range) -> Callable[[Bytes, int], np.uint64]:
    """Make ``mask(array, index)``: bit ``i`` tells whether ``array[index + i]`` lies in one of `ranges` (inclusive).

    The result reads 64 bytes from `index` without checking bounds.
    """
    if numba.config.DISABLE_JIT:
        return interpreted.byte_mask(*ranges)

    @intrinsic
    def mask(typing_context, array, index):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[0], *args)
            distances = [_distance(builder, vector, *each) for each in ranges]
            nearest = functools.reduce(functools.partial(_of_bytes, builder, "umin"), distances)
            hits = builder.icmp_unsigned("==", nearest, _splat(0))
            return _kept_as_word(builder, builder.bitcast(hits, _WORD))

        return types.uint64(array, types.intp), code

    mask.interpreted = interpreted.byte_mask(*ranges)
    return mask


def _unescaped_one_by_one(target: Bytes, to: int, source: Bytes, at: int, escaped: np.uint64) -> None:
    """Copy 64 bytes, with what those that are `escaped` stand for instead of them and the backslashes before them.

    Up to 64 bytes more are read and written; neither side's bounds are checked.
    """
    begin = at
    copy_block(target, to, source, at)
    while escaped != np.uint64(0):
        here = begin + lowest_bit(escaped)
        escaped &= escaped - np.uint64(1)
        to += here - 1 - at
        target[to] = _UNESCAPED[source[here]]
        at, to = here + 1, to + 1
        copy_block(target, to, source, at)


if numba.config.DISABLE_JIT:
    load_word, copy_block = interpreted.load_word, interpreted.copy_block
    lowest_bit, count_bits = interpreted.lowest_bit, interpreted.count_bits
    put_positions, put_unescaped = interpreted.put_positions, _unescaped_one_by_one

else:

    @intrinsic
    def load_word(typing_context, array, index):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            address = _pointer(context, builder, signature.args[0], *args)
            return builder.load(builder.bitcast(address, _WORD.as_pointer()), align=1)

        return types.uint64(array, types.intp), code

    @intrinsic
    def copy_block(typing_context, target, to, source, at):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[2], args[2], args[3])
            _store(context, builder, vector, signature.args[0], args[0], args[1])
            return context.get_dummy_value()

        return types.void(target, types.intp, source, types.intp), code

    @intrinsic
    def lowest_bit(typing_context, word):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), code

    @intrinsic
    def count_bits(typing_context, word):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.ctpop(args[0])

        return types.int64(types.uint64), code

    _inline = numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)

    put_unescaped_one_by_one = _inline(_unescaped_one_by_one)

    def _pack(builder: Any, vector: Any, mask: Any) -> Any:
        """Return the bytes of a vector that a mask chooses, side by side, and some others."""
        packing = ir.FunctionType(_VECTOR, [_VECTOR, mask.type, _VECTOR])
        name = f"llvm.experimental.vector.compress.v{WIDTH}i8"
        return builder.call(cgutils.get_or_insert_function(builder.module, packing, name), [vector, mask, vector])

    def _as_mask(builder: Any, word: Any) -> Any:
        return builder.bitcast(word, ir.VectorType(ir.IntType(1), WIDTH))

    def _choose(builder: Any, vector: Any, lanes: Iterable[int]) -> Any:
        """Return a vector of these lanes of another."""
        numbers = list(lanes)
        return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(_INDEX, len(numbers)), numbers))

    def _splat_word(builder: Any, word: Any) -> Any:
        one = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), word, _INDEX(0))
        return _choose(builder, one, [0] * _LANES)

    @intrinsic
    def put_positions_at_once(typing_context, target, to, word, base):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            places = _pack(builder, ir.Constant(_VECTOR, list(range(WIDTH))), _as_mask(builder, args[2]))
            bases = _splat_word(builder, args[3])

            def put(first: int) -> None:
                part = builder.zext(_choose(builder, places, range(first, first + _LANES)), _WORDS)
                index = builder.add(args[1], args[1].type(first))
                address = _pointer(context, builder, signature.args[0], args[0], index)
                builder.store(builder.add(part, bases), builder.bitcast(address, _WORDS.as_pointer()), align=8)

            for first in range(0, WIDTH // 2, _LANES):
                put(first)
            many = builder.icmp_unsigned(">", builder.ctpop(args[2]), args[2].type(WIDTH // 2))
            with cgutils.if_unlikely(builder, many):
                for first in range(WIDTH // 2, WIDTH, _LANES):
                    put(first)
            return context.get_dummy_value()

        return types.void(target, types.intp, types.uint64, types.intp), code

    def _groups(builder: Any, word: Any) -> Iterator[tuple[int, Any, Any]]:
        """Yield the bits of a word in groups of eight: the first one's place, the bits, and how many are set before."""
        before = word.type(0)
        for first in range(0, WIDTH, _LANES):
            part = builder.and_(builder.lshr(word, word.type(first)), word.type(0xFF))
            yield first, part, before
            before = builder.add(before, builder.ctpop(part))

    def _bits_of(builder: Any, byte: Any) -> Any:
        """Return the positions of the bits that are set in a byte, side by side, as eight bytes."""
        name = "wmbxl_bits_of_bytes"
        table = builder.module.globals.get(name)
        if table is None:
            rows = [ir.Constant(_PLACES, places) for places in _BITS_OF_BYTES]
            table = cgutils.global_constant(builder.module, name, ir.Constant(ir.ArrayType(_PLACES, 256), rows))
        return builder.load(builder.gep(table, [byte.type(0), byte], inbounds=True), align=8)

    @intrinsic
    def put_positions_by_group(typing_context, target, to, word, base):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            bases = _splat_word(builder, args[3])
            for first, byte, before in _groups(builder, args[2]):
                places = builder.zext(_bits_of(builder, byte), _WORDS)
                places = builder.add(places, ir.Constant(_WORDS, [first] * _LANES))
                address = _pointer(context, builder, signature.args[0], args[0], builder.add(args[1], before))
                builder.store(builder.add(places, bases), builder.bitcast(address, _WORDS.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(target, types.intp, types.uint64, types.intp), code

    def _unescaped(builder: Any, vector: Any, chosen: Any) -> Any:
        """Return a vector with what the chosen bytes stand for behind a backslash."""
        for letter, byte in ESCAPES:
            hit = builder.and_(chosen, builder.icmp_unsigned("==", vector, _splat(letter)))
            vector = builder.select(hit, _splat(byte), vector)
        return vector

    def _kept(builder: Any, escaped: Any) -> Any:
        """Return a word that has the bits of all bytes but the backslashes."""
        return builder.not_(builder.lshr(escaped, escaped.type(1)))

    @intrinsic
    def put_unescaped_at_once(typing_context, target, to, source, at, escaped):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[2], args[2], args[3])
            vector = _unescaped(builder, vector, _as_mask(builder, args[4]))
            packed = _pack(builder, vector, _as_mask(builder, _kept(builder, args[4])))
            _store(context, builder, packed, signature.args[0], args[0], args[1])
            return context.get_dummy_value()

        return types.void(target, types.intp, source, types.intp, types.uint64), code

    @intrinsic
    def put_unescaped_by_group(typing_context, target, to, source, at, escaped):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[2], args[2], args[3])
            vector = _unescaped(builder, vector, _as_spread_mask(builder, args[4]))
            for first, byte, before in _groups(builder, _kept(builder, args[4])):
                group = _choose(builder, vector, range(first, first + _LANES))
                packed = _shuffle(builder, group, _bits_of(builder, byte))
                address = _pointer(context, builder, signature.args[0], args[0], builder.add(args[1], before))
                builder.store(packed, builder.bitcast(address, packed.type.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(target, types.intp, source, types.intp, types.uint64), code

    def _as_spread_mask(builder: Any, word: Any) -> Any:
        """Return the bits of a word, each made in the byte that it tells of."""
        parts = builder.bitcast(word, _PLACES)
        spread = _choose(builder, parts, (place // _LANES for place in range(WIDTH)))
        bits = ir.Constant(_VECTOR, [1 << place % _LANES for place in range(WIDTH)])
        return builder.icmp_unsigned("==", builder.and_(spread, bits), bits)

    def _shuffle(builder: Any, group: Any, places: Any) -> Any:
        """Return those bytes of eight that stand at these places."""
        wide = ir.VectorType(_BYTE, 16)
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(wide, [wide, wide]), shuffles)
        both = [_choose(builder, part, [*range(_LANES)] * 2) for part in (group, places)]
        return _choose(builder, builder.call(function, both), range(_LANES))

    _features = llvm.get_host_cpu_features()
    # The instruction that packs the chosen bytes of 64; without it, LLVM writes a loop over all of them.
    _packs = llvm.llvm_version_info[0] >= 20 and _features.get("avx512vbmi2", False)
    # The instruction that looks up bytes of 16 in 16 others, for which LLVM has no name that processors share.
    _shuffles = {"ssse3": "llvm.x86.ssse3.pshuf.b.128", "neon": "llvm.aarch64.neon.tbl1.v16i8"}
    shuffles = next((name for feature, name in _shuffles.items() if _features.get(feature)), None)
    put_positions = put_positions_at_once if _packs else put_positions_by_group
    put_unescaped = (
        put_unescaped_at_once if _packs else put_unescaped_by_group if shuffles else put_unescaped_one_by_one
    )
