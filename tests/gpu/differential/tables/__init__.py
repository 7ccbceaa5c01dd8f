"""The tables of instruction forms, one file for each family."""

from tests.gpu.differential.form import Form
from tests.gpu.differential.tables import (
    approximations,
    bits,
    comparisons,
    control,
    conversions,
    floats,
    halves,
    integers,
    memory,
    threads,
    video,
)

FORMS: tuple[Form, ...] = tuple(
    form
    for table in (
        integers, bits, comparisons, floats, halves, approximations, conversions, video, memory, threads, control,
    )
    for form in table.FAMILY.forms
)  # fmt: skip
