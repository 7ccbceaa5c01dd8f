// The present frame, for any kernel. A block passes it as `build.frame`.
#pragma once

struct Frame {
    unsigned int index;  // frames since the start
    float time;          // seconds at the start of this frame; exact to 8 ms after a day
    float time_step;     // seconds since the previous frame; 0 while the engine is paused
    unsigned int seed;   // the patch's seed for pseudo-random numbers
};
