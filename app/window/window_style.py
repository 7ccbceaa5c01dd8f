"""The styles of the window's own parts, by object name; the theme has the styles that all widgets share."""

from warploom.app.theme.colours import Colours
from warploom.app.theme.fonts import BODY, PAGE_TITLE, SMALL, TITLE
from warploom.app.theme.port_style import PORT_STYLES, PortKind


def window_stylesheet(theme: Colours) -> str:
    """Return the stylesheet of the main window for a theme."""
    return f"""
#hint {{ color: {theme.text_dim}; }}
#faint, #summary, #figuresOfPatch {{ color: {theme.text_dim}; }}
#figures {{ color: {theme.text_dim}; font-size: {SMALL}px; }}
#engineBadge #figures, #transport #figures {{ color: {theme.text}; font-size: {BODY}px; }}
#pacing {{ padding: 3px 16px 3px 6px; }}
#pacing::menu-indicator {{ subcontrol-position: right center; right: 4px; }}
#blockTitle {{
    font-size: {TITLE}px; font-weight: 600; border-color: transparent; background: transparent;
    padding: 2px 0; margin-left: -3px;
}}
#patchTitle {{ font-size: {TITLE}px; font-weight: 600; }}
#share {{ background: {theme.control}; border: none; border-radius: 2px; max-height: 4px; }}
#share::chunk {{ background: {theme.accent}; border-radius: 2px; }}
#blockTitle:hover, #blockTitle:focus {{ border-color: {theme.border}; padding: 2px 4px 2px 1px; margin-left: 0; }}
#blockTitle:focus {{ border-color: {theme.accent}; }}
#message[state="error"] {{ color: {theme.error}; }}
#message[state="warning"] {{ color: {theme.warning}; }}
#remedy {{ padding: 2px 8px; }}
#problem {{ background: {theme.control}; }}
#message {{ color: {theme.text_dim}; }}
#banner {{ background: {theme.control}; border: none; border-bottom: 2px solid {theme.warning}; }}
#banner[state="tour"] {{ border-bottom-color: {theme.accent}; }}
#banner[state="past"] {{ border-bottom-color: {theme.accent}; }}
#figures[state="past"] {{ color: {theme.accent}; font-weight: 600; }}
#banner[state="error"] {{ border-bottom-color: {theme.error}; }}
#breadcrumb {{ background: {theme.dock}; border: none; border-bottom: 1px solid {theme.border}; }}
#breadcrumbPatch {{ background: transparent; border-color: transparent; padding: 2px 0; color: {theme.text_dim}; }}
#breadcrumbPatch:hover {{ color: {theme.accent}; }}
#breadcrumbKernel {{ font-weight: 600; padding-left: 4px; }}
#viewerFooter {{ background: {theme.dock}; border-top: 1px solid {theme.border}; }}
#viewerFooter QToolButton, #rowReset, #rowDrive, #rowKey, #rowConstant {{
    background: transparent; border-color: transparent; padding: 2px;
}}
#viewerFooter QToolButton:hover, #rowReset:hover, #rowDrive:hover, #rowKey:hover, #rowConstant:hover {{
    background: {theme.control_hover};
}}
#rowReset, #rowDrive, #rowKey, #rowConstant {{ padding: 1px; }}
Inspector QAbstractSpinBox, Inspector QLineEdit, Inspector QComboBox {{ padding-top: 0; padding-bottom: 0; }}
#rowDrive::menu-indicator, #more::menu-indicator {{ image: none; width: 0; }}
#drivenBy {{ color: {PORT_STYLES[PortKind.NUMBER].colour(theme)}; padding: 0 6px; }}
#drivenValue {{ color: {theme.text_dim}; padding-right: 5px; }}
#levelFilter {{ background: transparent; border-color: transparent; color: {theme.text_faint}; padding: 1px 6px; }}
#levelFilter:checked {{ background: {theme.control}; border-color: {theme.border}; color: {theme.text}; }}
#listButton {{ background: transparent; border-color: transparent; padding: 2px; }}
#newLines {{ background: transparent; border-color: transparent; color: {theme.accent}; padding: 1px 6px; }}
#levelFilter:hover, #listButton:hover, #newLines:hover {{ background: {theme.control_hover}; }}
#welcome, #welcomePage {{ background: {theme.canvas}; }}
#pageTitle {{ font-size: {PAGE_TITLE}px; font-weight: 600; }}
#sectionTitle, #foldableTitle {{ color: {theme.text_dim}; font-weight: 600; }}
#foldableTitle {{
    background: transparent; border-color: transparent; text-align: left;
    padding: 2px 0; margin-left: -4px;
}}
#foldableTitle:hover {{ color: {theme.text}; }}
#cardTitle {{ font-weight: 600; }}
#link {{ background: transparent; border-color: transparent; text-align: left; padding: 4px 0; color: {theme.text}; }}
#link:hover {{ color: {theme.accent}; }}
QStatusBar {{ max-height: 26px; }}
#listToggle {{ background: transparent; border-color: transparent; padding: 2px 6px; color: {theme.text_dim}; }}
#listToggle[state="narrow"] {{ padding: 2px 1px; }}
#listToggle:hover {{ background: {theme.control_hover}; color: {theme.text}; }}
#problemCount {{ background: transparent; border-color: transparent; padding: 2px 8px; color: {theme.text_dim}; }}
#problemCount[state="warning"] {{ color: {theme.warning}; }}
#problemCount[state="error"] {{ color: {theme.error}; }}
#problemCount:hover {{ background: {theme.control_hover}; }}
QTableView::item {{ padding: 0 5px; }}
QTreeView::item {{ padding: 2px 4px; }}
#lines::item {{ padding: 2px 12px; }}
#lines::item:selected {{ background: {theme.accent}; color: {theme.on_accent}; }}
#helpPage {{ background: {theme.dock}; border: none; }}
CodeView, CodeText, #compared {{ border: none; border-radius: 0; background: {theme.canvas}; }}
#completion {{ background: {theme.control}; border: 1px solid {theme.border}; }}
#completion::item {{ padding: 1px 4px; }}
#completion::item:selected {{ background: {theme.accent}; color: {theme.on_accent}; }}
#viewerFooter QToolButton:focus, #rowReset:focus, #rowDrive:focus, #rowKey:focus, #rowConstant:focus,
#levelFilter:focus, #listButton:focus, #newLines:focus, #listToggle:focus, #problemCount:focus, #foldableTitle:focus,
#link:focus, #breadcrumbPatch:focus {{ border-color: {theme.accent}; }}
#findBar {{ background: {theme.dock}; border: none; border-bottom: 1px solid {theme.border}; }}
QStatusBar::item {{ border: none; }}
"""
