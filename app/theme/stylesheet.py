"""The stylesheet: only what a palette cannot say. Spacing is 8 px between things and 4 px inside controls."""

from __future__ import annotations

from app.theme.colours import Colours, mix


def stylesheet(theme: Colours) -> str:
    """Return the application's Qt stylesheet for a theme."""
    pressed = mix(theme.control, theme.accent, 0.25)
    field = theme.canvas if theme.is_dark else theme.control_hover
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
