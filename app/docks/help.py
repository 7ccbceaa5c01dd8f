"""The help dock: what the selected block does, its ports and its parameters."""

from PySide6.QtWidgets import QTextBrowser

from app.theme import colours
from app.theme.fonts import SMALL
from app.view_models.block_help import help_html
from app.widgets.empty_state import EmptyState
from engine.blocktypes.block import Block


class Help(EmptyState):
    """Shows the help of one block type."""

    def __init__(self) -> None:
        self.page = QTextBrowser(objectName="helpPage")
        super().__init__(self.page, "Select a block to read its help")
        self.page.document().setDocumentMargin(12)
        self._block_type: type[Block] | None = None

    def show_type(self, block_type: type[Block] | None) -> None:
        """Show the help of a block type, or say how to get one."""
        if block_type is not self._block_type:
            self._block_type = block_type
            self.refresh()

    def refresh(self) -> None:
        """Write the help again, in the colours of the current theme."""
        self.set_filled(self._block_type is not None)
        if self._block_type is not None:
            theme = colours.current()
            self.page.document().setDefaultStyleSheet(
                f".faint {{ color: {theme.text_dim}; font-size: {SMALL}px; }} h4 {{ color: {theme.text_dim}; }}"
            )
            self.page.setHtml(help_html(self._block_type))
