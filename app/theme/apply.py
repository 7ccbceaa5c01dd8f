"""`apply_theme` sets palette, font and stylesheet of the application. Spacing is 8 px outside controls, 4 px inside."""

from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from app.theme.colours import Colours, make_current, mix
from app.theme.fonts import ui_font


def stylesheet(theme: Colours) -> str:
    """Return the application's Qt stylesheet for a theme."""
    pressed = mix(theme.control, theme.accent, 0.25)
    field = theme.canvas if theme.is_dark else theme.control_hover
    # Only the empty check box has its own rule: with a rule for all states, Qt would not draw the check mark.
    return f"""
QToolTip {{
    color: {theme.text}; background: {theme.control}; border: 1px solid {theme.border}; padding: 4px;
}}
QMainWindow::separator {{ background: {theme.canvas}; width: 4px; height: 4px; }}
QMainWindow::separator:hover {{ background: {theme.accent}; }}
QDockWidget::title {{ background: {theme.dock}; padding: 4px 8px; }}
QMenuBar, QStatusBar, QToolBar {{ background: {theme.dock}; border: none; }}
QToolBar {{ padding: 4px; spacing: 4px; }}
QMenu {{ background: {theme.control}; border: 1px solid {theme.border}; padding: 4px; }}
QMenu::item {{ padding: 4px 24px 4px 8px; border-radius: 3px; }}
QMenu::item:selected {{ background: {theme.accent}; color: {theme.on_accent}; }}
QMenu::item:disabled {{ color: {theme.text_faint}; background: transparent; }}
QMenu::separator {{ height: 1px; background: {theme.border}; margin: 4px 8px; }}
QPushButton, QToolButton {{
    background: {theme.control}; border: 1px solid {theme.border}; border-radius: 3px; padding: 3px 8px;
}}
QToolButton {{ padding: 3px; }}
QToolBar QToolButton {{ background: transparent; border-color: transparent; }}
QPushButton:hover, QToolButton:hover, QToolBar QToolButton:hover {{ background: {theme.control_hover}; }}
QPushButton:pressed, QToolButton:pressed, QToolButton:checked, QToolBar QToolButton:checked {{
    background: {pressed}; border-color: {theme.accent};
}}
QPushButton:default {{ background: {theme.accent}; color: {theme.on_accent}; border-color: {theme.accent}; }}
QPushButton:disabled, QToolButton:disabled {{ color: {theme.text_faint}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {theme.accent}; }}
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox {{
    background: {field}; border: 1px solid {theme.border}; border-radius: 3px; padding: 2px 4px;
    selection-background-color: {theme.accent}; selection-color: {theme.on_accent};
}}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus {{ border-color: {theme.accent}; }}
QCheckBox::indicator:unchecked, QTableView::indicator:unchecked {{
    border: 1px solid {theme.text_dim}; border-radius: 2px; background: {field};
}}
QCheckBox::indicator:unchecked:disabled {{ border-color: {theme.text_faint}; }}
QHeaderView::section {{
    background: {theme.dock}; color: {theme.text_dim}; border: none; border-bottom: 1px solid {theme.border};
    padding: 4px 8px;
}}
QTreeView, QTableView, QListView {{ background: {theme.dock}; border: none; outline: none; }}
QTabBar::tab {{ background: transparent; color: {theme.text_dim}; padding: 4px 8px; border: none; }}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom: 2px solid {theme.accent}; }}
QScrollBar {{ background: transparent; border: none; }}
QScrollBar:vertical {{ width: 8px; }}
QScrollBar:horizontal {{ height: 8px; }}
QScrollBar::handle {{ background: {theme.border}; border-radius: 3px; min-height: 24px; min-width: 24px; margin: 1px; }}
QScrollBar::handle:hover {{ background: {theme.text_faint}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""


def apply_theme(app: QApplication, name: str) -> None:
    """Give `app` the theme "dark" or "light". Widgets repaint, and may read its colours from `colours.current`.

    Raise ValueError for another name.
    """
    theme = make_current(name)
    if app.styleSheet() == stylesheet(theme):
        return  # setting the same theme would make Qt restyle every widget
    if not app.styleSheet():  # the style is the same for all themes
        app.setStyle("Fusion")
    app.setFont(ui_font())
    app.setPalette(palette(theme))
    app.setStyleSheet(stylesheet(theme))


def palette(theme: Colours) -> QPalette:
    """Return the Qt palette of a theme."""
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.dock,
        role.WindowText: theme.text,
        role.Base: theme.canvas if theme.is_dark else theme.control_hover,
        role.AlternateBase: theme.dock,
        role.Text: theme.text,
        role.PlaceholderText: theme.text_faint,
        role.Button: theme.control,
        role.ButtonText: theme.text,
        role.BrightText: theme.error,
        role.ToolTipBase: theme.control,
        role.ToolTipText: theme.text,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Accent: theme.accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Light: theme.control_hover,
        role.Midlight: theme.control,
        role.Mid: theme.border,
        role.Dark: theme.border,
        role.Shadow: theme.canvas,
    }
    result = QPalette()
    for key, colour in colours.items():
        result.setColor(key, QColor(colour))
    for key in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, key, QColor(theme.text_faint))
    return result
