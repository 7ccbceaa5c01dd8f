"""The document: nodes, connections and parameters, with undo and a file format."""
