"""With `--json`, every error still prints one complete object."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.app.cli.cli_support import Warploom, edited

RUN_KEYS = {
    "device", "frames", "frame_time_ms", "first_frame_ms", "update_levels", "nodes", "profile", "outputs", "pins",
    "diagnostics", "frozen_frame",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "change", "status", "text"),
    [
        (["run"], {"schema": 99}, 1, "schema must be from 1 to 5, got 99"),
        (["run", "--set", "nobody.a=1"], {}, 2, "node must be one of saxpy, x, y, got 'nobody'"),
        (["run", "--set", "saxpy.a=red"], {}, 2, "parameter a must be a finite number, got 'red'"),
        (["run", "--profile", "everything"], {}, 2, "--profile must be one of none"),
        (["run", "--device", "gpu"], {}, 2, 'device must be "auto", "host" or "cuda:0"'),
        (["run", "--device", "cuda:99"], {}, 3, "device cuda:99 must be usable"),
        (["run", "--engine", "no-such-engine"], {}, 3, "engine command must be one that runs"),
        (["run"], {"connections": []}, 1, "required input 'x' must be connected"),
        (["check"], {"schema": 99}, 1, "schema must be from 1 to 5, got 99"),
        (["check"], {"connections": []}, 1, "required input 'x' must be connected"),
    ],
)
def test_json_is_one_whole_object_whatever_goes_wrong(
    warploom: Warploom, saxpy_file: Path, words: list[str], change: dict[str, Any], status: int, text: str
) -> None:
    """After any error, the JSON object has all keys, and stderr and a diagnostic contain the same error."""
    edited(saxpy_file, **change)
    result = warploom(*words, saxpy_file, "--json")
    assert result.status == status
    assert result.json.keys() == (RUN_KEYS if words[0] == "run" else {"ok", "diagnostics"})
    assert any(text in item["message"] for item in result.json["diagnostics"] if item["severity"] == "error")
    assert text in result.err


@pytest.mark.parametrize(("problem", "status"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("oops"), 1)])
@pytest.mark.parametrize("words", [["run"], ["check"], ["blocks"], ["blocks", "math.saxpy"], ["devices"]])
def test_json_is_one_object_after_an_interrupt_and_an_error_of_ours(
    warploom: Warploom,
    saxpy_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    problem: BaseException,
    status: int,
) -> None:
    """After an interrupt or an internal error, the JSON object contains the reason."""

    def fail(*_: object, **__: object) -> None:
        raise problem

    for place in ("headless.open_patch", "listings.default_catalogue", "listings.list_devices"):
        monkeypatch.setattr(f"warploom.app.cli.{place}", fail)
    patch = [saxpy_file] if words[0] in ("run", "check") else []
    result = warploom(*words, *patch, "--json")
    assert result.status == status
    (told,) = result.json["diagnostics"]
    assert ("interrupt" if status == 130 else "Unexpected ZeroDivisionError: oops") in told["message"]
    assert result.err == f"error: {told['message']}\n"


def test_a_kernel_fault_names_its_node(
    warploom: Warploom, saxpy_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A kernel fault names its node on stderr and in the JSON object, and earlier frames are counted.

    This holds for an engine in this process and in another one.
    """
    bad = tmp_path / "saxpy.cu"
    bad.write_text(
        'extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n)\n'
        "{ if (threadIdx.x + blockIdx.x == 0) out[100000000] = a; }\n"
    )
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "bad.py").write_text(
        "from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, port\n\n\n"
        'class Bad(Block, id="test.bad"):\n    """Writes where it must not."""\n\n'
        '    x: In[f32] = port(doc="Anything.")\n    out: Out[f32] = port(shape="same(x)", doc="Nothing.")\n\n'
        f'    kernel = Kernel({str(bad)!r}, entry="saxpy")\n\n'
        "    def describe(self, build: BlockBuilder) -> None:\n"
        '        """One thread an element."""\n'
        "        build.launch(self.kernel, num_threads=self.out.size, args=(self.x, self.x, self.out, 1.0, 1))\n"
    )
    nodes = [{"id": "x", "type": "buffer.constant"}, {"id": "culprit", "type": "test.bad"}]
    edited(saxpy_file, nodes=nodes, connections=[{"source": "x.out", "target": "culprit.x"}])
    for engine in ([], ["--engine", f"{sys.executable} -m app engine"]):
        result = warploom("run", saxpy_file, "--device", "host", "--json", "--trust", *engine)
        assert result.status == 3
        assert result.err.startswith("error: node culprit: kernel saxpy, PTX line")
        (told,) = result.json["diagnostics"]
        assert (told["node"], told["file"], told["line"]) == ("culprit", str(bad), 2)
        assert {n["id"]: n["state"] for n in result.json["nodes"]} == {"x": "ok", "culprit": "error"}
        assert result.json["device"] == "host"
