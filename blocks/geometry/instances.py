from warploom.api import Block, BlockBuilder, In, Kernel, Out, f32, float4, param, port, s32

FILE = "instances.cu"


class Instances(Block, id="geometry.instances", tags=("copy to points", "scatter", "clone", "instancing", "mesh")):
    """Puts a copy of a mesh at each of many points.

    The copies are one mesh for Render Mesh, with its light, shadows and depth. Each can have its own turn, size and
    colour. For particles, put Points of Particles before it: `velocities` are directions, and places without a particle
    get no copy.
    """

    points: In[float4] = port(rank=1, doc="Positions of the mesh's points, x, y, z, in metres.")
    faces: In[s32] = port(rank=2, doc="Indices of the points of triangles, shape [triangles, 3].")
    places: In[float4] = port(rank=1, doc="Where copies are: x, y, z; the fourth number is 0 for no copy.")
    normals: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Unit vectors x, y, z, of the mesh's points."
    )
    colors: In[float4] = port(
        shape="same(points)", optional=True, advised=False, doc="Linear RGBA of the mesh's points; white without it."
    )
    directions: In[float4] = port(
        shape="same(places)", optional=True, advised=False, doc="Where each copy's z axis points to: x, y, z."
    )
    turns: In[float4] = port(
        shape="same(places)", optional=True, advised=False, doc="Quaternion x, y, z, w of each copy, before directions."
    )
    sizes: In[f32] = port(shape="same(places)", optional=True, advised=False, doc="Factor of each copy's size.")
    tints: In[float4] = port(
        shape="same(places)",
        optional=True,
        advised=False,
        doc="Linear RGBA by which each copy's colours are multiplied.",
    )
    points_out: Out[float4] = port(shape="[points.size * places.size]", doc="Positions of all copies' points.")
    normals_out: Out[float4] = port(
        shape="[points.size * places.size]", doc="Their normals; 0 without normals of the mesh, for flat triangles."
    )
    colors_out: Out[float4] = port(shape="[points.size * places.size]", doc="Their colours.")
    faces_out: Out[s32] = port(shape="[faces.dim0 * places.size, 3]", doc="Indices of the points of all triangles.")
    scale: float = param(1.0, min=0, max=1000, doc="Factor of the size of all copies.")

    place = Kernel(FILE, entry="place_points")
    join = Kernel(FILE, entry="place_faces")

    def describe(self, build: BlockBuilder) -> None:
        """Launch one thread per point and one per corner of a triangle."""
        mesh, each = (self.points, self.normals, self.colors), (self.places, self.turns, self.directions)
        made = (self.points_out, self.normals_out, self.colors_out)
        count, corners = self.points_out.size, self.faces_out.size
        args = (*mesh, *each, self.sizes, self.tints, *made, self.scale, self.points.size, count)
        build.launch(self.place, num_threads=count, args=args)
        joined = (self.faces, self.faces_out, self.points.size, self.faces.size, corners)
        build.launch(self.join, num_threads=corners, args=joined)
