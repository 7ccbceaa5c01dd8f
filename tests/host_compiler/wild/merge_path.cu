// Two sorted lists become one; each thread finds its part by a search along a diagonal.

__device__ int taken_from_a(const int* a, int a_count, const int* b, int b_count, int diagonal) {
  int low = max(0, diagonal - b_count), high = min(diagonal, a_count);
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

extern "C" __global__ void merge(const int* __restrict__ a, int a_count, const int* __restrict__ b, int b_count,
                                 int* __restrict__ out, int each) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, count = a_count + b_count;
  int first = min(thread * each, count), last = min(first + each, count);
  int i = taken_from_a(a, a_count, b, b_count, first), j = first - i;
  for (int k = first; k < last; k++) out[k] = j >= b_count || (i < a_count && a[i] <= b[j]) ? a[i++] : b[j++];
}
