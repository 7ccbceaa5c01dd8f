// A CUDA driver of host memory: it runs a graph's fills and copies in the order of building, prints kernel launches and
// regions, and runs each body once.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "driver.hpp"

using warploom::Address;
using warploom::ConditionalNode;
using warploom::CopyNode;
using warploom::FillNode;
using warploom::Handle;
using warploom::KernelNode;

namespace {
int some_object;
std::vector<std::function<void()>> work;
std::vector<KernelNode> kernels;

void print(const KernelNode& node) {
    std::printf("kernel %u,%u,%u %u,%u,%u %u", node.grid[0], node.grid[1], node.grid[2], node.block[0], node.block[1],
                node.block[2], node.shared_bytes);
    float number;
    std::memcpy(&number, node.arguments[3], sizeof number);
    float first;
    std::memcpy(&first, *static_cast<float**>(node.arguments[0]), sizeof first);
    std::printf(" x[0]=%g a=%g\n", first, number);
}
}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0; }
int cuDeviceGetAttribute(int* value, int, int) { *value = 1; return 0; }
int cuDevicePrimaryCtxRetain(Handle* context, int) { *context = &some_object; return 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(Handle) { return 0; }
int cuStreamCreate(Handle* stream, unsigned) { *stream = &some_object; return 0; }
int cuStreamSynchronize(Handle) { return 0; }
int cuStreamDestroy_v2(Handle) { return 0; }
int cuMemAlloc_v2(Address* address, std::size_t size) { *address = (Address)std::malloc(size); return 0; }
int cuMemFree_v2(Address address) { std::free((void*)address); return 0; }
int cuMemHostAlloc(void** address, std::size_t size, unsigned) { *address = std::malloc(size); return 0; }
int cuMemFreeHost(void* address) { std::free(address); return 0; }
int cuMemsetD8_v2(Address to, unsigned char value, std::size_t size) { std::memset((void*)to, value, size); return 0; }
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t size) { std::memcpy((void*)to, from, size); return 0; }
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t size) { std::memcpy(to, (void*)from, size); return 0; }
int cuModuleLoadData(Handle* module, const void*) { *module = &some_object; return 0; }
int cuModuleUnload(Handle) { return 0; }
int cuModuleGetFunction(Handle* function, Handle, const char*) { *function = &some_object; return 0; }
int cuFuncSetAttribute(Handle, int, int) { return 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle, int, std::size_t) { *blocks = 1; return 0; }
int cuGraphCreate(Handle* graph, unsigned) { *graph = &some_object; return 0; }
int cuGraphDestroy(Handle) { return 0; }
int cuGraphAddKernelNode_v2(Handle* node, Handle, const Handle*, std::size_t, const KernelNode* given) {
    const std::size_t index = kernels.size();
    kernels.push_back(*given);
    work.push_back([index] { print(kernels[index]); });
    *node = reinterpret_cast<Handle>(index);
    return 0;
}
int cuGraphKernelNodeSetAttribute(Handle, int which, const void* value) {
    std::printf("attribute %d %d\n", which, *static_cast<const int*>(value));
    return 0;
}
int cuGraphAddMemsetNode(Handle*, Handle, const Handle*, std::size_t, const FillNode* fill, Handle) {
    const FillNode made = *fill;
    work.push_back([made] {
        for (std::size_t at = 0; at < made.width; ++at)
            std::memcpy((char*)made.target + at * made.element_size, &made.value, made.element_size);
    });
    return 0;
}
int cuGraphAddMemcpyNode(Handle*, Handle, const Handle*, std::size_t, const CopyNode* copy, Handle) {
    const CopyNode made = *copy;
    const void* from = made.source_type == warploom::kHostMemory ? made.source_host : (const void*)made.source;
    work.push_back([made, from] { std::memcpy((void*)made.target, from, made.width); });
    return 0;
}
int cuGraphConditionalHandleCreate(unsigned long long* handle, Handle, Handle, unsigned, unsigned) {
    *handle = reinterpret_cast<unsigned long long>(&some_object);
    return 0;
}
int cuGraphAddNode_v2(Handle*, Handle, const Handle*, const void*, std::size_t, ConditionalNode* given) {
    static Handle bodies[2] = {&some_object, &some_object};
    given->bodies = bodies;
    const ConditionalNode made = *given;
    work.push_back([made] {
        const bool is_known = made.type == 13 && reinterpret_cast<int*>(made.condition) == &some_object;
        std::printf("%s with %u bodies\n", !is_known ? "unknown" : made.kind == 1 ? "while" : "if", made.count);
    });
    return 0;
}
int cuGraphAddEmptyNode(Handle*, Handle, const Handle*, std::size_t) { return 0; }
int cuGraphInstantiateWithFlags(Handle* executable, Handle, unsigned long long) { *executable = &some_object; return 0; }
int cuGraphExecKernelNodeSetParams_v2(Handle, Handle node, const KernelNode* given) {
    kernels[reinterpret_cast<std::size_t>(node)] = *given;
    return 0;
}
int cuGraphLaunch(Handle, Handle) {
    for (const auto& each : work) each();
    return 0;
}
int cuGraphExecDestroy(Handle) { return 0; }
int cuGetErrorName(int, const char** name) { *name = "CUDA_ERROR_UNKNOWN"; return 0; }
}
