"""Value blocks, which drive parameters. They run on the engine's thread, before the graph."""
