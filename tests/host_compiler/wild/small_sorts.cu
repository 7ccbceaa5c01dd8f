// Sorts inside one thread block and inside one thread.

extern "C" __global__ void bitonic(float* numbers, int count) {
  extern __shared__ float s[];
  int size = 1;
  while (size < count) size *= 2;
  for (int i = threadIdx.x; i < size; i += blockDim.x) s[i] = i < count ? numbers[i] : __int_as_float(0x7f800000);
  for (int k = 2; k <= size; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < size; i += blockDim.x) {
        int partner = i ^ j;
        float a = s[i], b = s[partner];
        if (partner > i && (a > b) == ((i & k) == 0)) {
          s[i] = b;
          s[partner] = a;
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) numbers[i] = s[i];
}

extern "C" __global__ void odd_even(int* numbers, int count) {
  extern __shared__ int t[];
  t[threadIdx.x] = numbers[threadIdx.x];
  __syncthreads();
  for (int pass = 0; pass < count; pass++) {
    int i = 2 * threadIdx.x + (pass & 1);
    if (i + 1 < count && t[i] > t[i + 1]) {
      int kept = t[i];
      t[i] = t[i + 1];
      t[i + 1] = kept;
    }
    __syncthreads();
  }
  numbers[threadIdx.x] = t[threadIdx.x];
}

__device__ void quicksort(int* a, int first, int last) {
  if (first >= last) return;
  int pivot = a[(first + last) / 2], i = first, j = last;
  while (i <= j) {
    while (a[i] < pivot) i++;
    while (a[j] > pivot) j--;
    if (i <= j) {
      int kept = a[i];
      a[i++] = a[j];
      a[j--] = kept;
    }
  }
  quicksort(a, first, j);
  quicksort(a, i, last);
}

extern "C" __global__ void sort_rows(int* rows, int columns) {
  quicksort(rows + (blockIdx.x * blockDim.x + threadIdx.x) * columns, 0, columns - 1);
}
