from warploom.api import BlockBuilder, In, Kernel, Out, float4, param, port, u64
from warploom.blocks.geometry.orbit_view import OrbitView
from warploom.blocks.particles.camera import place_camera

FILE = "cloud.cu"


class RenderCloud(
    OrbitView, id="geometry.render_cloud", tags=("points", "scan", "lidar", "3d", "draw", "camera", "image")
):
    """Draws a cloud of points, each as a disc of its own colour; near points cover far ones.

    Edges of depth are shaded (eye-dome lighting), which shows the shape of a scan that has no normals. The camera looks
    at a point above the origin and can orbit it. A point is at least one pixel. The output is linear light, for a
    Viewer or image blocks; for particles that glow, use Render Points.
    """

    points: In[float4] = port(rank=1, doc="Positions x, y, z, in metres; the fourth number is not used.")
    colors: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Linear RGBA; white without a connection."
    )
    image: Out[float4] = port(shape="[height, width]", doc="The picture, linear RGBA; alpha is 0 without a point.")
    point_size: float = param(8.0, min=0, max=1000, unit="mm", doc="Radius of a point.")
    shading: float = param(0.6, min=0, max=4, doc="How dark edges of depth are.")

    splat = Kernel(FILE, entry="splat_cloud")
    develop = Kernel(FILE, entry="develop_cloud")

    def describe(self, build: BlockBuilder) -> None:
        """Compute the camera, the nearest point of each pixel with a thread per point, and the picture."""
        camera = place_camera(build, self)
        nearest = build.buffer("nearest", u64, shape="[height, width]")
        size, count = (self.width, self.height), self.points.size
        build.fill(nearest, 0)
        build.launch(self.splat, num_threads=count, args=(self.points, camera, nearest, self.point_size, count, *size))
        build.launch(self.develop, num_threads=size, args=(nearest, self.colors, self.image, self.shading, *size))
