import re
from collections.abc import Mapping
from typing import Any

from warploom.api import CudaOptions, CudaText, KernelBlock, KernelSource, param
from warploom.engine.diagnostics import KernelError

_START = """float scene(float3 p, float time,
    float blend  // [0.01, 1] = 0.3, how far shapes melt into each other
) {
    const float ball = sd_sphere(p - float3{0.6f * sinf(time), 0.5f, 0.0f}, 0.45f);
    const float ring = sd_torus(p - float3{0.0f, 0.4f, 0.0f}, 0.8f, 0.2f);
    return fminf(sd_smooth_union(ball, ring, blend), p.y);
}
"""
#: The kernel: its numbers become sliders, with the ranges, defaults and help of their comments.
_KERNEL = """
extern "C" __global__ void ray_march(
    float4* __restrict__ image,  // the picture, linear RGBA; alpha is 0 where there is no surface
    const Frame* frame,
    float orbit,          // [-180, 180] = 20 degrees, position of the camera on its orbit
    float elevation,      // [-85, 85] = 20 degrees, angle at which the camera looks down
    float distance,       // [0.1, 1000] = 4 m, distance from the camera to the point that it looks at
    float target,         // [-100, 100] = 0.4 m, height of the point that the camera looks at
    float field_of_view,  // [5, 120] = 42 degrees, vertical angle of view
    float most,           // [0.1, 10000] = 40 m, how far rays go
    int steps,            // [1, 1000] = 160, most steps of a ray
    int samples,          // [1, 4] = 1, rays along each edge of a pixel, for smooth edges
    float lamp_turn,      // [-180, 180] = 60 degrees, direction that the lamp shines from
    float lamp_elevation, // [-85, 85] = 40 degrees, height of the lamp above the horizon
    float lamp,           // [0, 20] = 1, light of the lamp
    float softness,       // [0, 1] = 0.08, softness of shadows: the lamp's size
    float sky,            // [0, 20] = 0.3, light of the sky, which comes from all sides
    float shine,          // [0, 4] = 0.2, brightness of the highlights
    float corners,        // [0, 10] = 0.5 m, reach of the shade in corners (ambient occlusion)
    float red,            // [0, 1] = 0.8, colour of the surfaces
    float green,          // [0, 1] = 0.7, colour of the surfaces
    float blue,           // [0, 1] = 0.6, colour of the surfaces
    int width,
    int height%s)
{
    const float time = frame->time;
    auto at = [&](float3 p) { return scene(p, time%s); };
    auto painted = [&](float3 p, float3 normal) { return %s; };
    march_picture(
        image, at, painted, Sight{orbit, elevation, distance, target, field_of_view, most, steps, samples},
        Lamp{lamp_turn, lamp_elevation, lamp, softness, sky, shine, corners}, width, height);
}
"""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_RULE = "code must have a function float scene(float3 p, float time, ...)"


def own_parameters(code: str) -> tuple[str, list[str]]:
    """Return the parameters of `scene` after the place and the time, as they are written, and their names."""
    blank = _COMMENT.sub(lambda found: " " * len(found[0]), code)
    found = re.search(r"\bfloat\s+scene\s*\(([^()]*)\)", blank)
    if found is None or found[1].count(",") < 1:
        raise KernelError(f"{_RULE}, which returns how far p is from the surfaces")
    declared = found[1].split(",")
    if not all(re.search(r"\w[\s*&]+\w+\s*$", text) for text in declared):
        raise KernelError(f"{_RULE} with a name for each parameter")
    start = found.start(1) + len(",".join(declared[:2]))
    names = [re.findall(r"\w+", text)[-1] for text in declared[2:]]
    return code[start : found.end(1)], names


class RayMarch(
    KernelBlock,
    id="geometry.ray_march",
    tags=("signed distance", "sdf", "shader", "raymarching", "implicit", "csg", "metaballs", "3d"),
):
    """Draws a scene of signed distances, which you write as a function, in light with soft shadows.

    `scene` returns how far a point is from the nearest surface: combine shapes such as `sd_sphere` and `sd_box` by
    `sd_union`, `sd_smooth_union` or `sd_difference`, and move the point to move them; `kernels/warploom/sdf.h` has them
    all, and noise and colours are there too. Its further parameters become sliders, with a range and a default in their
    comments, or inputs if they are pointers. A function `float3 paint(float3 p, float3 normal, float time)` gives
    surfaces their colours. The output is linear light.
    """

    code: str = param(_START, language="cuda", doc="CUDA C++ with the function scene, and paint if there is one.")

    @classmethod
    def kernel_source(cls, values: Mapping[str, Any], options: CudaOptions) -> KernelSource:
        """Return the kernel around the function."""
        code = values["code"]
        declared, names = own_parameters(code)
        paint = (
            "paint(p, normal, time)"
            if re.search(r"\bpaint\s*\(", _COMMENT.sub("", code))
            else "float3{red, green, blue}"
        )
        kernel = _KERNEL % (f"{declared}\n", "".join(f", {name}" for name in names), paint)
        return CudaText(f'#include "ray_march.cuh"\n#line 1\n{code}\n{kernel}', options)
