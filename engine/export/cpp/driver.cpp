#include "driver.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace warploom {

namespace {

void* open_library() {
#ifdef _WIN32
    return reinterpret_cast<void*>(LoadLibraryA("nvcuda.dll"));
#else
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
}

void* find_symbol(void* library, const char* name) {
#ifdef _WIN32
    return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
    return dlsym(library, name);
#endif
}

}  // namespace

template <typename Function>
void Driver::find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_symbol(library_, name));
    if (function == nullptr) {
        throw std::runtime_error(std::string("the CUDA driver must be of CUDA 12.3 or newer, got one without ") + name);
    }
}

Driver::Driver() : library_(open_library()) {
    if (library_ == nullptr) {
        throw std::runtime_error("a CUDA driver must be installed, got none on this machine");
    }
    find(init, "cuInit");
    find(device_get, "cuDeviceGet");
    find(device_attribute, "cuDeviceGetAttribute");
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_release, "cuDevicePrimaryCtxRelease_v2");
    find(context_set, "cuCtxSetCurrent");
    find(stream_create, "cuStreamCreate");
    find(stream_synchronize, "cuStreamSynchronize");
    find(stream_destroy, "cuStreamDestroy_v2");
    find(allocate, "cuMemAlloc_v2");
    find(free, "cuMemFree_v2");
    find(allocate_host, "cuMemHostAlloc");
    find(free_host, "cuMemFreeHost");
    find(fill, "cuMemsetD8_v2");
    find(upload, "cuMemcpyHtoD_v2");
    find(download, "cuMemcpyDtoH_v2");
    find(module_load, "cuModuleLoadData");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(function_set, "cuFuncSetAttribute");
    find(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    find(graph_create, "cuGraphCreate");
    find(graph_destroy, "cuGraphDestroy");
    find(add_kernel, "cuGraphAddKernelNode_v2");
    find(add_fill, "cuGraphAddMemsetNode");
    find(add_copy, "cuGraphAddMemcpyNode");
    find(add_empty, "cuGraphAddEmptyNode");
    find(add_node, "cuGraphAddNode_v2");
    find(create_condition, "cuGraphConditionalHandleCreate");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(set_attribute, "cuGraphKernelNodeSetAttribute");
    find(set_kernel, "cuGraphExecKernelNodeSetParams_v2");
    find(launch, "cuGraphLaunch");
    find(executable_destroy, "cuGraphExecDestroy");
    find(error_name, "cuGetErrorName");
}

void Driver::check(int result, const std::string& what) const {
    if (result == 0) {
        return;
    }
    const char* name = nullptr;
    error_name(result, &name);
    throw std::runtime_error(what + " failed: " + (name != nullptr ? name : std::to_string(result)));
}

}  // namespace warploom
