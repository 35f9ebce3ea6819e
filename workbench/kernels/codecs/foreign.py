"""Functions of C libraries, called by their addresses: no Python between one batch and the next."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()


@intrinsic  # type: ignore[untyped-decorator]
def call_lz4(
    _typing_context: Any, _function: Any, _source: Any, _target: Any, _size: Any, _room: Any
) -> Any:
    """Call ``int f(const char* source, char* target, int size, int room)``; sizes below 2 GiB."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function, source, target, size, room = arguments
        kind = ir.FunctionType(_I32, [_POINTER, _POINTER, _I32, _I32])
        result = builder.call(
            builder.inttoptr(function, kind.as_pointer()),
            [
                builder.inttoptr(source, _POINTER),
                builder.inttoptr(target, _POINTER),
                builder.trunc(size, _I32),
                builder.trunc(room, _I32),
            ],
        )
        return builder.sext(result, _I64)

    return types.int64(*(types.int64,) * 5), codegen


@intrinsic  # type: ignore[untyped-decorator]
def call_zstd(
    _typing_context: Any,
    _function: Any,
    _state: Any,
    _target: Any,
    _room: Any,
    _source: Any,
    _size: Any,
) -> Any:
    """Call ``size_t f(void* state, void* target, size_t room, const void* source, size_t size)``.

    An error is negative: libzstd's codes count down from 2**64.
    """

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function, state, target, room, source, size = arguments
        kind = ir.FunctionType(_I64, [_POINTER, _POINTER, _I64, _POINTER, _I64])
        return builder.call(
            builder.inttoptr(function, kind.as_pointer()),
            [
                builder.inttoptr(state, _POINTER),
                builder.inttoptr(target, _POINTER),
                room,
                builder.inttoptr(source, _POINTER),
                size,
            ],
        )

    return types.int64(*(types.int64,) * 6), codegen


@intrinsic  # type: ignore[untyped-decorator]
def call_inflate(_typing_context: Any, _function: Any, _state: Any) -> Any:
    """Call ``int f(struct inflate_state* state)``."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        function, state = arguments
        kind = ir.FunctionType(_I32, [_POINTER])
        pointer = builder.inttoptr(function, kind.as_pointer())
        return builder.sext(builder.call(pointer, [builder.inttoptr(state, _POINTER)]), _I64)

    return types.int64(*(types.int64,) * 2), codegen
