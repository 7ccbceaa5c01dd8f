"""Forms for which a real GPU departs from the PTX manual; the host device follows the manual.

The departures were measured on an H200 with driver 580. That GPU emulates the video instructions, and their unsigned
saturation and scaling treat the intermediate result as 32 signed bits. These forms still run, and the table lists them.
"""

_SATURATION = "the GPU does not clamp the 33- or 34-bit intermediate result that the manual describes"
_SCALING = "the GPU takes an unsigned addend as signed"
_SIGNALLING = "the GPU rounds the bits of a signalling NaN as if they were a number; the manual says NaN"

DEPARTURES: dict[str, str] = {
    "cvt.rna.tf32.f32": _SIGNALLING,
    **dict.fromkeys(
        (
            "vadd.u32.u32.u32.sat",
            "vadd.u32.s32.u32.sat",
            "vadd.u32.u32.s32.sat into b2",
            "vadd.u32.u32.s32.sat into h1",
            "vsub.u32.u32.s32.sat into b2",
            "vsub.u32.u32.s32.sat into h1",
            "vabsdiff.u32.s32.u32.sat",
            "vabsdiff.u32.u32.s32.sat into h1",
            "vmin.u32.u32.s32.sat into b2",
            "vmin.u32.u32.s32.sat into h1",
            "vmax.u32.u32.s32.sat into h1",
            "vshl.u32.u32.u32.sat.clamp",
            "vshl.u32.u32.u32.sat.clamp.add",
            "vshl.s32.s32.u32.sat.clamp",
            "vshl.s32.s32.u32.sat.clamp.add",
            "vshl.u32.u32.u32.sat.wrap",
            "vshl.u32.u32.u32.sat.wrap.add",
            "vshl.s32.s32.u32.sat.wrap",
            "vshl.s32.s32.u32.sat.wrap.add",
        ),
        _SATURATION,
    ),
    **dict.fromkeys(
        (
            "vmad.u32.u32.u32.sat",
            "vmad.u32.u32.u32.shr7",
            "vmad.u32.u32.u32.sat.shr7",
            "vmad.u32.u32.u32.shr15",
            "vmad.u32.u32.u32.sat.shr15",
        ),
        _SCALING,
    ),
}
