// What every kernel may know of the present frame. A block passes it with `build.frame`.
#pragma once

struct Frame {
    unsigned int index;  // frames since the start
    float time;          // seconds at the start of this frame
    float time_step;     // seconds until the next frame
    unsigned int seed;   // the patch's seed for pseudo-random numbers
};
