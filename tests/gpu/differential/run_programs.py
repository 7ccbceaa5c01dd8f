"""Runs random programs on two devices and reports the first statement whose values differ."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np

from tests.gpu.differential.execute import launch
from tests.gpu.differential.form import Form
from tests.gpu.differential.kernel import ZONE_WORDS
from tests.gpu.differential.kinds import Bits
from tests.gpu.differential.programs import LANES, THREADS, Program, generate
from warploom.engine.device.device import Device
from warploom.engine.diagnostics import DeviceError, KernelError


def run(device: Device, program: Program) -> tuple[Bits, Bits]:
    """Run a program and return its stored values, shape (statements, lanes), and the words its atomics changed."""
    kernel = device.load_module(program.ptx).kernel("k")
    shape = len(program.statements), LANES
    zone = np.arange(ZONE_WORDS, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return launch(device, kernel, LANES, THREADS, program.inputs, shape, zone)


def difference(program: Program, host: tuple[Bits, Bits], device: tuple[Bits, Bits]) -> str:
    """Return the first difference between two runs in the order of the program's text, or "" if they agree."""
    for index, what in enumerate(program.statements):
        lanes = np.flatnonzero(host[0][index] != device[0][index])
        if lanes.size:
            lane = lanes[0]
            values = f"host {int(host[0][index, lane]):#x}, device {int(device[0][index, lane]):#x}"
            return f"program {program.seed}, value {index} ({what}), {lanes.size} lanes, first {lane}: {values}"
    words = np.flatnonzero(host[1] != device[1])
    if words.size:
        values = f"host {int(host[1][words[0]]):#x}, device {int(device[1][words[0]]):#x}"
        return f"program {program.seed}, atomics, word {words[0]}: {values}"
    return ""


@dataclass
class Outcome:
    """How many values were compared, which differ, and which differ only in code that the GPU's compiler optimised."""

    values: int = 0
    wrong: list[str] = field(default_factory=list)
    optimised: list[str] = field(default_factory=list)


def compare(
    forms: Sequence[Form],
    host: Device,
    device: Device,
    seeds: Iterable[int],
    plainly: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Outcome:
    """Run the programs of some seeds on both devices; inside `plainly`, the GPU's compiler does not optimise."""
    outcome = Outcome()
    for seed in seeds:
        program = generate(forms, seed)
        try:
            pair = run(host, program), run(device, program)
        except (DeviceError, KernelError) as error:
            if isinstance(error, DeviceError) and "CUDA_ERROR" in str(error):
                raise  # the GPU can't be used after such an error
            outcome.wrong.append(f"program {seed} does not run: {str(error)[:300]}")
            continue
        outcome.values += pair[0][0].size + ZONE_WORDS
        found = difference(program, *pair)
        if found:
            with plainly():
                again = difference(program, pair[0], run(device, program))
            (outcome.wrong if again else outcome.optimised).append(found)
    return outcome
