"""Views of buffers, which need no copy: slices, other shapes, other element types."""
