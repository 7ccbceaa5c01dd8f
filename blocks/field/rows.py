"""How threads over a field are grouped."""

#: A thread block of rows that are longer than tall: its threads read whole cache lines.
ROWS = (64, 4)
#: Cells of a column that a thread computes; equals RUN in cells.cu.
RUN = 4
