"""buffer.copy: the same contents in another buffer."""

from __future__ import annotations

from engine.api import Block, BlockBuilder, In, Out, any_type, port


class Copy(Block, id="buffer.copy", version=1, category="Buffer", tags=("duplicate", "memcpy")):
    """Copy a buffer of any type.

    The copy has memory of its own. Use it before a block that changes its input in place, when something else needs
    the contents as they were.
    """

    x: In[any_type] = port(doc="What is copied: any element type, any shape.")
    out: Out[any_type] = port(shape="same(x)", dtype="same(x)", doc="The copy.")

    def describe(self, build: BlockBuilder) -> None:
        """One copy node; no kernel."""
        build.copy(self.out, self.x)
