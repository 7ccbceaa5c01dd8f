"""Region blocks that the tests of the document place."""

import pytest

from warploom.api import Block, BlockBuilder, In, Out, f32, port, u32


@pytest.fixture
def region_blocks() -> None:
    """Define a loop, a choice of two branches, a pass-through of numbers, and a delay of one frame."""

    class Loop(Block, id="test_region.loop", regions=("",)):
        """Repeat the nodes inside."""

        condition: In[f32] = port(optional=True, doc="Go on.")
        index: Out[u32] = port(shape="[1]", doc="The turn.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Choice(Block, id="test_region.choice", regions=("", "else")):
        """Run one of two branches."""

        condition: In[f32] = port(optional=True, doc="Which one.")
        index: Out[u32] = port(shape="[1]", doc="The branch.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Pass(Block, id="test_region.pass", title="Pass"):
        """Pass numbers through."""

        x: In[f32] = port(optional=True, doc="Numbers.")
        y: In[f32] = port(optional=True, doc="More numbers.")
        i: In[u32] = port(optional=True, doc="A turn.")
        out: Out[f32] = port(doc="Numbers.")

        def describe(self, build: BlockBuilder) -> None: ...

    class Delay(Block, id="test_region.delay"):
        """Output the previous frame's numbers."""

        x: In[f32] = port(delayed=True, optional=True, doc="Numbers.")
        out: Out[f32] = port(shape="[1]", doc="Numbers of the last frame.")

        def describe(self, build: BlockBuilder) -> None: ...
