"""Points and meshes: files in and out, and pictures of them."""
