from pathlib import Path

from warploom.api import Block, BlockBuilder, Out, float4, param, port, s32
from warploom.blocks.geometry.files.shape_files import FITS, MESHES, load_shape
from warploom.engine.diagnostics import Incomplete, PatchError


class LoadMesh(Block, id="geometry.load_mesh", tags=("model", "3d", "obj", "gltf", "stl", "ply", "file", "open")):
    """Loads a mesh of triangles from a file.

    Reads OBJ, glTF, GLB, STL, PLY and OFF. All objects of a scene become one mesh. Normals are those of the file, or
    else computed from the triangles. Files beside a glTF file are read from its folder only. A relative path starts at
    the patch file's folder.
    """

    points: Out[float4] = port(shape="data", rank=1, doc="Positions x, y, z, 1, shape [points].")
    normals: Out[float4] = port(shape="data", rank=1, doc="Unit vectors x, y, z, 0, shape [points].")
    colors: Out[float4] = port(shape="data", rank=1, doc="Linear RGBA, white if the file has none, shape [points].")
    faces: Out[s32] = port(shape="data", rank=2, doc="The indices of the points of triangles, shape [triangles, 3].")
    file: Path = param("", files="open mesh", doc="The file; a relative path starts at the patch's folder.")
    fit: str = param("unit size", choices=FITS, doc="Whether positions are moved to the origin, and scaled.")

    def describe(self, build: BlockBuilder) -> None:
        """Provide contents, which are uploaded once and need no work in a frame."""
        if not str(self.file):
            raise Incomplete("file", "name a mesh")
        shape = load_shape(Path(self.file), self.fit, MESHES)
        if not len(shape.faces):
            raise PatchError(f"mesh {self.file} must have triangles, got points alone; use Load Points")
        build.provide(self.points, shape.points)
        build.provide(self.normals, shape.normals)
        build.provide(self.colors, shape.colours)
        build.provide(self.faces, shape.faces)
