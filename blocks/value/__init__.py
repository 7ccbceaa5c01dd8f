"""Numbers that drive parameters: time, waves, what a person does. They run on the engine's thread, before the graph."""
