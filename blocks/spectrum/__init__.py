"""Signals and their spectra: Fourier transforms, windows, spectrograms, convolution."""
