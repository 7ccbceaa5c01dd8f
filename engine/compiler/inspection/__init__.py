"""Shows a plan: as text, as data, as a graph in DOT or SVG, and as a timeline of its memory."""

from warploom.engine.compiler.inspection.data import FramePlan, PlannedMemory, PlannedOperation, frame_plan
from warploom.engine.compiler.inspection.dot import plan_dot
from warploom.engine.compiler.inspection.drawing import plan_svg
from warploom.engine.compiler.inspection.memory import MemoryTimeline, TimelineStep, memory_svg, memory_timeline
from warploom.engine.compiler.inspection.text import plan_text

__all__ = [
    "FramePlan",
    "MemoryTimeline",
    "PlannedMemory",
    "PlannedOperation",
    "TimelineStep",
    "frame_plan",
    "memory_svg",
    "memory_timeline",
    "plan_dot",
    "plan_svg",
    "plan_text",
]
