"""`apply_theme` sets palette, font and stylesheet of the application. Spacing is 8 px outside controls, 4 px inside."""

import atexit
import re
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QWidget

from warploom.app.theme.colours import Colours, make_current, mix
from warploom.app.theme.fonts import BODY, code_font, length, set_zoom, widget_font
from warploom.app.theme.icons import save_icon

#: The glyphs of the stylesheet: icons, their sides in pixels, how much the drawing is enlarged, to leave no margin, and
#: their colours.
_GLYPHS = {
    "close": (10, 1.5, "text_dim"),
    "float": (12, 1.2, "text_dim"),
    "open_list": (16, 1.0, "text_dim"),
    "ascending": (8, 1.6, "text_dim"),
    "descending": (8, 1.6, "text_dim"),
    "check": (12, 1.0, "on_accent"),
    "partly": (12, 1.0, "on_accent"),
}

_PIXELS = re.compile(r"(?<=[ -])(\d+)px")


def stylesheet(theme: Colours) -> str:
    """Return the application's Qt stylesheet for a theme."""
    pressed = mix(theme.control, theme.accent, 0.25)
    field = theme.canvas if theme.is_dark else theme.control_hover
    glyph = _glyphs(theme, length(BODY))
    return f"""
QToolTip {{
    color: {theme.text}; background: {theme.control}; border: 1px solid {theme.border}; padding: 4px;
}}
QMainWindow::separator {{ background: {theme.canvas}; width: 4px; height: 4px; }}
QMainWindow::separator:hover {{ background: {theme.accent}; }}
QSplitter::handle {{ background: {theme.canvas}; }}
QSplitter::handle:hover {{ background: {theme.accent}; }}
QDockWidget {{ font-size: {BODY}px; }}
QDockWidget {{ titlebar-close-icon: url({glyph["nothing"]}); titlebar-normal-icon: url({glyph["nothing"]}); }}
QDockWidget::title {{ background: {theme.dock}; padding: 5px 8px; }}
QDockWidget::close-button, QDockWidget::float-button {{
    border: none; border-radius: 3px; padding: 0; background-position: center; background-repeat: no-repeat;
    min-width: 20px; min-height: 20px; subcontrol-origin: border; subcontrol-position: right center; right: 4px;
}}
QDockWidget::close-button {{ background-image: url({glyph["close"]}); }}
QDockWidget::float-button {{ background-image: url({glyph["float"]}); right: 26px; }}
QDockWidget::close-button:hover, QDockWidget::float-button:hover {{ background-color: {theme.control_hover}; }}
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
QPushButton, QToolButton {{ icon-size: 16px; }}
QToolBar {{ icon-size: 20px; }}
QToolBar QToolButton {{ background: transparent; border-color: transparent; }}
QPushButton:hover, QToolButton:hover, QToolBar QToolButton:hover {{ background: {theme.control_hover}; }}
QPushButton:pressed, QToolButton:pressed, QToolButton:checked, QToolBar QToolButton:checked {{
    background: {pressed}; border-color: {theme.accent};
}}
QPushButton:default {{ background: {theme.accent}; color: {theme.on_accent}; border-color: {theme.accent}; }}
QPushButton:disabled, QToolButton:disabled {{ color: {theme.text_faint}; }}
QPushButton:focus, QToolButton:focus {{ border-color: {theme.accent}; }}
QPushButton:default:focus, QToolButton:checked:focus {{ border-color: {theme.text}; }}
QComboBox {{
    background: {theme.control}; border: 1px solid {theme.border}; border-radius: 3px; padding: 2px 4px 2px 6px;
    combobox-popup: 0;  /* the chosen entry of the other popup has no ground of its own */
}}
QComboBox:hover {{ background: {theme.control_hover}; }}
QComboBox:focus {{ border-color: {theme.accent}; }}
QComboBox:disabled {{ color: {theme.text_faint}; }}
QComboBox::drop-down {{ border: none; width: 18px; }}
QComboBox::down-arrow {{ image: url({glyph["open_list"]}); width: 16px; height: 16px; }}
QComboBox QAbstractItemView {{ background: {theme.control}; border: 1px solid {theme.border}; padding: 4px; }}
#qt_msgbox_label {{ font-weight: 600; }}
#qt_msgbox_informativelabel {{ min-width: 320px; }}
QLineEdit {{ lineedit-clear-button-icon: url({glyph["close"]}); }}
QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox {{
    background: {field}; border: 1px solid {theme.border}; border-radius: 3px; padding: 2px 4px;
    selection-background-color: {theme.accent}; selection-color: {theme.on_accent};
}}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ background: transparent; border: none; width: 16px; }}
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover {{ background: {theme.control_hover}; }}
QAbstractSpinBox::up-arrow {{ image: url({glyph["ascending"]}); width: 8px; height: 8px; }}
QAbstractSpinBox::down-arrow {{ image: url({glyph["descending"]}); width: 8px; height: 8px; }}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus {{ border-color: {theme.accent}; }}
QCheckBox, QRadioButton {{ min-height: 20px; }}
QCheckBox::indicator, QTableView::indicator {{
    border: 1px solid {theme.text_dim}; border-radius: 2px; background: {field}; width: 12px; height: 12px;
}}
QCheckBox::indicator:hover, QCheckBox::indicator:focus {{ border-color: {theme.accent}; }}
QCheckBox::indicator:checked, QCheckBox::indicator:indeterminate, QTableView::indicator:checked {{
    border-color: {theme.accent}; background: {theme.accent}; image: url({glyph["check"]});
}}
QCheckBox::indicator:indeterminate {{ image: url({glyph["partly"]}); }}
QCheckBox::indicator:checked:focus, QCheckBox::indicator:indeterminate:focus {{ border-color: {theme.text}; }}
QCheckBox::indicator:unchecked:disabled {{ border-color: {theme.text_faint}; }}
QCheckBox::indicator:checked:disabled {{ border-color: {theme.text_faint}; background: {theme.text_faint}; }}
QHeaderView::section {{
    background: {theme.dock}; color: {theme.text_dim}; border: none; border-bottom: 1px solid {theme.border};
    padding: 4px 8px;
}}
QHeaderView::section:vertical {{ border-bottom: none; border-right: 1px solid {theme.border}; padding: 0 8px; }}
QHeaderView::up-arrow {{ image: url({glyph["ascending"]}); width: 8px; subcontrol-position: center left; }}
QHeaderView::down-arrow {{ image: url({glyph["descending"]}); width: 8px; subcontrol-position: center left; }}
QTableCornerButton::section {{ background: {theme.dock}; border: none; border-bottom: 1px solid {theme.border}; }}
QTreeView, QTableView, QListView {{ background: {theme.dock}; border: none; outline: none; }}
QTabBar::tab {{
    background: transparent; color: {theme.text_dim}; padding: 4px 8px; border: none;
    border-bottom: 2px solid transparent;
}}
QTabBar::scroller {{ width: 44px; }}
QTabBar QToolButton {{ background: {theme.dock}; border-color: transparent; }}
QTabBar::tab:hover {{ color: {theme.text}; background: {theme.control}; }}
QTabBar::tab:selected {{ color: {theme.text}; border-bottom-color: {theme.accent}; }}
QTabBar::tab:selected:focus {{ background: {pressed}; }}
QScrollBar {{ background: transparent; border: none; }}
QScrollBar:vertical {{ width: 8px; }}
QScrollBar:horizontal {{ height: 8px; }}
QScrollBar::handle {{ background: {theme.border}; border-radius: 3px; min-height: 24px; min-width: 24px; margin: 1px; }}
QScrollBar::handle:hover {{ background: {theme.text_faint}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""


@cache
def _folder() -> Path:
    """Return a folder that lasts as long as this process."""
    folder = mkdtemp(prefix="warploom-glyphs-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def _glyphs(theme: Colours, size: int) -> dict[str, str]:
    """Return the files of glyphs that the stylesheet names, since it takes pictures only from files.

    `size` is that of the font.
    """
    files = {name: _folder() / f"{theme.name}-{size}-{name}.png" for name in _GLYPHS}
    for name, (side, growth, colour) in _GLYPHS.items():
        save_icon(name, getattr(theme, colour), round(side * size / BODY), growth, files[name])
    files["nothing"] = _folder() / "nothing.png"
    nothing = QPixmap(1, 1)
    nothing.fill(Qt.GlobalColor.transparent)
    nothing.save(str(files["nothing"]))
    return {name: file.as_posix() for name, file in files.items()}


def enlarged(sheet: str) -> str:
    """Return a stylesheet with its lengths in the present size."""
    return _PIXELS.sub(lambda found: f"{length(int(found[1]))}px", sheet)


def renew_code_fonts(root: QWidget) -> None:
    """Give the code in a widget the present size, which fonts of their own don't get from the application."""
    font = code_font()
    for widget in root.findChildren(QWidget):
        if widget.testAttribute(Qt.WidgetAttribute.WA_SetFont) and widget.font().family() == font.family():
            widget.setFont(font)


def apply_theme(app: QApplication, name: str, zoom: float = 1.0) -> None:
    """Give `app` the theme "dark" or "light". Widgets repaint, and may read its colours from `colours.current`.

    `zoom` enlarges texts and controls. Raise ValueError for another name.
    """
    theme = make_current(name)
    set_zoom(zoom)
    sheet = enlarged(stylesheet(theme))
    if app.styleSheet() == sheet:
        return  # setting the same theme would make Qt restyle every widget
    if not app.styleSheet():  # the style is the same for all themes
        app.setStyle("Fusion")
    app.setFont(widget_font())
    app.setPalette(palette(theme))
    app.setStyleSheet(sheet)


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
