"""Loads a Python kernel, which a worker process compiles unless the cache has it."""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from warploom.engine.diagnostics import KernelError
from warploom.engine.disk_cache import DiskCache, cache_key
from warploom.engine.kernel_sources.cuda.nvrtc import CompileCache, reader_version
from warploom.engine.kernel_sources.image import KernelImage
from warploom.engine.kernel_sources.python.files import Compiler, kernels_in, local_modules
from warploom.engine.kernel_sources.python.numba_kernels import compile_numba
from warploom.engine.kernel_sources.python.run_file import CompiledPython, PythonText
from warploom.engine.kernel_sources.python.triton_kernels import compile_triton
from warploom.engine.kernel_sources.python.trust import require_trust
from warploom.engine.kernel_sources.sources import PythonKernel
from warploom.engine.kernel_sources.texts import read_source
from warploom.engine.processes.pool import run
from warploom.engine.version import installed_version

_COMPILERS: dict[Compiler, Callable[[PythonKernel, PythonText, str], CompiledPython]] = {
    "triton": compile_triton,
    "numba": compile_numba,
}
_PACKAGES: dict[Compiler, str] = {"triton": "triton", "numba": "numba-cuda"}


def load_python(source: PythonKernel, architecture: str, cache: CompileCache) -> KernelImage:
    """Compile a Python kernel for `architecture`. Raise KernelError with file and line when it is wrong.

    Raise UntrustedKernel when its file must not run.
    """
    path, plain = Path(source.path), replace(source, held=None)
    require_trust(path)
    text = read_source(path)
    kernels = kernels_in(text, path)
    if source.name not in kernels:
        raise KernelError(
            f"kernel {source.name} must be one of {', '.join(kernels) or 'none'} in {path.name}; "
            "a kernel is a function with @triton.jit or @cuda.jit that the file itself doesn't call",
            file=str(path),
        )
    compiler = kernels[source.name]
    modules = local_modules(text, path)
    file = PythonText(str(path), text, {name: (str(place), read_source(place)) for name, place in modules.items()})
    key = cache_key([msgspec.json.encode((plain, file)), architecture, _version(compiler), _own_version()])
    made = DiskCache(CompiledPython, cache.folder.with_name("python-kernels"))
    compiled = made.get(key)
    if compiled is None:
        compiled = run(_COMPILERS[compiler], plain, file, architecture)
        made.put(key, compiled)
    manifest = compiled.manifest
    signatures = {manifest.name: compiled.signature}
    return KernelImage(source, compiled.ptx, None, signatures, {manifest.name: manifest})


def _version(compiler: Compiler) -> str:
    package = _PACKAGES[compiler]
    found = installed_version(package.replace("-", "_"))
    if found is None:
        raise KernelError(f"{package} must be installed to use this kernel: pip install 'warploom[{compiler}]'")
    return found


@cache
def _own_version() -> str:
    """Return a digest of everything else that results depend on: the code here, the code that reads PTX, and Python's
    version.
    """
    here = sorted(Path(__file__).parent.glob("*.py"))
    return cache_key([sys.version, reader_version(), *(path.read_bytes() for path in here)])
