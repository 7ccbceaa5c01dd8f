"""A GPU's results in a small file, against which the host device is tested where there is no GPU.

The file holds the inputs once for each combination of operand kinds, the results of each form, and a checksum of each
form's text. A form whose text has changed since the recording is not compared.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.gpu.differential.compare import start_zones
from tests.gpu.differential.execute import Results
from tests.gpu.differential.form import Form
from tests.gpu.differential.kernel import ZONE_WORDS
from tests.gpu.differential.kinds import KINDS, Bits, Kind
from tests.gpu.differential.samples import inputs

LANES = THREADS = 64
_WIDTHS = (8, 16, 32, 64)


@dataclass
class Recording:
    """Inputs by operand kinds, shape (operands, 64), the initial zones, the GPU's results, and the checksums."""

    inputs: dict[str, Bits]
    zones: dict[str, Bits]
    results: Results
    checksums: dict[str, int]

    def covers(self, form: Form) -> bool:
        """Return whether the file has results of exactly this form."""
        return self.checksums.get(form.name) == checksum(form)

    def given(self, form: Form) -> Bits:
        """Return the recorded inputs of a form."""
        return self.inputs[_signature(form.inputs)]


def checksum(form: Form) -> int:
    """Return a checksum of everything that determines a form's results."""
    parts = form.lines, _signature(form.inputs), _signature(form.outputs), form.zone, str(form.thread_block)
    return zlib.crc32("|".join(parts).encode())


def _signature(kinds: tuple[Kind, ...]) -> str:
    return " ".join(kind.name for kind in kinds)


class _Columns:
    """Columns of values by width; `put` appends values, and `take` returns them in the same order."""

    def __init__(self, columns: dict[int, Bits] | None = None) -> None:
        self.parts: dict[int, list[Bits]] = {width: [] for width in _WIDTHS}
        self.columns = columns or {}
        self.places = dict.fromkeys(_WIDTHS, 0)

    def put(self, values: Bits, kind: Kind) -> None:
        self.parts[_width(kind)].append(values)

    def take(self, count: int, kind: Kind) -> Bits:
        width = _width(kind)
        first = self.places[width]
        self.places[width] += count
        return self.columns[width][first : first + count].astype(np.uint64)

    def arrays(self, prefix: str) -> dict[str, Bits]:
        """Return the values of each width as bytes that compress well: all lowest bytes first, then the next ones."""
        arrays = {}
        for width, parts in self.parts.items():
            values = np.concatenate([*parts, np.zeros(0, np.uint64)]).astype(f"<u{width // 8}")
            arrays[f"{prefix}{width}"] = values.view(np.uint8).reshape(-1, width // 8).T.copy()
        return arrays  # type: ignore[return-value]  # bytes, as the file stores them

    @classmethod
    def of(cls, file: dict[str, np.ndarray], prefix: str) -> _Columns:
        """Read the columns from a file's arrays."""
        return cls(
            {width: np.ascontiguousarray(file[f"{prefix}{width}"].T).view(f"<u{width // 8}")[:, 0] for width in _WIDTHS}
        )


def _width(kind: Kind) -> int:
    return max(kind.bits, 8)


def write(path: Path, forms: list[Form], results: Results, seed: int) -> None:
    """Write a GPU's results for the inputs of a seed."""
    forms = [form for form in forms if form.name in results.values]
    lines, given, values = list[str](), _Columns(), _Columns()
    sets = {_signature(form.inputs): form for form in forms}
    for form in sets.values():
        for kind, row in zip(form.inputs, inputs(form, LANES, seed), strict=True):
            given.put(row, kind)
    for form in forms:
        kinds = _signature(form.inputs), _signature(form.outputs)
        lines.append("\t".join((form.name, str(checksum(form)), *kinds, form.zone)))
        for kind, row in zip(form.outputs, results.values[form.name], strict=True):
            values.put(row, kind)
        if form.zone:
            values.put(results.zones[form.name], KINDS["u64"])
            values.put(start_zones([form], seed)[form.name], KINDS["u64"])
    text = "\n".join(lines)
    index = np.frombuffer(text.encode(), np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, index=index, **given.arrays("in"), **values.arrays("out"))  # type: ignore[arg-type]


def read(path: Path) -> Recording:
    """Read a recording."""
    with np.load(path) as opened:
        file = {name: opened[name] for name in opened.files}
    given, values = _Columns.of(file, "in"), _Columns.of(file, "out")
    recording = Recording({}, {}, Results(), {})
    lines = [line.split("\t") for line in file["index"].tobytes().decode().splitlines()]
    for signature in dict.fromkeys(line[2] for line in lines):
        kinds = [KINDS[name] for name in signature.split()]
        recording.inputs[signature] = np.stack([given.take(LANES, kind) for kind in kinds])
    for name, check, _, outputs, zone in lines:
        recording.checksums[name] = int(check)
        rows = [values.take(LANES, KINDS[kind]) for kind in outputs.split()]
        recording.results.values[name] = np.stack(rows) if rows else np.zeros((0, LANES), np.uint64)
        if zone:
            recording.results.zones[name] = values.take(ZONE_WORDS, KINDS["u64"])
            recording.zones[name] = values.take(ZONE_WORDS, KINDS["u64"])
    return recording
