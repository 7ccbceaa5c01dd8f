"""A compile that opens no file: which headers a source names, and what keeps the compiler from the others."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from warploom.engine.kernel_sources.cuda.errors import UnreadableHeader, in_file
from warploom.engine.platforms.files import can_refuse_files, no_more_files

#: The end of a line that goes on in the next one, and a directive that reads a file: it is found in comments too.
_SPLIT = re.compile(r"(?:\\|\?\?/)[ \t\f\v\r]*\n")
_READING = re.compile(
    r"(?:#|%:|\?\?=)(?:[ \t\f\v\r\0]|/\*.*?\*/)*(?:include|include_next|import|embed)\b(?P<rest>[^\n]*)", re.DOTALL
)
_NAMED = re.compile(r'\s*(?:"([^"]*)"|<([^>]*)>)\s*(?://.*|/\*.*)?')


@contextmanager
def no_files(texts: Mapping[str, str], brought: Mapping[bytes, bytes]) -> Iterator[None]:
    """Let the compiler of a source open no file.

    A source can name a file in many ways, by macros too, so where the system can, this process opens no file. Windows
    can't, so there each directive of the texts that reads a file must be an `#include` of a header that is `brought`.
    """
    if can_refuse_files():
        with no_more_files():
            yield
        return
    for name, text in texts.items():
        for included, line in included_names(text):
            if included.encode() not in brought:
                message = f'{Path(name).name}({line}): cannot open source file "{included}"'
                problem = UnreadableHeader(message, name=included)
                problem.file, problem.line = in_file(Path(name)), line
                raise problem
    yield


def included_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield what each directive names that reads a file, and its line: also a macro's name.

    A directive's own name can't come from a macro, but its line may be split.
    """
    parts = _SPLIT.split(text)
    ends, plain = list(accumulate(map(len, parts))), "".join(parts)
    for found in _READING.finditer(plain):
        rest, at = found["rest"], found.start()
        named = _NAMED.fullmatch(rest)
        yield (named[1] or named[2]) if named else rest.strip(), plain.count("\n", 0, at) + bisect_right(ends, at) + 1
