"""An append buffer of floats, a block that reads one, and a block whose output is -0 when it does not run."""

from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, param, port, u32

FILE = "value_blocks.cu"


class Keep(Block, id="test_values.keep"):
    """Appends the elements that are not below a number."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="[x.size]", append=True, doc="Those that are not below `least`, in any order.")
    least: float = param(0.0, doc="The bound; NaN is not below it.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        arguments = (self.x, self.least, self.out, self.out.counter, self.out.size, self.x.size)
        build.launch(Kernel(FILE, "keep"), num_threads=self.x.size, args=arguments)


class Digest(Block, id="test_values.digest"):
    """Output a digest of all bits of an append buffer."""

    x: In[f32] = port(doc="Numbers, in any order.")
    count: In[u32] = port(shape="[1]", doc="How many.")
    out: Out[u32] = port(shape="[2]", doc="Their bits: exclusive or, and sum.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread."""
        build.launch(Kernel(FILE, "digest"), num_threads=1, thread_block=1, args=(self.x, self.count, self.out))


class Negate(Block, id="test_values.negate"):
    """Negate all numbers."""

    x: In[f32] = port(doc="Numbers.")
    out: Out[f32] = port(shape="same(x)", default=-0.0, doc="-x.")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per element."""
        build.launch(Kernel(FILE, "negate"), num_threads=self.out.size, args=(self.x, self.out, self.out.size))
