from engine.api import Block, BlockBuilder, In, Out, any_type, port


class Assign(Block, id="buffer.assign", tags=("store", "set", "overwrite", "loop", "carry")):
    """Overwrite a buffer with another one's contents.

    Works in place: `target` itself changes. This is how a loop carries a value to its next turn or updates the
    condition of a While: `target` is a buffer from outside the loop, `value` its new contents.
    """

    target: In[any_type] = port(doc="What is overwritten: any element type, any shape.")
    value: In[any_type] = port(shape="same(target)", dtype="same(target)", doc="The new contents, like target.")
    out: Out[any_type] = port(inplace="target", dtype="same(target)", doc="The target, with the new contents.")

    def describe(self, build: BlockBuilder) -> None:
        """One copy node; no kernel."""
        build.copy(self.out, self.value)
