// Turns the counter of an append buffer into its count; launched as one thread.

extern "C" __global__ void count_appended(const unsigned* counter, unsigned* count, unsigned long long capacity)
{
    *count = *counter < capacity ? *counter : static_cast<unsigned>(capacity);
}
