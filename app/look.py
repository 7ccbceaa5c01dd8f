"""The styles of the window's own parts, by object name; the theme holds what all widgets share."""

from __future__ import annotations

from app.theme.colours import Colours
from app.theme.fonts import SMALL

_TITLE = 15
_PAGE_TITLE = 24


def window_stylesheet(theme: Colours) -> str:
    """Return the stylesheet of the main window for a theme."""
    return f"""
#hint {{ color: {theme.text_dim}; }}
#faint, #summary {{ color: {theme.text_dim}; }}
#figures {{ color: {theme.text_dim}; font-size: {SMALL}px; }}
#engineBadge #figures {{ color: {theme.text}; font-size: {SMALL + 1}px; }}
#blockTitle {{
    font-size: {_TITLE}px; font-weight: 600; border-color: transparent; background: transparent;
    padding: 2px 0; margin-left: -3px;
}}
#blockTitle:hover, #blockTitle:focus {{ border-color: {theme.border}; padding: 2px 4px; }}
#message[state="error"] {{ color: {theme.error}; }}
#message[state="warning"] {{ color: {theme.warning}; }}
#message {{ color: {theme.text_dim}; }}
#banner {{ background: {theme.control}; border: none; border-bottom: 2px solid {theme.error}; }}
#viewerFooter {{ background: {theme.dock}; border-top: 1px solid {theme.border}; }}
#viewerFooter QToolButton, #rowReset {{ background: transparent; border-color: transparent; padding: 2px; }}
#viewerFooter QToolButton:hover, #rowReset:hover {{ background: {theme.control_hover}; }}
#welcome, #welcomePage {{ background: {theme.canvas}; }}
#pageTitle {{ font-size: {_PAGE_TITLE}px; font-weight: 600; }}
#sectionTitle {{ font-weight: 600; color: {theme.text_dim}; }}
#cardTitle {{ font-weight: 600; }}
#link {{ background: transparent; border-color: transparent; text-align: left; padding: 4px 0; color: {theme.text}; }}
#link:hover {{ color: {theme.accent}; }}
#problemCount {{ background: transparent; border-color: transparent; padding: 2px 8px; color: {theme.warning}; }}
#problemCount[errors="true"] {{ color: {theme.error}; }}
#problemCount:hover {{ background: {theme.control_hover}; }}
QTableView::item {{ padding: 0 5px; }}
QTreeView::item {{ padding: 2px 4px; }}
#helpPage {{ background: {theme.dock}; border: none; }}
QStatusBar::item {{ border: none; }}
"""
