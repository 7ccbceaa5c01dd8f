"""The exit statuses of the program. 0: done."""

#: The patch or its data is wrong; wrong usage; the device failed.
PATCH_WRONG, USAGE_WRONG, DEVICE_FAILED = 1, 2, 3
#: Exit status by which shells recognise a program ended by SIGINT.
INTERRUPTED = 130
