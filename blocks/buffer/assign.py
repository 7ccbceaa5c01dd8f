from warploom.api import Block, BlockBuilder, In, Out, any_type, port


class Assign(Block, id="buffer.assign", tags=("store", "set", "overwrite", "loop", "carry")):
    """Overwrites a buffer with the contents of another one.

    Works in place: `target` itself changes. Use it in a loop to carry a value to the next turn, or to update the
    condition of a While: `target` is a buffer from outside the loop, `value` its new contents.
    """

    target: In[any_type] = port(doc="The buffer to overwrite: any element type, any shape.")
    value: In[any_type] = port(
        shape="same(target)", dtype="same(target)", doc="The new contents, of the type and shape of target."
    )
    out: Out[any_type] = port(inplace="target", dtype="same(target)", doc="The input target, with the new contents.")

    def describe(self, build: BlockBuilder) -> None:
        """Add one copy node, and no kernel."""
        build.copy(self.out, self.value)
