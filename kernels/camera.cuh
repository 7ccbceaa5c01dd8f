// A camera that looks at a point, with the layout of blocks/particles/camera.py.
#pragma once

#include "warploom/vector.h"

struct Camera {
    float3 position;
    float3 right;
    float3 up;
    float3 forward;
    float focal;  // focal length in pixels
};

// `turn` and `elevation` are in degrees; `height` is that of the point that the camera looks at, on the y axis.
__device__ inline Camera orbit_camera(
    float turn, float elevation, float distance, float height, float field_of_view, int image_height) {
    float turn_sin, turn_cos, rise_sin, rise_cos;
    sincospif(turn / 180.0f, &turn_sin, &turn_cos);
    sincospif(elevation / 180.0f, &rise_sin, &rise_cos);
    float half_sin, half_cos;
    sincospif(field_of_view / 360.0f, &half_sin, &half_cos);
    Camera camera;
    camera.forward = {-rise_cos * turn_sin, -rise_sin, -rise_cos * turn_cos};
    camera.right = {turn_cos, 0.0f, -turn_sin};
    camera.up = cross(camera.right, camera.forward);
    camera.position = float3{0.0f, height, 0.0f} - camera.forward * distance;
    camera.focal = 0.5f * image_height * half_cos / half_sin;
    return camera;
}
