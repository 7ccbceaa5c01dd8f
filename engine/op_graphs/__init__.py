"""Op graphs as patches over a catalogue of ops, so that an editor edits both alike."""
