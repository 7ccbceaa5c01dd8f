"""Functions that use only registers are compiled once and shared by the modules that call them."""

from pathlib import Path

import numpy as np
import pytest

from warploom.engine.device.host.device import HostDevice
from warploom.engine.device.host.modules import build, cache, functions, native
from warploom.engine.diagnostics import KernelFault

_HEADER = ".version 7.0\n.target sm_75\n.address_size 64\n"
#: x cubed, in a loop, so that the function has a branch.
_CUBE = """.func (.param .f32 result) cube(
	.param .f32 x
)
{
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	.reg .b32 %r<3>;
	ld.param.f32 %f1, [x];
	mov.f32 %f2, 0f3F800000;
	mov.u32 %r1, 0;
$L_again:
	mul.rn.f32 %f2, %f2, %f1;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 3;
	@%p1 bra $L_again;
	st.param.f32 [result], %f2;
	ret;
}
"""
_KERNEL = """.visible .entry NAME(
	.param .u64 in,
	.param .u64 out
)
{
	.reg .f32 %f<3>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.f32 %f1, [%rd4];
	{
	.param .b32 given;
	.param .b32 got;
	st.param.f32 [given], %f1;
	call.uni (got), cube, (given);
	ld.param.f32 %f2, [got];
	}
	add.s64 %rd4, %rd2, %rd3;
	st.global.f32 [%rd4], %f2;
	ret;
}
"""
_X = np.array([0, -0.0, 1.5, -3, 1e30, np.inf, np.nan, 1e-42], np.float32)


def _module(function: str = _CUBE, name: str = "k") -> str:
    return _HEADER + function + _KERNEL.replace("NAME", name)


def _names(ptx: str) -> list[str]:
    return [item.declaration.name for item in functions.take_out_functions(ptx, native.cpu())[1]]


def _run(device: HostDevice, ptx: str, name: str = "k", size: int = 8) -> bytes:
    buffers = [device.upload(_X), device.upload(np.zeros(size, np.float32))]
    device.launch(device.load_module(ptx).kernel(name), (1,), (8,), buffers)
    return bytes(buffers[1].download().tobytes())


def test_quick_code_that_calls_one_gives_the_same_bits(host: HostDevice) -> None:
    """Quick code that calls a shared function returns the bits of optimised code, which inlines the function.

    The function may stand before or after the kernel.
    """
    device, behind = HostDevice(cores=1), _HEADER + _CUBE.split("\n{")[0] + ";\n" + _KERNEL.replace("NAME", "k") + _CUBE
    assert _names(_module()) == _names(behind) == ["cube"]
    assert len({_run(device, _module()), _run(device, behind), _run(host, _module()), _run(host, behind)}) == 1
    found = np.frombuffer(_run(device, _module()), np.float32)
    with np.errstate(over="ignore"):
        assert np.array_equal(found, _X * _X * _X, equal_nan=True)
    device.close()


def test_modules_share_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second module that calls the same function compiles only its kernel."""
    first = build.translate(_module(), native.cpu())
    monkeypatch.setattr(native, "compile_object", lambda *_: pytest.fail("compiled again"))
    second = build.translate(_module(name="other"), native.cpu())
    assert first.functions == second.functions


def test_another_process_takes_the_code_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has just started compiles neither shared functions nor the runtime's functions again."""
    first = build.translate(_module(name="first"), native.cpu())
    functions.object_code.cache_clear()
    functions._shared.cache_clear()
    monkeypatch.setattr(native, "compile_object", lambda *_: pytest.fail("compiled again"))
    second = build.translate(_module(name="second"), native.cpu())
    assert first.functions == second.functions


def test_a_kernel_compiles_only_functions_of_the_runtime_that_are_new(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kernel that waits at a barrier and votes compiles the vote, if another kernel has waited at a barrier."""
    functions.object_code.cache_clear()
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    compiled, compile_object = list[str](), native.compile_object

    def compile_and_note(text: str, processor: tuple[str, str]) -> bytes:
        compiled.append(text)
        return compile_object(text, processor)

    monkeypatch.setattr(native, "compile_object", compile_and_note)
    text = f"{_HEADER}.visible .entry k() {{\n.reg .pred %p;\nsetp.eq.u32 %p, 0, 0;\nbar.sync 0;\nVOTE\nret;\n}}\n"
    first = build.translate(text.replace("VOTE", ""), native.cpu())
    assert "@wl.run_thread_block(" in "".join(compiled)
    compiled.clear()
    second = build.translate(text.replace("VOTE", "vote.sync.any.pred %p, %p, -1;"), native.cpu())
    (vote,) = compiled
    assert "define void @wl.vote_any(" in vote
    assert set(first.functions) < set(second.functions)


def test_a_fault_names_the_line_of_the_whole_text() -> None:
    """A fault names the line of the original text, although the function before the kernel was moved out."""
    device, lines = HostDevice(cores=1), _module().splitlines()
    with pytest.raises(KernelFault) as fault:
        _run(device, _module(), size=7)
    assert fault.value.ptx_line == 1 + lines.index("	st.global.f32 [%rd4], %f2;")
    assert fault.value.thread == (7, 0, 0)
    device.close()


_OTHERS = {
    "memory": "	.reg .b64 %rd<2>;\n	mov.u64 %rd1, 0;\n	@%p1 ld.global.f32 %f3, [%rd1];\n",
    "a local variable": "	.local .b32 kept;\n	st.local.f32 [kept], %f1;\n",
    "another function": "	call.uni other;\n",
    "a barrier": "	bar.sync 0;\n",
    "a vote": "	vote.sync.any.pred %p1, %p1, -1;\n",
    "a special register": "	mov.u32 %r2, %laneid;\n",
    "flushing": "	add.ftz.f32 %f3, %f1, %f1;\n",
    "a trap": "	@%p1 trap;\n",
}


@pytest.mark.parametrize("line", _OTHERS.values(), ids=_OTHERS)
def test_a_function_that_needs_more_stays_in_its_module(line: str) -> None:
    """A function that uses memory, the thread or other parts of its module stays in the module."""
    other = ".func other(\n)\n{\n	ret;\n}\n" if "other" in line else ""
    changed = _CUBE.replace(
        "	ld.param.f32 %f1, [x];\n", f"	ld.param.f32 %f1, [x];\n	setp.lt.f32 %p1, %f1, %f1;\n{line}"
    )
    assert "cube" not in _names(_HEADER + other + changed + _KERNEL.replace("NAME", "k"))


def test_a_function_whose_address_is_taken_stays() -> None:
    """A function whose address is taken, in code or in a table, stays in its module."""
    taken = "	mov.u64 %rd3, cube;\n"
    assert _names(_module().replace("	mul.wide.u32 %rd3, %r1, 4;\n", taken)) == []
    assert _names(_module() + ".global .u64 table = cube;\n") == []
