"""Modules and their kernels: PTX text through the driver's compiler, or CUBIN as it is."""

import re
from typing import Any

from cuda.bindings import driver

from engine.device.cuda.errors import check, device_error
from engine.device.cuda.ownership import DriverObjects, Shared
from engine.device.cuda.probe import driver_version
from engine.device.occupancy import KernelResources
from engine.device.protocol import LoadedKernel
from engine.diagnostics import DeviceError, KernelError
from engine.ptx import KernelParameter, KernelSignature, parse

_Result = driver.CUresult
_Option = driver.CUjit_option
_Attribute = driver.CUfunction_attribute
_LOG_BYTES = 16384
# The codes for a bad image; with any other code, the device failed and not the kernel.
_BAD_IMAGE = frozenset(
    {
        _Result.CUDA_ERROR_INVALID_VALUE,
        _Result.CUDA_ERROR_INVALID_IMAGE,
        _Result.CUDA_ERROR_NO_BINARY_FOR_GPU,
        _Result.CUDA_ERROR_INVALID_PTX,
        _Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        _Result.CUDA_ERROR_INVALID_SOURCE,
        _Result.CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
        _Result.CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
    }
)


class CudaKernel:
    """One entry point; `resources` counts static shared memory only."""

    __slots__ = (
        "_allowed_shared_bytes",
        "argument_sizes",
        "handle",
        "image",
        "max_threads",
        "name",
        "parameters",
        "resources",
    )

    def __init__(self, image: Shared, handle: Any, name: str, parameters: tuple[KernelParameter, ...]) -> None:
        self.image = image
        self.handle = handle
        self.name = name
        self.parameters = parameters
        self.argument_sizes = tuple(parameter.size_bytes for parameter in parameters)
        self.max_threads = self._attribute(_Attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        self.resources = KernelResources(
            registers=self._attribute(_Attribute.CU_FUNC_ATTRIBUTE_NUM_REGS),
            static_shared_bytes=self._attribute(_Attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        )
        self._allowed_shared_bytes = self._attribute(_Attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)

    def allow_shared(self, size_bytes: int) -> None:
        """Allow launches with this much dynamic shared memory: the driver wants to be asked for more than 48 KB."""
        if 0 <= size_bytes <= self._allowed_shared_bytes:
            return
        code = _Result.CUDA_ERROR_INVALID_VALUE
        if 0 <= size_bytes < 2**31:
            limit = _Attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (code,) = driver.cuFuncSetAttribute(self.handle, limit, size_bytes)
        if code == _Result.CUDA_ERROR_INVALID_VALUE:
            raise DeviceError(
                f"dynamic shared memory of kernel {self.name} must fit in a multiprocessor beside its "
                f"{self.resources.static_shared_bytes} static bytes, got {size_bytes} bytes"
            )
        check((code,), f"asking for {size_bytes} bytes of shared memory for kernel {self.name}")
        self._allowed_shared_bytes = size_bytes

    def _attribute(self, which: Any) -> int:
        return int(check(driver.cuFuncGetAttribute(which, self.handle), f"looking at kernel {self.name}"))


class CudaModule:
    """Loaded code. After `unload` it stays loaded until the last graph that uses one of its kernels is gone."""

    def __init__(self, objects: DriverObjects, image: str | bytes) -> None:
        handle = _load(image)

        def unload() -> None:
            # A launch that is still running may use this code.
            check(driver.cuCtxSynchronize(), "waiting to unload a module")
            check(driver.cuModuleUnload(handle), "cuModuleUnload")

        self._image = Shared(objects, unload)
        self._loaded = True
        count = check(driver.cuModuleGetFunctionCount(handle), "cuModuleGetFunctionCount")
        functions = (
            check(driver.cuModuleEnumerateFunctions(count, handle), "cuModuleEnumerateFunctions") if count else []
        )
        declared = _declared(image)
        self._kernels: dict[str, CudaKernel] = {}
        for listed in functions:
            name = check(driver.cuFuncGetName(listed), "cuFuncGetName").decode()
            # An enumerated function is not loaded yet; asked for by name it is.
            function = check(driver.cuModuleGetFunction(handle, name.encode()), f"loading kernel {name}")
            signature = declared.get(name)
            parameters = signature.parameters if signature else _parameters(function, name)
            self._kernels[name] = CudaKernel(self._image, function, name, parameters)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The entry points, in no particular order."""
        return tuple(self._kernels)

    def kernel(self, name: str) -> CudaKernel:
        """Return one entry point, always the same object; a KernelError for an unknown name lists all of them."""
        if not self._loaded:
            raise DeviceError(f"module must be loaded, got kernel {name} asked for after unload")
        if not isinstance(name, str) or name not in self._kernels:
            raise KernelError(f"kernel {name} must be one of {', '.join(self._kernels) or 'none'} in this module")
        return self._kernels[name]

    def unload(self, *, is_replaced: bool = False) -> None:
        """Release the code; a second call does nothing."""
        if self._loaded:
            self._loaded = False
            self._image.drop()


def own_kernel(kernel: LoadedKernel) -> CudaKernel:
    """Return a kernel of this device; DeviceError when it is another device's or was unloaded."""
    if not isinstance(kernel, CudaKernel):
        raise DeviceError(
            f"kernel {getattr(kernel, 'name', kernel)} must be loaded on the CUDA device, got {type(kernel).__name__}"
        )
    if not kernel.image.alive:
        raise DeviceError(f"kernel {kernel.name} must be loaded, got one whose module was unloaded")
    return kernel


def _load(image: str | bytes) -> Any:
    error_log = bytearray(_LOG_BYTES)
    options = [_Option.CU_JIT_ERROR_LOG_BUFFER, _Option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
    data = (image.encode() if isinstance(image, str) else image) + b"\0"
    code, handle = driver.cuModuleLoadDataEx(data, len(options), options, [error_log, _LOG_BYTES])
    if not code:
        return handle
    if code not in _BAD_IMAGE:
        raise device_error(code, "loading a module")
    log = error_log.split(b"\0", 1)[0].decode(errors="replace").strip()
    if code == _Result.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        version = re.search(r"^\s*\.version\s+([\d.]+)", image, re.MULTILINE) if isinstance(image, str) else None
        raise KernelError(
            f"PTX must be of a version that the NVIDIA driver takes (it supports CUDA {driver_version()}), got PTX "
            f"{version[1] if version else 'of a later version'}; update the driver, or compile to CUBIN for this GPU"
        )
    if code == _Result.CUDA_ERROR_NO_BINARY_FOR_GPU:
        raise KernelError(f"module must be built for this GPU's architecture, got one for another{_after(log)}")
    line = re.search(r"line (\d+)", log)
    raise KernelError(
        f"module must be {'valid PTX' if isinstance(image, str) else 'a CUBIN'}, got {code.name}{_after(log)}",
        line=int(line[1]) if line else None,
    )


def _after(log: str) -> str:
    return f": {log}" if log else ""


def _declared(image: str | bytes) -> dict[str, KernelSignature]:
    if isinstance(image, bytes):
        return {}
    try:
        return parse(image).signatures
    except KernelError:
        # The driver accepted this text and knows offsets and sizes; only the parameters' types stay unknown.
        return {}


def _parameters(function: Any, name: str) -> tuple[KernelParameter, ...]:
    parameters: list[KernelParameter] = []
    while True:
        result = driver.cuFuncGetParamInfo(function, len(parameters))
        if result[0] == _Result.CUDA_ERROR_INVALID_VALUE:  # one past the last
            return tuple(parameters)
        offset, size = check(result, f"looking at the parameters of kernel {name}")
        parameters.append(KernelParameter(f"{name}_param_{len(parameters)}", int(offset), int(size)))
