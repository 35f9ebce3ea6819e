"""Build the library from the kernels' text: numba compiles them, zig of PyPI's `ziglang` links.

Each entry becomes a C function, by the table of `entries`. All of them are optimized as one module
in which nothing else is visible, for each level of the processor. What numba adds for errors and
for memory then falls away, because no kernel raises or allocates: any other function that is left
undefined ends the build.

Run as ``python -m workbench.kernels.library.build FOLDER``; `setup.py` does.
"""

import hashlib
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba import carray, cfunc, types
from numba.extending import intrinsic

from workbench.kernels.library.entries import ENTRIES, Argument, KernelEntry, entry
from workbench.kernels.library.targets import FILE, ROOT, Level, levels, target
from workbench.kernels.reading.outputs import OUTPUT_DTYPES

ALLOWED: Final = frozenset({"pread"})
"""The functions of other libraries that kernels call, besides those by address.

What the compiler adds by itself (memcpy, memmove, memset) is not in its text.
"""

_SOURCE: Final = Path(__file__).with_name("library.c")


def main() -> None:
    """Build the library into a folder."""
    (folder,) = sys.argv[1:]
    build(Path(folder).absolute())


def build(folder: Path) -> Path:
    """Build the library into a folder; return its path.

    Raises:
        ValueError: a kernel needs a function that it must not.
        subprocess.CalledProcessError: the linker refuses.
    """
    functions = [_c_function(entry(name)) for name in ENTRIES]
    linked = llvm.parse_assembly("")
    for function in functions:
        linked.link_in(llvm.parse_assembly(function._library.get_llvm_str()))  # noqa: SLF001
    natives = (function.native_name for function in functions)
    names = dict(zip(natives, ENTRIES, strict=True))
    text = str(linked)
    with tempfile.TemporaryDirectory() as temporary:
        objects = []
        for number, level in levels().items():
            path = Path(temporary, f"{number}.o")
            own = {native: f"kernel_{name}_{number}" for native, name in names.items()}
            path.write_bytes(_object(text, own, level))
            objects.append(str(path))
        source = Path(temporary, "made_from.c")
        source.write_text(_made_from())
        made = folder / FILE
        part = folder / f".{FILE}.{os.getpid()}"  # in its place at once: others may be opening it
        flags = ["-O2", "-shared", "-fPIC", "-s", "-o", str(part)]
        subprocess.run(
            [*_linker(), *flags, *objects, str(_SOURCE), str(source)], check=True, cwd=temporary
        )
        part.replace(made)
    return made


def _linker() -> list[str]:
    """Return the words that start zig, or the machine's own compiler where there is no zig."""
    if importlib.util.find_spec("ziglang") is None:
        return ["cc"]
    linked_for = target()
    assert linked_for is not None, "there is no library for this system"
    return [sys.executable, "-P", "-m", "ziglang", "cc", "-target", linked_for.zig]


# --- C functions ---------------------------------------------------------------------------------


@intrinsic  # type: ignore[untyped-decorator]
def _pointer(_typing_context: Any, _address: Any) -> Any:
    """Return an address as a pointer."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), codegen


def _c_function(of: KernelEntry) -> Any:
    """Return the C function of an entry, compiled with what it calls."""
    module = importlib.import_module(f"workbench.kernels.{of.module}")
    names = {"carray": carray, "np": np, "pointer": _pointer, "kernel": getattr(module, of.name)}
    parameters: list[tuple[str, Any]] = []
    passed = [_parameter(argument, parameters, names) for argument in of.arguments]
    call = f"kernel({', '.join(passed)})"
    count = len(of.results)
    if count > 1:
        parameters.append(("results", types.voidptr))
        body = [f"got = {call}", f"to = carray(results, ({count},), np.int64)"]
        body += [f"to[{index}] = got[{index}]" for index in range(count)]
    else:
        body = [f"return np.int64({call})"] if count else [call]
    if count != 1:
        body.append("return 0")
    words = f"def {of.name}({', '.join(name for name, _ in parameters)}):\n    "
    exec(words + "\n    ".join(body), names)  # noqa: S102 - of the table alone
    signature = types.int64(*(kind for _, kind in parameters))
    return cfunc(signature, nopython=True, error_model="numpy")(names[of.name])


def _parameter(of: Argument, parameters: list[tuple[str, Any]], names: dict[str, Any]) -> str:
    """Note the C parameters of an argument; return the expression that makes it again."""
    name = of.name
    if of.kind == "array":
        lengths = []
        for at, length in enumerate(of.lengths):
            if at and isinstance(length, int):
                lengths.append(str(length))
            else:
                lengths.append(f"{name}_{at}")
        parameters.append((name, types.voidptr))
        parameters += [(each, types.int64) for each in lengths if not each.isdigit()]
        names[f"{name}_dtype"] = of.dtype
        return f"carray({name}, ({', '.join(lengths)},), {name}_dtype)"
    if of.kind == "outputs":
        parameters.append((name, types.voidptr))
        names["Outputs"] = of.of
        record, arrays = f"carray({name}, ({2 * len(OUTPUT_DTYPES)},), np.int64)", []
        for index, dtype in enumerate(OUTPUT_DTYPES.values()):
            names[f"D{index}"] = dtype
            address, count = f"{record}[{2 * index}]", f"{record}[{2 * index + 1}]"
            arrays.append(f"carray(pointer({address}), ({count},), D{index})")
        return f"Outputs({', '.join(arrays)})"
    if of.kind == "tuple":
        fields = [f"{name}_{field}" for field in of.of._fields]
        parameters += [(field, types.int64) for field in fields]
        names[f"{name}_class"] = of.of
        return f"{name}_class({', '.join(fields)})"
    parameters.append((name, types.int64))
    return f"({name} != 0)" if of.kind == "bool" else name


# --- machine code --------------------------------------------------------------------------------


def _object(text: str, names: dict[str, str], level: Level) -> bytes:
    """Return an object file for one level, with some functions by new names and no other.

    Raises:
        ValueError: a function that is not allowed is left undefined.
    """
    module = llvm.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration:
            if function.name in names:
                function.linkage = "external"
                function.name = names[function.name]
            else:
                function.linkage = "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    target_machine = _target_machine(level)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    with llvm.create_pass_builder(target_machine, tuning) as builder:
        for _ in range(2):  # what the first run inlines shows the second that nothing is raised
            builder.getModulePassManager().run(module, builder)
    undefined = undefined_functions(module)
    if undefined - ALLOWED:
        raise ValueError(
            f"kernels of {level.cpu} call {', '.join(sorted(undefined - ALLOWED))}: they must "
            f"raise and allocate nothing (allowed: {', '.join(sorted(ALLOWED))})"
        )
    return bytes(target_machine.emit_object(module))


def undefined_functions(module: Any) -> set[str]:
    """Return the functions that a module calls and does not have, without LLVM's own."""
    names = {each.name for each in module.functions if each.is_declaration}
    names |= {each.name for each in module.global_variables if each.is_declaration}
    return {name for name in names if not name.startswith("llvm.")}


def _target_machine(level: Level) -> Any:
    """Return what makes position-independent code for a level."""
    machine = llvm.Target.from_triple(llvm.get_process_triple())
    return machine.create_target_machine(
        cpu=level.cpu, features=level.features, opt=3, reloc="pic", codemodel="default"
    )


# --- what it was made from -----------------------------------------------------------------------


def _made_from() -> str:
    """Return C text with the hash and the path of each file that is in the library."""
    folders = tuple(f"{ROOT / folder}{os.sep}" for folder in ("kernels", "layout"))
    loaded = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    files = {Path(file) for file in loaded if file.startswith(folders)} | {_SOURCE, Path(__file__)}
    lines = [
        f'"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.relative_to(ROOT).as_posix()}\\n"'
        for file in sorted(files)
    ]
    return "const char kernel_texts[] =\n" + "\n".join(lines) + ";\n"


if __name__ == "__main__":
    main()
