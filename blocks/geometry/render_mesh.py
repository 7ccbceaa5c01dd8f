from warploom.api import BlockBuilder, In, Kernel, Out, float4, param, port, s32, u32, u64
from warploom.blocks.geometry.orbit_view import OrbitView
from warploom.blocks.particles.camera import place_camera

FILE = "mesh.cu"
#: Threads besides one per triangle, which share the rows of large triangles; equals SPARE in mesh.cu.
SPARE = 16384


class RenderMesh(
    OrbitView, id="geometry.render_mesh", tags=("triangles", "3d", "draw", "camera", "light", "shadow", "rasterizer")
):
    """Draws a mesh of triangles in the light of the sky and of a far lamp that throws shadows.

    Near triangles cover far ones; both sides of a triangle are drawn. Without normals, triangles are flat. The camera
    looks at a point above the origin and can orbit it. The output is linear light, for a Viewer or image blocks; for
    smooth edges, draw a larger picture and scale it down with Resize by area.
    """

    points: In[float4] = port(rank=1, doc="Positions x, y, z, in metres; the fourth number is not used.")
    faces: In[s32] = port(rank=2, doc="Indices of the points of triangles, shape [triangles, 3].")
    normals: In[float4] = port(shape="same(points)", optional=True, doc="Unit vectors x, y, z, for smooth shading.")
    colors: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Linear RGBA; white without a connection."
    )
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA; alpha is 0 without a triangle.")
    lamp_turn: float = param(60.0, min=-180, max=180, unit="degrees", doc="Direction that the lamp shines from.")
    lamp_elevation: float = param(40.0, min=-85, max=85, unit="degrees", doc="Height of the lamp above the horizon.")
    lamp: float = param(1.0, min=0, max=20, doc="Light of the lamp.")
    sky: float = param(0.25, min=0, max=20, doc="Light of the sky, which comes from all sides.")
    shine: float = param(0.2, min=0, max=4, doc="Brightness of the highlights.")
    shadows: bool = param(True, structural=True, doc="Whether the lamp throws shadows.")
    reach: float = param(
        2.0, min=0.01, max=1000, unit="m", doc="Distance from the target up to which things throw shadows."
    )
    shadow_size: int = param(
        1024, min=16, max=8192, unit="px", structural=True, doc="Edge of the shadow map; larger makes sharper shadows."
    )

    draw = Kernel(FILE, entry="draw_mesh")
    cast = Kernel(FILE, entry="draw_shadow")
    shade = Kernel(FILE, entry="shade_mesh")

    def describe(self, build: BlockBuilder) -> None:
        """Find the nearest triangle of each pixel, seen by the camera and by the lamp, then shade the pixels."""
        size, counts = (self.width, self.height), (self.points.size, self.faces.dim(0))
        shadow_size = self.shadow_size if self.shadows else 0
        lamp = (self.lamp_turn, self.lamp_elevation, self.target, self.reach, shadow_size)
        threads = self.faces.dim(0) + SPARE
        camera = place_camera(build, self)
        nearest = build.buffer("nearest", u64, shape="[height, width]")
        shadow = build.buffer("shadow", u32, shape=f"[{max(shadow_size, 1)}, {max(shadow_size, 1)}]")
        build.fill(nearest, 0)
        build.launch(self.draw, num_threads=threads, args=(self.points, self.faces, camera, nearest, *counts, *size))
        if self.shadows:
            build.fill(shadow, 0)
            build.launch(self.cast, num_threads=threads, args=(self.points, self.faces, shadow, *lamp, *counts))
        mesh = (self.points, self.normals, self.colors, self.faces)
        light = (*lamp, self.lamp, self.sky, self.shine)
        args = (*mesh, camera, nearest, shadow, self.image, *light, *size)
        build.launch(self.shade, num_threads=size, args=args)
