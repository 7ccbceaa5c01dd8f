"""Turns kernel files into images that a device loads: start at `loader.load_image` and `watcher.SourceWatcher`."""
