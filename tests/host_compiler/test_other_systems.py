"""Code of kernels for Windows and macOS: what it calls there, and Windows' code run here.

No machine with these systems has run it. On x86-64, the code for Windows only differs in how functions are called and
in the functions of the system, so it runs on Linux between functions that call and are called as Windows does.
"""

import ctypes
import platform
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from warploom.engine.device.host import team
from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, functions, native
from warploom.engine.host_compiler.module import translate_module
from warploom.engine.host_compiler.runtime import library, systems
from warploom.engine.kernel_sources.cuda.nvrtc import compile_cuda
from warploom.engine.ptx import parse

SOURCE = """
extern "C" __global__ void sums(const float* x, float* out, double* d, long long* clocks, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x, t = threadIdx.x;
  float v = i < n ? x[i] : 0;
  tile[t] = v;
  __syncthreads();
  for (int half = 32; half; half >>= 1) { if (t < half) tile[t] += tile[t + half]; __syncthreads(); }
  v = __shfl_xor_sync(~0u, v, 1);
  if (i < n) { atomicAdd(&out[0], v > 0 ? 1.0f : 0.0f); d[i] = __dadd_rz(d[i], 1.0 / 3) + fma(d[i], 2.0, 1.0); }
  if (t == 0) { out[1 + blockIdx.x] = tile[0]; }
  long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if (i < n) clocks[i] = clock64() ? now : 0;
}
"""
#: The functions that LLVM may call by itself, and those that each system's part of the runtime calls.
_C = {"memcpy", "memmove", "memset", "memcmp"}
_EXISTING = {
    "x86_64-pc-windows-msvc-elf": _C
    | {"CreateSemaphoreW", "ReleaseSemaphore", "WaitForSingleObject", "SwitchToThread", "__chkstk"}
    | {"GetSystemTimePreciseAsFileTime", "QueryPerformanceCounter", "QueryPerformanceFrequency"},
    "arm64-apple-darwin": _C
    | {"dispatch_semaphore_create", "dispatch_semaphore_signal", "dispatch_semaphore_wait", "sched_yield", "bzero"}
    | {"bcmp", "clock_gettime_nsec_np"},
}
_EXISTING["x86_64-apple-darwin"] = _EXISTING["arm64-apple-darwin"]
_X86 = "x86-64-v3", "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma"
_CALLED = " ".join(f"@wl.{name}" for name in ("run_graph", "open", "serve", "call"))


@pytest.fixture(scope="module")
def ptx() -> str:
    """The PTX of a kernel that uses most of the runtime."""
    return compile_cuda(SOURCE, Path("sums.cu"), "compute_90", ()).ptx


@pytest.mark.parametrize("triple", sorted(_EXISTING))
def test_code_for_other_systems_calls_only_what_they_have(triple: str, ptx: str) -> None:
    """A kernel, its quick form and the runtime compile, and call only functions that the system's libraries export."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    processor = ("apple-m1", "") if triple.startswith("arm64") else _X86
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(*processor, opt=0, reloc="pic", codemodel="small")
    quick, best = (translate_module(parse(ptx), triple, *processor, quickly=quickly) for quickly in (True, False))
    exported = systems.for_system(library.exported(library.needed(_CALLED), *library.called(_CALLED)), triple)
    texts = quick.text, *quick.runtime, *best.kernels.values(), f'target triple = "{triple}"\n{exported}'
    defined, missing = set[str](), set[str]()
    for text in texts:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
        symbols = _symbols(machine.emit_object(module))
        defined |= {name for name, is_defined in symbols.items() if is_defined}
        missing |= {name for name, is_defined in symbols.items() if not is_defined}
    assert missing - defined <= _EXISTING[triple]
    assert "readcyclecounter" not in "".join(texts) or not triple.startswith("arm64")


def _symbols(code: bytes) -> dict[str, bool]:
    """Return the symbols that other objects see, in ELF or Mach-O code: the names, and whether they are defined."""
    if code.startswith(b"\x7fELF"):
        (at,) = struct.unpack_from("<Q", code, 40)
        size, count = struct.unpack_from("<HH", code, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", code, at + index * size) for index in range(count)]
        _, _, _, _, first, length, texts, *_ = next(each for each in sections if each[1] == 2)
        texts_at = sections[texts][4]
        entries = struct.iter_unpack("<IBBHQQ", code[first : first + length])
        return {_name(code, texts_at + name): bool(part) for name, kind, _, part, _, _ in entries if kind >> 4}
    (commands,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", code, at)
        if kind == 2:  # LC_SYMTAB
            first, count, texts_at, _ = struct.unpack_from("<IIII", code, at + 8)
        at += size
    entries = struct.iter_unpack("<IBBHQ", code[first : first + 16 * count])
    found = {_name(code, texts_at + name): kind & 14 != 0 for name, kind, *_ in entries if kind & 1}
    assert all(name.startswith("_") for name in found)  # as C names there
    return {name[1:]: is_defined for name, is_defined in found.items()}


def _name(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()


#: Functions of Windows over those of Linux; called as Windows calls, and calling as Linux does.
_SYSTEM = """
declare ptr @calloc(i64, i64)
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_post(ptr)
declare i32 @sem_wait(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
define win64cc ptr @CreateSemaphoreW(ptr %security, i32 %count, i32 %most, ptr %name) {
  %made = call ptr @calloc(i64 1, i64 64)
  %done = call i32 @sem_init(ptr %made, i32 0, i32 %count)
  ret ptr %made
}
define win64cc i32 @ReleaseSemaphore(ptr %made, i32 %count, ptr %before) {
  %done = call i32 @sem_post(ptr %made)
  ret i32 1
}
define win64cc i32 @WaitForSingleObject(ptr %made, i32 %milliseconds) {
  %done = call i32 @sem_wait(ptr %made)
  ret i32 %done
}
define win64cc i32 @SwitchToThread() {
  %done = call i32 @sched_yield()
  ret i32 1
}
define internal i64 @nanoseconds(i32 %clock) {
  %time = alloca [2 x i64]
  %done = call i32 @clock_gettime(i32 %clock, ptr %time)
  %fraction.at = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %fraction = load i64, ptr %fraction.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %fraction
  ret i64 %now
}
define win64cc void @GetSystemTimePreciseAsFileTime(ptr %time) {
  %now = call i64 @nanoseconds(i32 0)
  %units = udiv i64 %now, 100
  %since.1601 = add i64 %units, 116444736000000000
  store i64 %since.1601, ptr %time
  ret void
}
define win64cc i32 @QueryPerformanceCounter(ptr %count) {
  %now = call i64 @nanoseconds(i32 1)
  store i64 %now, ptr %count
  ret i32 1
}
define win64cc i32 @QueryPerformanceFrequency(ptr %rate) {
  store i64 1000000000, ptr %rate
  ret i32 1
}
"""
_FORWARDED = """
define win64cc ptr @{name}(ptr %a, {second} %b, i64 %size) {{
  %result = call ptr inttoptr (i64 {address} to ptr)(ptr %a, {second} %b, i64 %size)
  ret ptr %result
}}
"""
#: A function that ctypes can call, which calls one of Windows.
_THUNK = """
define i32 @thunk(ptr %a, ptr %b, ptr %c, i64 %d, i64 %e) {{
  %result = call win64cc i32 inttoptr (i64 {address} to ptr)(ptr %a, ptr %b, ptr %c, i64 %d, i64 %e)
  ret i32 %result
}}
"""


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HostDevice]:
    """A device whose kernels and runtime are compiled for Windows."""
    here = native.triple()
    triple = "x86_64-pc-windows-msvc-elf"
    plain, library_c = native.NativeCode, ctypes.CDLL(None)
    memory = "".join(
        _FORWARDED.format(name=name, second=second, address=ctypes.cast(library_c[name], ctypes.c_void_p).value)
        for name, second in (("memcpy", "ptr"), ("memmove", "ptr"), ("memset", "i32"))
    )
    fakes = native.compile_object(f'target triple = "{here}"\n{_SYSTEM}{memory}')

    class WindowsCode(plain):  # type: ignore[valid-type,misc]
        def __init__(self, objects: Any, symbols: Any, imports: Any) -> None:
            super().__init__([*objects, fakes], symbols, imports)

        def function(self, symbol: str) -> Any:
            text = f'target triple = "{here}"\n{_THUNK.format(address=self.address(symbol))}'
            code = plain([_emitted(text)], ["thunk"], {})
            function = code.function("thunk")
            function.thunk = code  # keeps it loaded
            return function

    def _emitted(text: str) -> bytes:
        machine = llvm.Target.from_triple(here).create_target_machine(reloc="pic", codemodel="small")
        return bytes(machine.emit_object(native.verified(text)))

    monkeypatch.setattr(native, "triple", lambda: triple)
    monkeypatch.setattr(native, "NativeCode", WindowsCode)
    monkeypatch.setattr("warploom.engine.device.host.modules.module.NativeCode", WindowsCode)
    monkeypatch.setattr(build, "run", lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(build, "run_in_background", lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(native, "_linkers", native._Linkers())
    for made in (native._target_machine, functions.object_code, functions._shared, team._functions):
        made.cache_clear()
    device = HostDevice(cores=2)
    yield device
    device.close()
    for made in (native._target_machine, functions.object_code, functions._shared, team._functions):
        made.cache_clear()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code is for x86-64")
def test_code_for_windows_gives_the_results_here(windows: HostDevice, ptx: str) -> None:
    """A kernel that is called as Windows calls computes what numpy does, in its quick and its best form."""
    n = 64 * 5 - 9
    x = np.random.default_rng(1).uniform(-1, 1, n).astype(np.float32)
    d = np.random.default_rng(2).uniform(0, 1, n)
    kernel = windows.load_module(ptx).kernel("sums")
    for form in ("quick", "best"):
        if form == "best":
            assert kernel.job is not None
            kernel.job.run()
        out, other = windows.upload(np.zeros(6, np.float32)), windows.upload(d)
        clocks = windows.upload(np.zeros(n, np.int64))
        arguments = [windows.upload(x), out, other, clocks, np.int32(n)]
        windows.launch(kernel, grid=(5,), thread_block=(64,), args=arguments)
        padded = np.append(x, np.zeros(9, np.float32))
        neighbours = padded.reshape(-1, 2)[:, ::-1].ravel()[:n]
        got = out.download()
        assert got[0] == np.count_nonzero(neighbours > 0)
        np.testing.assert_allclose(got[1:], padded.reshape(5, 64).sum(1), rtol=1e-5)
        np.testing.assert_allclose(other.download(), d + 1 / 3 + d * 2 + 1, rtol=1e-15)
        seconds = clocks.download() / 1e9
        assert np.all(np.abs(seconds - time.time()) < 3600)
