// The functions of the CUDA driver that a graph needs, found in the driver's library when the program runs. The types are
// those of cuda.h, which is not needed to build.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace warploom {

using Address = unsigned long long;
using Handle = void*;

struct KernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
    Handle function;
    unsigned grid[3], block[3], shared_bytes;
    void** arguments;
    void** extra;
    Handle kernel, context;
};

struct FillNode {  // CUDA_MEMSET_NODE_PARAMS_v1
    Address target;
    std::size_t pitch;
    unsigned value, element_size;
    std::size_t width, height;
};

struct CopyNode {  // CUDA_MEMCPY3D_v2
    std::size_t source_x, source_y, source_z, source_level;
    int source_type;
    const void* source_host;
    Address source;
    Handle source_array;
    void* reserved0;
    std::size_t source_pitch, source_height;
    std::size_t target_x, target_y, target_z, target_level;
    int target_type;
    void* target_host;
    Address target;
    Handle target_array;
    void* reserved1;
    std::size_t target_pitch, target_height;
    std::size_t width, height, depth;
};

struct ConditionalNode {  // CUgraphNodeParams with CUDA_CONDITIONAL_NODE_PARAMS
    int type;
    int reserved0[3];
    unsigned long long condition;
    int kind;
    unsigned count;
    Handle* bodies;  // the driver's answer
    Handle context;
    unsigned char rest[208];
};
static_assert(sizeof(ConditionalNode) == 256);

constexpr int kConditional = 13;                  // CU_GRAPH_NODE_TYPE_CONDITIONAL
constexpr int kIf = 0, kWhile = 1, kSwitch = 2;  // CUgraphConditionalNodeType
constexpr unsigned kAssignDefault = 1;            // CU_GRAPH_COND_ASSIGN_DEFAULT
constexpr int kHostMemory = 1, kDeviceMemory = 2;
constexpr int kMultiprocessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kCooperative = 2;       // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
constexpr int kSharedLimit = 8;       // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

// The driver. The constructor throws std::runtime_error if there is none on this machine.
struct Driver {
    Driver();

    int (*init)(unsigned);
    int (*device_get)(int*, int);
    int (*device_attribute)(int*, int, int);
    int (*context_retain)(Handle*, int);
    int (*context_release)(int);
    int (*context_set)(Handle);
    int (*stream_create)(Handle*, unsigned);
    int (*stream_synchronize)(Handle);
    int (*stream_destroy)(Handle);
    int (*allocate)(Address*, std::size_t);
    int (*free)(Address);
    int (*allocate_host)(void**, std::size_t, unsigned);
    int (*free_host)(void*);
    int (*fill)(Address, unsigned char, std::size_t);
    int (*upload)(Address, const void*, std::size_t);
    int (*download)(void*, Address, std::size_t);
    int (*module_load)(Handle*, const void*);
    int (*module_unload)(Handle);
    int (*module_function)(Handle*, Handle, const char*);
    int (*function_set)(Handle, int, int);
    int (*occupancy)(int*, Handle, int, std::size_t);
    int (*graph_create)(Handle*, unsigned);
    int (*graph_destroy)(Handle);
    int (*add_kernel)(Handle*, Handle, const Handle*, std::size_t, const KernelNode*);
    int (*add_fill)(Handle*, Handle, const Handle*, std::size_t, const FillNode*, Handle);
    int (*add_copy)(Handle*, Handle, const Handle*, std::size_t, const CopyNode*, Handle);
    int (*add_empty)(Handle*, Handle, const Handle*, std::size_t);
    int (*add_node)(Handle*, Handle, const Handle*, const void*, std::size_t, ConditionalNode*);
    int (*create_condition)(unsigned long long*, Handle, Handle, unsigned, unsigned);
    int (*instantiate)(Handle*, Handle, unsigned long long);
    int (*set_attribute)(Handle, int, const void*);
    int (*set_kernel)(Handle, Handle, const KernelNode*);
    int (*launch)(Handle, Handle);
    int (*executable_destroy)(Handle);
    int (*error_name)(int, const char**);

    // Throws std::runtime_error that says what failed, unless `result` is 0.
    void check(int result, const std::string& what) const;

private:
    template <typename Function>
    void find(Function& function, const char* name);
    void* library_;
};

}  // namespace warploom
