"""Descriptions: what one block asks of the graph, and the builder that its `describe` calls."""
