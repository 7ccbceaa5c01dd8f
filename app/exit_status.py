"""The exit statuses of the program. 0: done."""

#: The patch or its data is wrong; the usage is wrong; the device failed.
PATCH_WRONG, USAGE_WRONG, DEVICE_FAILED = 1, 2, 3
#: The exit status by which shells recognise a program that SIGINT ended.
INTERRUPTED = 130
