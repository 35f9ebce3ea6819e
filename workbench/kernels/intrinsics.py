"""Single machine operations for kernels: unaligned big-endian reads, stores, copy, CRC-32C steps.

Addresses are int64. Nothing here checks a bound: the calling kernel must do so. Little-endian
machines only; `dispatch` falls back to the plain twins elsewhere.
"""

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTE_POINTER = _I8.as_pointer()


def _pointer(builder: Any, address: Any, kind: Any) -> Any:
    return builder.inttoptr(address, kind.as_pointer())


def _load(builder: Any, address: Any, kind: Any) -> Any:
    value = builder.load(_pointer(builder, address, kind))
    value.align = 1
    return value


def _reader(kind: Any, *, big_endian: bool, signed: bool) -> Any:
    """Make an intrinsic that reads one integer at an address and widens it to int64."""

    @intrinsic  # type: ignore[untyped-decorator]
    def read(_typing_context: Any, _address: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = _load(builder, arguments[0], kind)
            if big_endian and kind.width > 8:
                value = builder.bswap(value)
            if kind.width == 64:
                return value
            return builder.sext(value, _I64) if signed else builder.zext(value, _I64)

        return types.int64(types.int64), codegen

    return read


read_u8 = _reader(_I8, big_endian=True, signed=False)
read_i8 = _reader(_I8, big_endian=True, signed=True)
read_i16 = _reader(_I16, big_endian=True, signed=True)
read_i32 = _reader(_I32, big_endian=True, signed=True)
read_u32 = _reader(_I32, big_endian=True, signed=False)
read_i64 = _reader(_I64, big_endian=True, signed=True)
read_word = _reader(_I64, big_endian=False, signed=True)  # 8 bytes in memory order
read_half_word = _reader(_I32, big_endian=False, signed=True)  # 4 bytes in memory order


def _writer(kind: Any, *, big_endian: bool) -> Any:
    """Make an intrinsic that stores the low bits of an int64 at an address."""

    @intrinsic  # type: ignore[untyped-decorator]
    def write(_typing_context: Any, _address: Any, _value: Any) -> Any:
        def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            value = arguments[1] if kind.width == 64 else builder.trunc(arguments[1], kind)
            if big_endian:
                value = builder.bswap(value)
            builder.store(value, _pointer(builder, arguments[0], kind)).align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return write


write_u8 = _writer(_I8, big_endian=False)
write_i32 = _writer(_I32, big_endian=False)  # in memory order
write_i64 = _writer(_I64, big_endian=False)
put_i16 = _writer(_I16, big_endian=True)  # in file order
put_i32 = _writer(_I32, big_endian=True)
put_i64 = _writer(_I64, big_endian=True)


@intrinsic  # type: ignore[untyped-decorator]
def address_of(_typing_context: Any, array: Any) -> Any:
    """Return the address of a C-contiguous array's first item.

    The array must be an argument of the kernel, or a constant: what a kernel makes itself is freed
    after the last use of its name. See `working_memory`.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(view.data, _I64)

    return types.int64(array), codegen


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def working_memory(_typing_context: Any, size: Any) -> Any:
    """Return the address of ``size`` bytes, a constant, that a kernel has until it returns.

    They are on the stack of the calling thread, start at a multiple of 64, and are undefined. An
    array that a kernel makes is not a substitute: numba frees it after the last use of its name,
    and an address is none, so that another thread may get the memory that the kernel still uses.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        with builder.goto_entry_block():
            memory = builder.alloca(ir.ArrayType(_I8, size.literal_value))
            memory.align = 64
        return builder.ptrtoint(memory, _I64)

    return types.int64(size), codegen


@intrinsic  # type: ignore[untyped-decorator]
def copy(_typing_context: Any, _target: Any, _source: Any, _size: Any) -> Any:
    """Copy ``size`` bytes between addresses that do not overlap."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, source = (builder.inttoptr(a, _BYTE_POINTER) for a in arguments[:2])
        cgutils.raw_memcpy(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def move(_typing_context: Any, _target: Any, _source: Any, _size: Any) -> Any:
    """Copy ``size`` bytes between addresses that may overlap."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, source = (builder.inttoptr(a, _BYTE_POINTER) for a in arguments[:2])
        cgutils.raw_memmove(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typing_context: Any, _address: Any) -> Any:
    """Prefetch the cache line at an address; harmless if nothing is mapped there."""

    def codegen(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        where = builder.inttoptr(arguments[0], _BYTE_POINTER)
        builder.call(function, [where, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(types.int64), codegen


_IS_ARM = platform.machine().lower() in {"arm64", "aarch64"}
# CRC-32C of eight bytes and of one: all processors have them that the library is built for.
_CRC_WORD = "llvm.aarch64.crc32cx" if _IS_ARM else "llvm.x86.sse42.crc32.64.64"
_CRC_BYTE = "llvm.aarch64.crc32cb" if _IS_ARM else "llvm.x86.sse42.crc32.32.8"


@intrinsic  # type: ignore[untyped-decorator]
def crc32c_word(_typing_context: Any, _crc: Any, _word: Any) -> Any:
    """Return the CRC after eight more bytes, by the CPU's instruction."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        crc, word = arguments
        state = _I32 if _IS_ARM else _I64
        kind = ir.FunctionType(state, [state, _I64])
        function = cgutils.get_or_insert_function(builder.module, kind, _CRC_WORD)
        if state is _I64:
            return builder.call(function, [crc, word])
        return builder.zext(builder.call(function, [builder.trunc(crc, _I32), word]), _I64)

    return types.int64(types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def crc32c_byte(_typing_context: Any, _crc: Any, _byte: Any) -> Any:
    """Return the CRC after one more byte, by the CPU's instruction."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        byte_kind = _I32 if _IS_ARM else _I8
        kind = ir.FunctionType(_I32, [_I32, byte_kind])
        function = cgutils.get_or_insert_function(builder.module, kind, _CRC_BYTE)
        crc, byte = builder.trunc(arguments[0], _I32), builder.trunc(arguments[1], byte_kind)
        return builder.zext(builder.call(function, [crc, byte]), _I64)

    return types.int64(types.int64, types.int64), codegen
