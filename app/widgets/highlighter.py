"""Colours the tokens of code."""

import re
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers.asm import GasLexer
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.data import JsonLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Number, String
from PySide6.QtGui import QColor, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from warploom.app.theme import colours

_LEXERS: dict[str, type[Lexer]] = {
    "cuda": CppLexer,
    "python": PythonLexer,
    "expression": PythonLexer,
    "ptx": GasLexer,
    "json": JsonLexer,
}
#: Longer texts, and longer lines, are shown without colours, since colouring would take seconds.
_MOST_COLOURED, _LONGEST_COLOURED = 200_000, 5000
#: What may go on in the next line, by language: how it begins, and how it ends.
_LONG = {"cuda": (("/*", "*/"),), "python": (('"""', '"""'), ("'''", "'''"))}
#: What hides the beginning of one of these: strings, and comments to the end of the line.
_SHORT = {
    "cuda": re.compile(r'//.*|"(?:[^"\\]|\\.)*"|/\*'),
    "python": re.compile(r'#.*|"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''),
}
#: CUDA's own words among the names.
_CUDA_WORDS = re.compile(r"__(?:global|device|host|shared|constant|restrict|launch_bounds)__")


class Highlighter(QSyntaxHighlighter):
    """Colours comments, keywords, texts and numbers of one language, line by line."""

    def __init__(self, document: QTextDocument, language: str) -> None:
        super().__init__(document)
        self._language = language
        self._lexer = _LEXERS.get(language, TextLexer)()
        self._long = _LONG.get(language, ())

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        around = self.previousBlockState()
        begun = self._long[around][0] if 0 <= around < len(self._long) else ""
        self.setCurrentBlockState(self._state_after(text, around))
        if len(text) > _LONGEST_COLOURED or self.document().characterCount() > _MOST_COLOURED:
            return
        for start, kind, token in self._lexer.get_tokens_unprocessed(f"{begun}{text}\n"):
            is_word = self._language == "cuda" and _CUDA_WORDS.fullmatch(token)
            colour = _colour(Keyword if is_word else kind)
            place = start - len(begun)
            if colour is not None and place + len(token) > 0:
                style = QTextCharFormat()
                style.setForeground(colour)
                self.setFormat(max(0, place), len(token.rstrip("\n")) + min(0, place), style)

    def _state_after(self, text: str, around: int) -> int:
        """Return which of the long comments or strings goes on after a line; -1 for none."""
        place = 0
        while self._long:
            if 0 <= around < len(self._long):
                end = text.find(self._long[around][1], place)
                if end < 0:
                    return around
                place, around = end + len(self._long[around][1]), -1
            found = _SHORT[self._language].search(text, place)
            if found is None:
                return -1
            place = found.end()
            around = next((n for n, (opening, _) in enumerate(self._long) if found[0] == opening), -1)
        return -1


def _colour(kind: Any) -> QColor | None:
    theme = colours.current()
    if kind in Comment:
        is_directive = kind in Comment.Preproc or kind in Comment.PreprocFile
        return QColor(colours.category_ink("image", theme) if is_directive else theme.text_dim)
    if kind in Keyword:
        return QColor(theme.accent)
    if kind in String:
        return QColor(colours.category_ink("math", theme))
    return QColor(colours.category_ink("control", theme)) if kind in Number else None
