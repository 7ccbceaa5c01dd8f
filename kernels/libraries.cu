// Numbers for library calls, which read them from device memory.
#include "elements.cuh"

// Stores a number in the type in which a library computes with elements of type `element`: f64 for f64, complex numbers
// as they are, f32 for anything else. Launched as one thread.
extern "C" __global__ void store_number(void* target, unsigned int element, double value)
{
    const bool is_complex = !(element & ELEMENT_FLOAT);
    const unsigned int size = (element & ELEMENT_SIZE) / (is_complex ? 2 : 1);
    if (size == 8) {
        static_cast<double*>(target)[0] = value;
        if (is_complex)
            static_cast<double*>(target)[1] = 0.0;
    } else {
        static_cast<float*>(target)[0] = static_cast<float>(value);
        if (is_complex)
            static_cast<float*>(target)[1] = 0.0f;
    }
}
