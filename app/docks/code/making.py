"""`Making`: new blocks and kernels, and own copies of blocks, as commands."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QRectF

from warploom.app.docks.dock import Editor
from warploom.app.documents import dialogs
from warploom.app.edits.files import new_code
from warploom.app.edits.files.new_code import KINDS, Made
from warploom.app.edits.nodes import place, set_parameter, snapped
from warploom.engine.blocktypes.block_types import is_ours
from warploom.engine.blocktypes.found_files import found_file
from warploom.engine.diagnostics import WarploomError
from warploom.engine.patch.beside.file_paths import relative_to
from warploom.engine.patch.changes import Position
from warploom.engine.patch.document import Patch

_APART = 24.0


class Making(QObject):
    """Makes files of code beside the patch, adds their blocks, and shows the code."""

    def __init__(self, editor: Editor, show: Callable[[str, Path], None], parent: QObject) -> None:
        super().__init__(parent)
        self._editor, self._show = editor, show

    def new_block(self) -> None:
        """Ask for a name and a kind, make a block that runs, and add it to the patch."""
        asked = self._ask("New block", list(KINDS))
        if asked is not None:
            made = self._editor.own_code.write_blocks(lambda folder: new_code.write_block(folder, *asked))
            self._add(made, self._place_type)

    def new_kernel(self) -> None:
        """Ask for a name, make a kernel file that runs, and add a block for it to the patch."""
        asked = self._ask("New kernel", [kind for kind, (_, kernel) in KINDS.items() if kernel])
        if asked is not None:
            made = self._editor.own_code.write_files(lambda folder: new_code.write_kernel(folder, *asked))
            self._add(made, lambda patch, made, at: new_code.place_kernel(patch, made.files[0], at))

    def edit_copy(self) -> None:
        """Make an own copy of the selected block's code, and let the block use it."""
        patch, node = self._patch(), next(iter(self._editor.canvas.selected()), None)
        block_type = patch.block_type(node) if patch is not None and node is not None else None
        if patch is None or node is None or block_type is None:
            return
        own = self._editor.own_code
        try:
            if "file" in block_type.parameters and block_type.is_adaptive:
                path = found_file(patch.folder, patch.value(node, "file"))
                made = own.write_files(partial(new_code.copy_kernel, path))
                if made is not None:
                    file = relative_to(made.files[0], patch.path.parent if patch.path else None)
                    set_parameter(patch, [node], "file", file)
                    self._show(node, made.files[0])
            elif block_type.is_adaptive and is_ours(block_type):
                self._editor.note(f"The code of {patch.title(node)} is the patch's own: change it as it is")
            else:
                made = own.write_blocks(partial(new_code.write_copy, block_type))
                if made is not None and self._is_loaded(made):
                    new_code.exchange(patch, node, made.type_id)
                    self._editor.canvas.select([node])
                    self._show(node, made.files[0])
        except (WarploomError, OSError) as problem:
            self._editor.note(f"{patch.title(node)} can't be copied: {problem}")

    def _ask(self, title: str, kinds: list[str]) -> tuple[str, str] | None:
        if self._patch() is None:
            return None
        self._editor.kernel.leave()  # blocks are added to the patch, not to the ops of a kernel
        return dialogs.ask_new_code(self._editor.canvas, title, kinds, new_code.name_of)

    def _add(self, made: Made | None, add: Callable[[Patch, Made, Position], str]) -> None:
        patch = self._patch()
        if made is None or patch is None or not self._is_loaded(made):
            return
        try:
            node = add(patch, made, self._free_place(patch))
        except WarploomError as problem:
            self._editor.note(f"The new block can't be added: {problem}")
            return
        canvas = self._editor.canvas
        canvas.select([node])
        canvas.view.ensureVisible(canvas.scene.rect_of([node]), 24, 24)
        self._show(node, made.files[0])

    def _place_type(self, patch: Patch, made: Made, at: Position) -> str:
        return place(patch, patch.catalogue.require(made.type_id), at)

    def _is_loaded(self, made: Made) -> bool:
        patch = self._patch()
        if not made.type_id or (patch is not None and patch.catalogue.get(made.type_id) is not None):
            return True
        self._editor.note(f"{made.files[-1].name} was made but does not run yet: see the problems")
        self._editor.open_file(made.files[-1])
        return False

    def _patch(self) -> Patch | None:
        return self._editor.session.patch

    def _free_place(self, patch: Patch) -> Position:
        """Return a place in the middle of the view where no block is."""
        view, scene = self._editor.canvas.view, self._editor.canvas.scene
        middle = view.mapToScene(view.viewport().rect().center())
        area = QRectF(middle.x() - 80, middle.y() - 40, 160, 100)
        taken = [scene.rect_of([node]) for node in patch.nodes]
        while blocked := [rect for rect in taken if rect.intersects(area)]:
            area.moveTop(max(rect.bottom() for rect in blocked) + _APART)
        return snapped(area.x(), area.y())
