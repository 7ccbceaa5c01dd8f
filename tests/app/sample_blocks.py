"""Block types, patches and reports for the tests of edits and view models, without Qt."""

from warploom.api import Moment, Value, ValueBlock, param, value_port
from warploom.engine.blocktypes.block import Block
from warploom.engine.blocktypes.declarations import In, Out, port
from warploom.engine.catalogue.catalogue import default_catalogue
from warploom.engine.descriptions.builder import BlockBuilder
from warploom.engine.patch.document import Patch
from warploom.engine.protocol.messages import (
    BufferReport,
    EngineStatistics,
    FrameReport,
    NodeReport,
    NodeState,
    UpdateLevel,
)
from warploom.engine.types import Struct, any_type, f32, float3, float4, u32


class Spark(Struct):
    """A spark's position and velocity."""

    position: float3
    velocity: float3


class _Still:
    def describe(self, build: BlockBuilder) -> None:
        """Do nothing: no engine runs in these tests."""


class Source(_Still, Block, id="test_canvas.source", category="Test canvas"):
    """Quokka source of samples."""

    out: Out[f32] = port(doc="The samples.", shape="[64]")


class Scale(_Still, Block, id="test_canvas.scale", category="Test canvas", tags=("wallaby",)):
    """Quokka that scales samples."""

    x: In[f32] = port(doc="Samples to scale.")
    gain: In[f32] = port(doc="Gain of each sample.", optional=True)
    out: Out[f32] = port(doc="Scaled samples.", shape="same(x)")


class Count(_Still, Block, id="test_canvas.count", category="Test canvas"):
    """Quokka that counts."""

    x: In[u32] = port(doc="Whole numbers.", rank=1)
    out: Out[u32] = port(doc="How many.", shape="scalar")


class Picture(_Still, Block, id="test_canvas.picture", category="Test canvas"):
    """Quokka picture."""

    out: Out[float4] = port(doc="The picture.", shape="[48, 64]")


class Soften(_Still, Block, id="test_canvas.soften", category="Test canvas"):
    """Quokka that softens pictures."""

    image: In[float4] = port(doc="Sharp image.", rank=2)
    out: Out[float4] = port(doc="Soft image.", shape="same(image)")


class Sparks(_Still, Block, id="test_canvas.sparks", category="Test canvas"):
    """Quokka sparks."""

    out: Out[Spark] = port(doc="The sparks.", shape="[100000]", state=True)


class Show(_Still, Block, id="test_canvas.show", category="Test canvas"):
    """Quokka viewer of anything."""

    x: In[any_type] = port(doc="Anything.")
    out: Out[any_type] = port(doc="The same.", dtype="same(x)")


class Blend(_Still, Block, id="test_canvas.blend", category="Test canvas"):
    """Wombat with parameters."""

    x: In[f32] = port(doc="Samples.", optional=True)
    out: Out[f32] = port(doc="Samples.", shape="[size]")
    amount: float = param(0.25, min=0, max=1, doc="How much.")
    steps: int = param(3, min=1, max=9, unit="px", doc="How many.")
    on: bool = param(True, doc="Whether at all.")
    size: int = param(64, min=1, max=4096, structural=True, doc="How large.")
    label: str = param("", doc="A text.")


class Wave(ValueBlock, id="test_canvas.wave", category="Test values"):
    """Bilby that swings."""

    value: Value[float] = value_port(doc="The number.", unit="m")
    up: Value[bool] = value_port(doc="Whether it rises.")
    speed: float = param(1.0, min=0, max=10, doc="How fast.")
    hold: bool = param(False, doc="Whether it stands.")

    def update(self, now: Moment) -> None:
        """Do nothing: no engine runs in these tests."""


class Dial(ValueBlock, id="test_canvas.dial", category="Test values"):
    """Bilby that a person sets."""

    handle = "turn"

    value: Value[float] = value_port(doc="The number set.")
    turn: float = param(0.5, min=0, max=2, doc="How far it is turned.")

    @classmethod
    def spanning(cls, low: float, high: float, value: float) -> dict[str, float]:
        """Set the dial to the value, which may be out of range."""
        return {"turn": value}

    def update(self, now: Moment) -> None:
        """Do nothing: no engine runs in these tests."""


def make_report(
    nodes: dict[str, NodeReport] | None = None,
    buffers: dict[str, BufferReport] | None = None,
    values: dict[str, float] | None = None,
) -> FrameReport:
    """Return a running engine's frame report about some nodes, buffers and values."""
    engine = EngineStatistics("host")
    return FrameReport(
        1, UpdateLevel.NONE, 1_000_000, nodes or {}, buffers or {}, engine, values=values or {}, running=True
    )


def make_node_report(state: NodeState = NodeState.OK, time_ns: int | None = None, message: str = "") -> NodeReport:
    """Return a node report."""
    return NodeReport("test_canvas.scale", state, message, time_ns, 1)


def make_patch() -> Patch:
    """Return a patch with two connected nodes and an unconnected one: source -> scale, and count."""
    patch = Patch(default_catalogue())
    source = patch.add("test_canvas.source", node_id="source", position=(-240, 0))
    scale = patch.add("test_canvas.scale", node_id="scale", position=(0, 0))
    patch.add("test_canvas.count", node_id="count", position=(0, 160))
    patch.connect(source["out"], scale["x"])
    return patch


KINDS = ["control.if", "control.if_else", "control.switch", "control.while", "control.for"]


def patch_with_region() -> Patch:
    """Return a patch of a source, a For with a Scale in it, and another Scale outside."""
    patch = Patch(default_catalogue())
    patch.add("test_canvas.source", node_id="source", position=(-400, 0))
    loop = patch.add("control.for", node_id="loop", position=(-160, 80))
    patch.add("test_canvas.scale", node_id="inner", position=(-160, -40), region=loop)
    patch.add("test_canvas.scale", node_id="free", position=(200, 0))
    return patch
