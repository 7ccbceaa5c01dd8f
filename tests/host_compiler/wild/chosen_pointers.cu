// Pointers that are not simply an argument.

struct Node {
  long long value;
  const Node* next;
};

extern "C" __global__ void sum_list(const Node* head, long long* sum) {
  *sum = 0;
  for (const Node* node = head; node; node = node->next) *sum += node->value;
}

extern "C" __global__ void argument_or_table(const float* argument, const float* const* table, float* out, int index) {
  const float* p = index < 0 ? argument : table[index];
  out[threadIdx.x] = p[threadIdx.x];
}

// Global, shared or local memory through one generic pointer.
extern "C" __global__ void any_space(const int* argument, int* out, int choice) {
  __shared__ int in_shared[4];
  int in_local[4] = {1, 2, 3, 4};
  if (threadIdx.x < 4) in_shared[threadIdx.x] = 10 * threadIdx.x;
  __syncthreads();
  const int* p = choice == 0 ? argument : choice == 1 ? in_shared : in_local;
  int sum = 0;
  for (int i = 0; i < 4; i++) sum = sum * 2 + p[i];
  out[threadIdx.x] = sum;
}

extern "C" __global__ void until_end(const float* begin, const float* end, float* out) {
  float sum = 0;
  for (const float* p = begin + threadIdx.x; p < end; p += blockDim.x) sum += *p;
  out[threadIdx.x] = sum;
}
