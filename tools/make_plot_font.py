"""Make kernels/plot_font.cuh: the figures of plots, as coverage of 4 bits per pixel, from the font DejaVu Sans.

PYTHONPATH=. .venv/bin/python tools/make_plot_font.py

Needs Pillow and matplotlib, which brings the font.
"""

from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

TARGET = Path(__file__).parents[1] / "kernels" / "plot_font.cuh"
CHARACTERS = "0123456789.-e"
SIZE, COLUMNS, ROWS = 22, 15, 17


def main() -> None:
    """Draw each character and write its rows, the leftmost pixel in the highest bits."""
    font = ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), SIZE)
    lines, advances = [], []
    for character in CHARACTERS:
        picture = Image.new("L", (COLUMNS, ROWS))
        ImageDraw.Draw(picture).text((0, ROWS - 0.5), character, fill=255, font=font, anchor="ls")
        levels = np.rint(np.asarray(picture) / 17).astype(int)
        rows = [f"0x{''.join(f'{level:x}' for level in row):0>{COLUMNS}}ull" for row in levels]
        groups = [", ".join(rows[at : at + 5]) for at in range(0, ROWS, 5)]
        lines.append("    {" + ",\n     ".join(groups) + "},")
        advances.append(str(round(font.getlength(character))))
    TARGET.write_text(
        f"// The characters {CHARACTERS} of DejaVu Sans, {ROWS} rows of {COLUMNS} pixels each, with 16 levels of\n"
        "// coverage; the leftmost pixel is in the highest bits. tools/make_plot_font.py makes this file.\n"
        "#pragma once\n\n"
        f"constexpr int GLYPH_COLUMNS = {COLUMNS}, GLYPH_ROWS = {ROWS};\n"
        f"constexpr int ADVANCES[] = {{{', '.join(advances)}}};\n"
        f"constexpr unsigned long long GLYPHS[][{ROWS}] = {{\n" + "\n".join(lines) + "\n};\n"
    )


if __name__ == "__main__":
    main()
