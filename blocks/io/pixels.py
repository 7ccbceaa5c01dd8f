"""Converts linear images to sRGB pixels, for the screen and for files."""

#: Lines of an expression that convert `c`, linear RGBA, to a pixel. The sRGB curve (IEC 61966-2-1) is computed without
#: a power, which would cost more than the rest of a kernel. Above the linear toe, the curve is a minimax fit of square
#: and fourth roots, with an error of at most 0.01 of an 8-bit step.
PIXEL = """
color = saturate(c.xyz)
root = sqrt(color)
fourth = sqrt(root)
curve = -0.064611562 + 0.081329678 * color + 1.1226810 * root + 0.19613609 * fourth - 0.33550082 * root * fourth
encoded = saturate(12.92 * color if color <= 0.0031308 else curve)
uint(vec(encoded.x, encoded.y, encoded.z, saturate(c.w)) * 255 + 0.5)"""
