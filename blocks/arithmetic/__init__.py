"""Arithmetic on buffers of f32."""
