"""The canvas: the patch as a person sees and edits it."""

from app.canvas.canvas import Canvas

__all__ = ["Canvas"]
