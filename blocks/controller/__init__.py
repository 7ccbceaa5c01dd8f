"""Value blocks of what a person holds: keys, mouse, gamepads, MIDI."""
