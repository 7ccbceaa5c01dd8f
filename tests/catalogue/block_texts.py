"""The texts of small block files, and a folder to save them in."""

from pathlib import Path

HEAD = "from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port\n"
KERNEL = """
extern "C" __global__ void scale(const float* x, float* out, float gain, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = gain * x[i];
}
"""


def block_text(
    type_id: str = "live.scale",
    *,
    gain: str = "1.0, min=-100, max=100",
    source: str = "x",
    out: str = "out",
    factor: str = "self.gain",
    extra: str = "",
    before: str = "",
    describe: str = "",
) -> str:
    """Return the text of a block that multiplies by its gain; `source` and `out` name its ports."""
    return f'''{HEAD}{before}

class Scale(Block, id="{type_id}"):
    """Scale a buffer."""

    {source}: In[f32] = port(doc="Numbers.")
    {out}: Out[f32] = port(shape="same({source})", doc="Scaled numbers.")
    gain: float = param({gain}, doc="Is multiplied by.")
    {extra}

    def describe(self, build: BlockBuilder) -> None:
        """One thread an element."""
        {describe}
        size = self.{out}.size
        build.launch(Kernel("scale.cu", "scale"), num_threads=size, args=(self.{source}, self.{out}, {factor}, size))
'''


class BlockFolder:
    """A folder of block files, with a kernel that all of them use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / "scale.cu").write_text(KERNEL)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the folder and return its path."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path
