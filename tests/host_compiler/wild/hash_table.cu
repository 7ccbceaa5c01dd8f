// Open addressing with linear probing; equal keys add up.

struct Entry {
  unsigned key, sum;
};
constexpr unsigned empty = 0xffffffff;

__device__ unsigned mixed(unsigned key) {
  key = (key ^ key >> 16) * 0x85ebca6b;
  key = (key ^ key >> 13) * 0xc2b2ae35;
  return key ^ key >> 16;
}

extern "C" __global__ void insert(Entry* table, unsigned size, const Entry* entries, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  for (unsigned slot = mixed(entries[i].key) % size;; slot = (slot + 1) % size) {
    unsigned found = atomicCAS(&table[slot].key, empty, entries[i].key);
    if (found == empty || found == entries[i].key) {
      atomicAdd(&table[slot].sum, entries[i].sum);
      return;
    }
  }
}

extern "C" __global__ void look_up(const Entry* table, unsigned size, Entry* entries, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned slot = mixed(entries[i].key) % size;
  while (table[slot].key != entries[i].key && table[slot].key != empty) slot = (slot + 1) % size;
  entries[i].sum = table[slot].key == empty ? empty : table[slot].sum;
}
