"""The gestures of the canvas, and the About dialog."""

from PySide6.QtWidgets import QMessageBox, QWidget

from warploom.app.theme.icons import program_icon
from warploom.engine.version import version

#: The gestures of `canvas/graph_view.py` and the keys of the canvas.
GESTURES = (
    ("Connect", "Drag from a port to a port, or onto a block"),
    ("Add a block to a port", "Drag from the port to empty canvas"),
    ("Drive a parameter", "Drag from a value onto a block"),
    ("Move or delete a connection", "Drag its end; drop the end on empty canvas to delete"),
    ("Insert a block in a connection", "Double-click the connection"),
    ("Insert a block that is there", "Drag it onto the connection"),
    ("Lead a connection through a dot", "Drag its middle; double-click the dot to remove it"),
    ("Cut connections", "Ctrl and right drag across them, or Alt and drag"),
    ("Add a block", "Double-click empty canvas"),
    ("Add a block for a file", "Drop the file on empty canvas, or paste it"),
    ("Let a block read another file", "Drop the file on the block"),
    ("Change a number of the inspector", "Drag its name; Shift: fine, Ctrl: coarse"),
    ("Show a viewer", "Double-click its block"),
    ("Open the patch inside a block", "Double-click the block, or Enter"),
    ("Leave the patch inside a block", "Escape"),
    ("Select several blocks", "Drag on empty canvas"),
    ("Add to the selection", "Shift or Ctrl and click"),
    ("Move selected blocks, frames or a dot", "Drag, or the arrow keys"),
    ("Go to the next block in a direction", "Ctrl and the arrow keys"),
    ("Move into or out of a region", "Drag into its box, or out of it"),
    ("Pan", "Drag with the middle or right button, two fingers, or the arrow keys while nothing is selected"),
    ("Pan sideways", "Shift and wheel"),
    ("Zoom", "Wheel, pinch, or Ctrl and two fingers"),
    ("Move a picture, a plot or the map", "Arrow keys; points are turned"),
    ("Turn the camera of a picture, bring it nearer", "Ctrl and drag in the picture, Ctrl and wheel"),
    ("Zoom a picture, a plot or the map, fit it", "+ and -, 0"),
    ("Copy a picture, a plot or the cells of a table", "Ctrl+C in the viewer"),
    ("Point at a pixel", "Shift and the arrow keys; Enter shows actual pixels"),
    ("Move the line between two pictures", "[ and ]"),
    ("Open the menu of the item under the pointer", "Right click"),
    ("Cancel a drag", "Escape"),
)


def show_about(parent: QWidget, device: str) -> None:
    """Show the version and the device."""
    box = QMessageBox(parent, windowTitle="About Warploom", text=f"Warploom {version()}")
    box.setInformativeText(
        f"Patch GPU pipelines live: the whole patch compiles into one CUDA graph.\n\nRunning on: {device}"
    )
    box.setContentsMargins(8, 8, 8, 4)
    box.setIconPixmap(program_icon().pixmap(48, 48))
    box.exec()
