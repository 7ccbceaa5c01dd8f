// A kernel that touches no memory, whatever it is given.
extern "C" __global__ void nothing(const float* x, float* out, float a, int n) {}
