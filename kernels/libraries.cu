// Stores numbers for library calls, which read them from device memory.
#include "elements.cuh"

// Stores four numbers, 16 bytes apart, in the type in which a library computes with elements of type `element`: f64 for
// f64, complex numbers unchanged, and f32 for anything else. Launched as one thread.
extern "C" __global__ void store_numbers(void* target, unsigned int element, double a, double b, double c, double d)
{
    const bool is_complex = !(element & ELEMENT_FLOAT);
    const bool is_wide = (element & ELEMENT_SIZE) == (is_complex ? 16 : 8);
    const double values[4] = {a, b, c, d};
    for (int i = 0; i < 4; ++i) {
        if (is_wide) {
            static_cast<double*>(target)[2 * i] = values[i];
            static_cast<double*>(target)[2 * i + 1] = 0.0;
        } else {
            static_cast<float*>(target)[4 * i] = static_cast<float>(values[i]);
            static_cast<float*>(target)[4 * i + 1] = 0.0f;
        }
    }
}
