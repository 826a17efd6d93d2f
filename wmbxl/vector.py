"""Vector instructions for the kernels: questions asked of 64 bytes at once.

Each function exists twice: as LLVM code, and as plain Python for when Numba's compiler is off
(``NUMBA_DISABLE_JIT=1``), so that coverage tools and debuggers can step through the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.int64]]
Range = tuple[int, int]

WIDTH = 64
ESCAPES = ((0x62, 0x08), (0x66, 0x0C), (0x6E, 0x0A), (0x72, 0x0D), (0x74, 0x09))  # b f n r t, and what they stand for
_UNESCAPED = np.arange(256, dtype=np.uint8)
for _letter, _byte in ESCAPES:
    _UNESCAPED[_letter] = _byte
_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, WIDTH)
_LANES = 8


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


def byte_mask(*ranges: Range) -> Callable[[Bytes, int], np.uint64]:
    """Make ``mask(array, index)``: bit ``i`` tells whether ``array[index + i]`` lies in one of `ranges` (inclusive).

    The result reads 64 bytes from `index` without checking bounds.
    """
    if numba.config.DISABLE_JIT:
        return _interpreted_mask(ranges)

    @intrinsic
    def mask(typing_context, array, index):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[0], *args)
            found = None
            for low, high in ranges:
                if low == high:
                    hit = builder.icmp_unsigned("==", vector, _splat(low))
                else:
                    hit = builder.icmp_unsigned("<=", builder.sub(vector, _splat(low)), _splat(high - low))
                found = hit if found is None else builder.or_(found, hit)
            return builder.bitcast(found, _WORD)

        return types.uint64(array, types.intp), code

    return mask


def _interpreted_mask(ranges: tuple[Range, ...]) -> Callable[[Bytes, int], np.uint64]:
    table = np.zeros(256, dtype=np.uint8)
    for low, high in ranges:
        table[low : high + 1] = 1

    def mask(array: Bytes, index: int) -> np.uint64:
        bits = np.packbits(table[array[index : index + WIDTH]], bitorder="little")
        return np.uint64(int.from_bytes(bits.tobytes(), "little"))

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

    def load_word(array: Bytes, index: int) -> np.uint64:
        """Return 8 bytes from `index` as a little-endian integer."""
        return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))

    def copy_block(target: Bytes, to: int, source: Bytes, at: int) -> None:
        """Copy 64 bytes; neither side's bounds are checked."""
        target[to : to + WIDTH] = source[at : at + WIDTH]

    def lowest_bit(word: np.uint64) -> int:
        """Return the position of the lowest bit that is set in a word that isn't zero."""
        value = int(word)
        return (value & -value).bit_length() - 1

    def count_bits(word: np.uint64) -> int:
        """Return how many bits are set."""
        return int(word).bit_count()

    def put_positions(target: Words, to: int, word: np.uint64, base: int) -> None:
        """Write the position of every bit that is set, plus `base`, to ``target[to:]``, and up to 64 numbers more."""
        positions = [base + bit for bit in range(WIDTH) if int(word) >> bit & 1]
        target[to : to + len(positions)] = positions

    put_unescaped = _unescaped_one_by_one

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

    @_inline
    def put_positions_one_by_one(target, to, word, base):  # type: ignore[no-untyped-def]
        while word != np.uint64(0):
            # Eight at a time, some of them too many: cheaper than to mispredict where each word ends.
            for k in range(8):
                target[np.uint64(to + k)] = base + lowest_bit(word)  # unsigned: no test for a negative index
                word &= word - np.uint64(1)
            to += 8

    put_unescaped_one_by_one = _inline(_unescaped_one_by_one)

    def _pack(builder: Any, vector: Any, mask: Any) -> Any:
        """Return the bytes of a vector that a mask chooses, side by side, and some others."""
        packing = ir.FunctionType(_VECTOR, [_VECTOR, mask.type, _VECTOR])
        name = f"llvm.experimental.vector.compress.v{WIDTH}i8"
        return builder.call(cgutils.get_or_insert_function(builder.module, packing, name), [vector, mask, vector])

    def _as_mask(builder: Any, word: Any) -> Any:
        return builder.bitcast(word, ir.VectorType(ir.IntType(1), WIDTH))

    @intrinsic
    def _positions_at_once(typing_context, target, to, word, base):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            places = _pack(builder, ir.Constant(_VECTOR, list(range(WIDTH))), _as_mask(builder, args[2]))
            lanes = ir.VectorType(_WORD, _LANES)
            one = builder.insert_element(ir.Constant(lanes, ir.Undefined), args[3], ir.IntType(32)(0))
            bases = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES))

            def put(first: int) -> None:
                chosen = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), list(range(first, first + _LANES)))
                part = builder.zext(builder.shuffle_vector(places, places, chosen), lanes)
                index = builder.add(args[1], args[1].type(first))
                address = _pointer(context, builder, signature.args[0], args[0], index)
                builder.store(builder.add(part, bases), builder.bitcast(address, lanes.as_pointer()), align=8)

            for first in range(0, WIDTH // 2, _LANES):
                put(first)
            many = builder.icmp_unsigned(">", builder.ctpop(args[2]), args[2].type(WIDTH // 2))
            with cgutils.if_unlikely(builder, many):
                for first in range(WIDTH // 2, WIDTH, _LANES):
                    put(first)
            return context.get_dummy_value()

        return types.void(target, types.intp, types.uint64, types.intp), code

    @intrinsic
    def _unescaped_at_once(typing_context, target, to, source, at, escaped):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            vector = _load(context, builder, signature.args[2], args[2], args[3])
            chosen = _as_mask(builder, args[4])
            for letter, byte in ESCAPES:
                hit = builder.and_(chosen, builder.icmp_unsigned("==", vector, _splat(letter)))
                vector = builder.select(hit, _splat(byte), vector)
            kept = _as_mask(builder, builder.not_(builder.lshr(args[4], args[4].type(1))))
            _store(context, builder, _pack(builder, vector, kept), signature.args[0], args[0], args[1])
            return context.get_dummy_value()

        return types.void(target, types.intp, source, types.intp, types.uint64), code

    # The instruction that packs the chosen bytes of 64; without it, LLVM writes a loop over all of them.
    packs_bytes = llvm.llvm_version_info[0] >= 20 and llvm.get_host_cpu_features().get("avx512vbmi2", False)
    put_positions = _positions_at_once if packs_bytes else put_positions_one_by_one
    put_unescaped = _unescaped_at_once if packs_bytes else put_unescaped_one_by_one
