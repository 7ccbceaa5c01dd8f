// Numbers that a tensor program needs in memory. ELEMENT is the element type.
#include "tensor.cuh"

// The number of examples.
extern "C" __global__ void store_size(ELEMENT* __restrict__ out, int size) {
    out[0] = Stored<ELEMENT>::of(static_cast<NumberOf<ELEMENT>>(size));
}
