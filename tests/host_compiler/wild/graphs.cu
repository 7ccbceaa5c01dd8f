// Breadth-first search with queues in shared memory, and components by union and find.

extern "C" __global__ void search(const int* start, const int* neighbour, int* distance, int source) {
  __shared__ int queues[2][1024];
  __shared__ int counts[2];
  if (threadIdx.x == 0) {
    queues[0][0] = source;
    counts[0] = 1;
    counts[1] = 0;
    distance[source] = 0;
  }
  __syncthreads();
  for (int now = 0, level = 1; counts[now] > 0; now ^= 1, level++) {
    for (int i = threadIdx.x; i < counts[now]; i += blockDim.x) {
      int from = queues[now][i];
      for (int edge = start[from]; edge < start[from + 1]; edge++) {
        int to = neighbour[edge];
        if (atomicCAS(&distance[to], -1, level) == -1) queues[now ^ 1][atomicAdd(&counts[now ^ 1], 1)] = to;
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) counts[now] = 0;
    __syncthreads();
  }
}

extern "C" __global__ void expand(const int* start, const int* neighbour, int* distance, const int* front, int count,
                                  int level, int* reached) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (int edge = start[front[i]]; edge < start[front[i] + 1]; edge++)
    if (atomicCAS(&distance[neighbour[edge]], -1, level) == -1) reached[1 + atomicAdd(reached, 1)] = neighbour[edge];
}

__device__ int root_of(volatile int* parent, int node) {
  while (parent[node] != node) {
    parent[node] = parent[parent[node]];
    node = parent[node];
  }
  return node;
}

extern "C" __global__ void unite(int* parent, const int2* edges, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int a = edges[i].x, b = edges[i].y;
  while (true) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a == b) return;
    int high = max(a, b), low = min(a, b);
    if (atomicCAS(&parent[high], high, low) == high) return;
  }
}

extern "C" __global__ void flatten(int* parent, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) parent[i] = root_of(parent, i);
}
