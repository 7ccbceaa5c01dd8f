"""Muted nodes: those in which the device failed. They are left out of the graph until they may run again."""

from collections.abc import Iterable, Mapping, Sequence

from warploom.engine.diagnostics import DeviceError, Diagnostic
from warploom.engine.kernel_sources.image import KernelImage

#: The compiled sources of a node's kernels, None for one that can't be loaded.
Images = Sequence[KernelImage | None]


class Muted:
    """The muted nodes: for each the reason, and the code that failed, if that is known.

    A node may run again after it has changed, after a change that a build follows of a node that it depends on, and
    after its code has changed.
    """

    def __init__(self) -> None:
        self.reasons: dict[str, Diagnostic] = {}
        #: The failure that muted a node of this engine last; frames by hand raise it while any node is muted.
        self.failure: DeviceError | None = None
        self._images: dict[str, Images] = {}

    def add(self, reasons: Mapping[str, Diagnostic], failure: DeviceError | None = None) -> None:
        """Mute nodes."""
        self.reasons |= reasons
        self.failure = failure

    def release(self, nodes: Iterable[str] | None = None) -> list[str]:
        """Let all muted nodes, or those of `nodes`, run again, and return them."""
        released = [node for node in self.reasons if nodes is None or node in nodes]
        for node in released:
            del self.reasons[node]
            self._images.pop(node, None)
        return released

    def release_mended(self, images: Mapping[str, Images]) -> list[str]:
        """Let nodes run again whose code has changed, and return them; `images` are those of all muted nodes."""
        mended = [node for node, before in self._images.items() if images[node] != before]
        self._images |= images
        return self.release(mended)
