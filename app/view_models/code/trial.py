"""A trial of code: one block runs alone, on given inputs, in a process of its own."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from warploom.engine.diagnostics import PatchError
from warploom.engine.types import Array

#: Files that are copied with a file of code, since it may need them; larger ones are not code.
_CODE_SUFFIXES = (".py", ".cu", ".cuh", ".h", ".hpp", ".ptx", ".json")
_MOST_BYTES, _LIMIT_S = 4 << 20, 60
#: Frames before times count, in which code is compiled and optimised, and frames that are timed.
_WARM, _TIMED = 12, 40
_SCALARS = {"boolean", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f32", "f64", "c64", "c128"}


@dataclass(frozen=True)
class Trial:
    """A block type with values and inputs: by port, an element type ("float4") and the contents.

    If `file` names a file of code, its folder is copied, and the copy of the file gets the text under trial. If the
    block's code is the value of a parameter, `parameter` names it. `blocks` is the folder of blocks to load, which
    holds the file.
    """

    type_id: str
    values: Mapping[str, Any]
    inputs: Mapping[str, tuple[str, Array]]
    outputs: tuple[str, ...]
    device: str = "auto"
    file: Path | None = None
    parameter: str = ""
    blocks: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What a trial gave: the outputs, the shortest time of the block in a frame, or the problem."""

    outputs: Mapping[str, Array] = field(default_factory=dict)
    time_ns: int | None = None
    problem: str = ""


def run_trial(trial: Trial, text: str) -> Outcome:
    """Run a block with another text of its code, in a process of its own, and return what it gave."""
    with tempfile.TemporaryDirectory(prefix="warploom-trial-") as name:
        folder = Path(name)
        try:
            _write(trial, text, folder)
            done = subprocess.run(
                [sys.executable, "-m", "warploom.app.view_models.code.trial", str(folder)],
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
                cwd=Path(__file__).parents[3],
            )
        except subprocess.TimeoutExpired:
            return Outcome(problem=f"the block must run within {_LIMIT_S} s, got stopped")
        except (OSError, PatchError) as problem:
            return Outcome(problem=str(problem))
        if not (folder / "result.json").is_file():
            last = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
            return Outcome(problem=f"the block must run in a process of its own, got: {last}")
        found = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        outputs = {}
        if (folder / "outputs.npz").is_file():
            with np.load(folder / "outputs.npz") as held:
                outputs = {port: held[port] for port in held.files}
        return Outcome(outputs, found["time_ns"], found["problem"])


def _write(trial: Trial, text: str, folder: Path) -> None:
    """Write the trial into a folder for the other process. Raise PatchError for an input that can't be given to it."""
    values = dict(trial.values)
    if trial.parameter:
        values[trial.parameter] = text
    if trial.file is not None:
        root = trial.blocks if trial.blocks is not None else trial.file.parent
        copy = folder / ("blocks" if trial.blocks is not None else "code")
        _copy_code(root, copy)
        place = copy / trial.file.relative_to(root)
        place.write_text(text, encoding="utf-8", newline="\n")
        if trial.blocks is None:
            values["file"] = str(place)
    for port, (kind, _) in trial.inputs.items():
        if not (kind in _SCALARS or kind.rstrip("234") in ("float", "uchar")):
            raise PatchError(f"inputs of a comparison must be numbers or vectors, got {kind} at {port}")
    _save_arrays(folder / "inputs.npz", {port: contents for port, (_, contents) in trial.inputs.items()})
    kinds = {port: kind for port, (kind, _) in trial.inputs.items()}
    spec = {"type": trial.type_id, "values": values, "kinds": kinds, "outputs": trial.outputs, "device": trial.device}
    (folder / "trial.json").write_text(json.dumps(spec, default=str), encoding="utf-8", newline="\n")


def _save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type]  # numpy's types take no names but its own


def _copy_code(root: Path, copy: Path) -> None:
    total = 0
    for path in sorted(root.rglob("*")) if root.name == "blocks" else sorted(root.iterdir()):
        if path.suffix in _CODE_SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
            total += path.stat().st_size
            if total > _MOST_BYTES:
                raise PatchError(f"code around the file must have at most {_MOST_BYTES >> 20} MB, got more in {root}")
            target = copy / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    copy.mkdir(exist_ok=True)


def _run(folder: Path) -> None:
    """Run the trial in a folder, in the process that was started for it."""
    from warploom import Engine, Patch
    from warploom.engine.catalogue.catalogue import trust_blocks
    from warploom.engine.patch.changes import PortRef

    spec = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    result: dict[str, Any] = {"time_ns": None, "problem": ""}
    problems = trust_blocks(folder / "blocks") if (folder / "blocks").is_dir() else []
    try:
        if problems:
            raise PatchError(str(problems[0]))
        patch = Patch()
        patch.trusted = True
        node = patch.add(spec["type"], node_id="tried", **spec["values"])
        with np.load(folder / "inputs.npz") as held:
            for port, kind in spec["kinds"].items():
                source = patch.add("io.array", data=held[port])["out"]
                if kind not in _SCALARS:
                    view = patch.add("buffer.reinterpret", dtype=kind)
                    flat = np.ascontiguousarray(held[port]).reshape(*held[port].shape[:-2], -1)
                    patch.set(source.node, data=flat)
                    patch.connect(source, view["x"])
                    source = view["out"]
                patch.connect(source, node[port])
        with Engine(patch, device=spec["device"]) as engine:
            report, times = engine.step(), list[int]()
            for frame in range(_WARM + _TIMED):
                wrong = next((item for item in report.diagnostics if item.severity == "error"), None)
                if wrong is not None:
                    raise PatchError(wrong.message)
                report = engine.step()
                time_ns = report.nodes["tried"].time_ns
                if frame >= _WARM and time_ns is not None:
                    times.append(time_ns)
            result["time_ns"] = min(times, default=None)
            outputs = {port: engine.read(PortRef("tried", port)) for port in spec["outputs"]}
        _save_arrays(folder / "outputs.npz", outputs)
    except Exception as problem:  # noqa: BLE001 - the code under trial may fail in any way
        result["problem"] = str(problem)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class Difference:
    """How two outputs of one port differ: the number of elements, the largest difference and its place."""

    port: str
    different: int
    total: int
    largest: float
    place: tuple[int, ...]
    #: Why they can't be compared.
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.port}: {self.reason}"
        if not self.different:
            return f"{self.port}: all {self.total:,} numbers are equal"
        return (
            f"{self.port}: {self.different:,} of {self.total:,} numbers differ, most by {self.largest:.4g} at "
            f"[{', '.join(map(str, self.place))}]"
        )


def compared(before: Mapping[str, Array], now: Mapping[str, Array]) -> list[Difference]:
    """Compare the outputs of two trials; a NaN equals a NaN."""
    found = []
    for port in dict.fromkeys([*before, *now]):
        a, b = before.get(port), now.get(port)
        if a is None or b is None or a.shape != b.shape:
            shapes = ["none" if each is None else str(list(each.shape)) for each in (a, b)]
            found.append(Difference(port, 0, 0, 0.0, (), f"shape {shapes[0]} before, {shapes[1]} now"))
            continue
        apart = difference_of(a, b)
        place = np.unravel_index(int(np.argmax(apart)), apart.shape) if apart.size else ()
        largest = float(apart[place]) if apart.size else 0.0
        found.append(Difference(port, int(np.count_nonzero(apart)), apart.size, largest, tuple(map(int, place))))
    return found


def difference_of(a: Array, b: Array) -> Array:
    """Return the absolute difference of each number; infinite where only one is NaN."""
    kind = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
    one, other = np.asarray(a, kind), np.asarray(b, kind)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(one == other, 0.0, np.abs(one - other))
    both, either = np.isnan(one) & np.isnan(other), np.isnan(one) ^ np.isnan(other)
    return np.where(both, 0.0, np.where(either, np.inf, np.nan_to_num(apart, nan=np.inf, posinf=np.inf)))


if __name__ == "__main__":
    _run(Path(sys.argv[1]))
