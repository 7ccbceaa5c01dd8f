"""Descriptions: the work that one block requests of the graph, and the builder that its `describe` calls."""
