import math

from warploom.api import (
    BlockBuilder,
    In,
    Kernel,
    LiveBlock,
    Moment,
    Value,
    any_type,
    f64,
    param,
    port,
    value_port,
)
from warploom.blocks.reduce.shares import describe_reduction
from warploom.engine.diagnostics import PatchError

_REDUCTIONS = {"mean": "add", "sum": "add", "largest": "maximum", "smallest": "minimum"}
_PICK, _DIVIDE, _KEEP = (Kernel("numbers.cu", entry) for entry in ("pick_number", "divide_number", "keep_number"))


class BufferToValue(
    LiveBlock,
    id="value.from_buffer",
    title="Buffer to Value",
    tags=("reduce", "drive", "feedback", "sample", "readback"),
):
    """Turns a number of a buffer into a value that drives any parameter.

    The number is an element, or the mean, sum, largest or smallest of all, which the device computes.

    A kernel's number that the value drives directly is that of this frame: the kernel reads it from memory, and
    the CPU takes no part. This is not possible if the number depends on the block of that kernel.

    Everything else gets the value of the newest finished frame, so that the frame that begins waits for nothing:
    the value itself, other value blocks and what these drive, conditions of regions, and blocks that work on the CPU.
    This is the frame before or, while a GPU is a few frames behind, an older one. `age` says which. In the first frame
    the value is 0. The inspector shows which of the two a parameter has.
    """

    x: In[any_type] = port(dtype="number", doc="Single real numbers or booleans, of any shape.")
    value: Value[float] = value_port(doc="The number.")
    age: Value[int] = value_port(doc="Frames from the one whose number this is to the present one; 0 at first.")
    number: str = param(
        "element", choices=("element", *_REDUCTIONS), doc="Which number: one element, or one computed of all."
    )
    index: int = param(
        0,
        min=-(2**31),
        max=2**31 - 1,
        doc="Which element, counted row by row from 0, or back from -1, the last one; beyond both ends the nearest.",
    )

    saved = ("newest",)
    newest: int | None = None  # the frame whose number is the value

    def describe(self, build: BlockBuilder) -> None:
        """Reduce on the device, and watch one number."""
        result, kept = build.buffer("result", f64, "[1]"), build.value("value")
        if self.number == "element":
            args = (self.x, build.element_type(self.x), result, kept, self.index, self.x.size)
            build.launch(_PICK, num_threads=1, thread_block=1, args=args)
        elif self.number == "mean":
            total = build.buffer("total", f64, "[1]")
            describe_reduction(build, "add", self.x, total, result=f64)
            build.launch(_DIVIDE, num_threads=1, thread_block=1, args=(total, result, kept, self.x.size))
        else:
            describe_reduction(build, _REDUCTIONS[self.number], self.x, result, result=f64)
            build.launch(_KEEP, num_threads=1, thread_block=1, args=(result, kept))
        build.watch(result)

    def start(self) -> None:
        """Begin with 0."""
        self.value, self.age, self.newest = 0.0, 0, None

    def update(self, now: Moment) -> None:
        """Take the newest number that has arrived."""
        for frame, array in self.taken("result")[-1:]:
            self.newest, found = frame, float(array[0])
            if not math.isfinite(found):
                raise PatchError(f"{self.number} must be a finite number, got {found} in frame {frame}")
            self.value = found
        self.age = now.frame - self.newest if self.newest is not None else 0
