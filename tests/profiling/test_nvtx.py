"""NVTX, tested with a profiler's library in C."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warploom import Engine, Patch
from warploom.engine.profiling.nvtx import attached_profiler

#: The functions of a profiler's library, as NVIDIA's headers declare them; here they print.
INJECTION = r"""
#include <stdint.h>
#include <stdio.h>
typedef void (*Function)(void);
typedef struct { size_t size; int (*get_table)(int, Function ***, unsigned *); } Callbacks;
typedef struct { size_t size; uint32_t version, reserved; void (*set_version)(uint32_t); } Version;
static int mark(const char *text) { printf("mark %s\n", text); return 0; }
static int push(const char *text) { printf("push %s\n", text); return 0; }
static int pop(void) { printf("pop\n"); fflush(stdout); return 0; }
int InitializeInjectionNvtx2(const void *(*get)(uint32_t)) {
    const Callbacks *callbacks = get(1);
    const Version *version = get(3);
    Function **table = 0;
    unsigned size = 0;
    if (get(99) || callbacks->size < sizeof *callbacks || version->size < sizeof *version || version->version != 3)
        return 0;
    version->set_version(3);
    for (int module = 1; module < 7; module++)
        if (!callbacks->get_table(module, &table, &size) || table[0] || table[size] || !table[size - 1]) return 0;
    if (callbacks->get_table(7, &table, &size) || !callbacks->get_table(1, 0, &size) || size != 16) return 0;
    callbacks->get_table(1, &table, 0);
    *table[2] = (Function)mark;
    *table[9] = (Function)push;
    *table[11] = (Function)pop;
    return 1;
}
"""
RUN = """
import numpy as np
from warploom import Engine, Patch
patch = Patch()
x = patch.add("io.array", data=np.ones(4, np.float32))
scale = patch.add("kernel.expression", expression="x * 2.0")
patch.connect(x["out"], scale["x"])
with Engine(patch, device="host") as engine:
    engine.step()
    engine.step()
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_profiler_is_told_frames_and_updates(tmp_path: Path) -> None:
    """A profiler's library receives nested ranges for frames and updates, and a mark for each build."""
    source, library = tmp_path / "injection.c", tmp_path / "injection.so"
    source.write_text(INJECTION)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    environment = {"NVTX_INJECTION64_PATH": str(library), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", RUN]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert found[:5] == ["push frame 0", "push update", "pop", "pop", "mark COLD: first build"]
    assert found[5] == "push frame 1" and found[-1] == "pop"


def test_without_a_profiler_nothing_is_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If the profiler's file is no library, that is logged and frames continue."""
    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    attached_profiler.cache_clear()
    assert attached_profiler() is None
    monkeypatch.setenv("NVTX_INJECTION64_PATH", __file__)
    attached_profiler.cache_clear()
    with Engine(Patch(), device="host") as engine:
        assert engine.step().frame == 0
    assert "NVTX_INJECTION64_PATH must name a profiler's library, got" in caplog.text
    monkeypatch.undo()
    attached_profiler.cache_clear()
