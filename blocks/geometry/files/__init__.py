"""Reading and writing files of points and meshes."""
