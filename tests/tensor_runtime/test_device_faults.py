"""Any call of the device may fail while a program is compiled and run: the next try has the right results."""

import gc
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.device.faults import Faults
from tests.fuzzing import FACTOR, FIRST_SEED
from tests.tensor_ir.lowering.running import leaf
from warploom.engine.diagnostics import WarploomError
from warploom.engine.tensor_ir.graph import TensorGraph
from warploom.engine.tensor_runtime.lazy import devices
from warploom.engine.tensor_runtime.lazy.tensor import Tensor
from warploom.engine.tensor_runtime.program import Program
from warploom.engine.tensor_runtime.tensors import TensorBuffer, Tensors

#: How many calls fail in an ordinary run.
SAMPLE = 5
_A, _B = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(8, dtype=np.float32).reshape(4, 2)


class Session:
    """Programs that are run once, with other buffers, and as a loop; a step that fails is tried again."""

    def __init__(self) -> None:
        self.raised: list[str] = []

    def do(self, step: Callable[[], Any]) -> Any:
        """Return the step's result, at the second try if the first one fails."""
        try:
            return step()
        except WarploomError as problem:
            self.raised.append(str(problem))
            return step()

    def run(self) -> None:
        """Compute, and compare with numpy."""
        tensors = self.do(lambda: Tensors("host"))
        graph = TensorGraph()
        a, b = leaf(graph, 3, 4), leaf(graph, 4, 2)
        product = a @ b
        program = self.do(lambda: Program(tensors, [a, b], [product + 1.0, product * product]))

        def filled(values: np.ndarray[Any, Any], which: int) -> TensorBuffer:
            buffer: TensorBuffer = self.do(lambda: tensors.buffer(program.input_types[which]))
            self.do(lambda: buffer.write(values))
            return buffer

        right = filled(_B, 1)
        for scale in (1.0, 2.0):
            inputs = [filled(_A * scale, 0), right]
            outputs = [self.do(lambda type_=type_: tensors.buffer(type_)) for type_ in program.output_types]
            self.do(lambda inputs=inputs, outputs=outputs: program.run(inputs, outputs))
            expected = _A * scale @ _B
            assert np.allclose(self.do(outputs[0].read), expected + 1)
            assert np.allclose(self.do(outputs[1].read), expected * expected)
        self.do(lambda: program.profile(inputs, outputs, launches=1))
        self.do(program.close)
        for _ in range(2):
            self.do(tensors.close)

    def run_lazily(self) -> None:
        """Compute tensors that are only computed when they are read."""
        copied = self.do(lambda: Tensor.from_numpy(_A, device="host"))
        shared = self.do(lambda: Tensor.from_dlpack(_A.copy(), device="host"))
        total = copied + shared
        assert np.array_equal(self.do(total.numpy), 2 * _A)
        del copied, shared, total
        gc.collect()
        for _ in range(2):
            self.do(devices.close_devices)


@pytest.mark.parametrize("how", [Session.run, Session.run_lazily])
def test_after_a_failure_the_next_try_is_right(monkeypatch: pytest.MonkeyPatch, how: Callable[[Session], None]) -> None:
    """A call that fails once is one error, the step succeeds when it is tried again, and everything is freed."""
    monkeypatch.setattr(devices, "_open", {})
    how(Session())  # measures the clocks, once a process
    faults = Faults()
    with faults.counting():
        how(Session())
    assert not faults.live
    numbers = range(len(faults.calls))
    for number in numbers if FACTOR > 1 else Random(FIRST_SEED).sample(numbers, SAMPLE):
        session = Session()
        with faults.counting(number):
            how(session)
        place = faults.calls[number]
        assert len(session.raised) <= 1, place
        assert all(Faults.TEXT in text for text in session.raised), place
        # A lazy computation that fails is tried again without the programs that it keeps.
        assert session.raised or how is Session.run_lazily or place[2] == "Device.allocate", place
        assert not faults.live, (place, [made for _, made in faults.live.values()])
