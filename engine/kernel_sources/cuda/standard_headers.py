"""Standard headers that CUDA programs include and that NVRTC lacks.

NVRTC gets headers that a host compiler would find (`<stdint.h>`, `<cmath>`, `<cuda_runtime.h>`) as text. They hold
types and limits, libcu++ for C++ headers, and nothing if NVRTC knows the names itself. Files beside a kernel and the
toolkit's own headers are found in their folders.
"""

import hashlib

_STDINT = """#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807LL
#define INT8_MIN (-INT8_MAX - 1)
#define INT16_MIN (-INT16_MAX - 1)
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MIN (-INT64_MAX - 1)
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295u
#define UINT64_MAX 18446744073709551615ull
"""
_IN_STD = """namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;
}
"""
_LIMITS = """#pragma once
#ifndef INT_MAX
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ull
#endif
"""
_FLOAT = """#pragma once
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#endif
"""
_MATH = """#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#endif
#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
"""
#: A kernel waits for earlier ones at its start anyway, and later ones wait for its end.
_DEPENDENT = """__device__ inline void cudaGridDependencySynchronize() {}
__device__ inline void cudaTriggerProgrammaticLaunchCompletion() {}
"""
_CONSTANTS = """#pragma once
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_MAX_NORMAL_F __int_as_float(0x7f7fffff)
#define CUDART_PI_F 3.141592654f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_INF __longlong_as_double(0x7ff0000000000000LL)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000LL)
#define CUDART_PI 3.1415926535897931e+0
"""
#: Headers whose names NVRTC knows anyway, or that only a host program needs.
_NOTHING = (
    *("cuda.h", "cuda_runtime_api.h", "device_launch_parameters.h", "device_functions.h"),
    *(
        "device_atomic_functions.h",
        "builtin_types.h",
        "assert.h",
        "cassert",
        "stdio.h",
        "cstdio",
        "stdlib.h",
        "cstdlib",
    ),
    *("string.h", "cstring", "stddef.h"),
)
#: Headers of the host's libraries. What a program does with them is no part of its kernels.
_OF_HOST = (
    *("vector", "string", "iostream", "fstream", "sstream", "iomanip", "ostream", "istream", "ios", "iosfwd", "map"),
    *(
        "set",
        "unordered_map",
        "unordered_set",
        "list",
        "deque",
        "queue",
        "stack",
        "memory",
        "chrono",
        "thread",
        "mutex",
    ),
    *(
        "stdbool.h",
        "complex.h",
        "alloca.h",
        "stdnoreturn.h",
        "stdalign.h",
        "tgmath.h",
        "random",
        "stdexcept",
        "exception",
        "typeinfo",
        "typeindex",
        "regex",
        "locale",
        "streambuf",
        "filesystem",
        "any",
    ),
    *("atomic", "condition_variable", "future", "variant", "string_view", "system_error", "new", "bitset", "valarray"),
    *("cinttypes", "ctime", "cctype", "cstdarg", "csignal", "cerrno", "clocale", "csetjmp", "cwchar", "time.h"),
    *("ctype.h", "errno.h", "signal.h", "stdarg.h", "malloc.h", "memory.h", "getopt.h", "unistd.h", "pthread.h"),
    *("fcntl.h", "dirent.h", "dlfcn.h", "libgen.h", "sched.h", "semaphore.h", "strings.h", "wchar.h", "setjmp.h"),
    *("sys/time.h", "sys/types.h", "sys/stat.h", "sys/mman.h", "sys/wait.h", "sys/resource.h", "sys/sysinfo.h"),
    *("sys/times.h", "sys/ioctl.h", "sys/socket.h", "sys/param.h", "sys/utsname.h", "netinet/in.h", "arpa/inet.h"),
    *("windows.h", "Windows.h", "conio.h", "io.h", "direct.h", "intrin.h", "immintrin.h", "emmintrin.h", "omp.h"),
    *("mpi.h", "GL/gl.h", "GL/glu.h", "GL/glut.h", "GL/glew.h", "GL/freeglut.h", "GLFW/glfw3.h", "GLUT/glut.h"),
    *("cublas.h", "cublas_v2.h", "cublasLt.h", "cublasXt.h", "cublas_api.h", "cufft.h", "cufftXt.h", "cufftw.h"),
    *("curand.h", "cusparse.h", "cusparse_v2.h", "cusolverDn.h", "cusolverSp.h", "cusolver_common.h", "cudnn.h"),
    *(
        "nccl.h",
        "nvml.h",
        "npp.h",
        "nvToolsExt.h",
        "nvtx3/nvToolsExt.h",
        "nvtx3/nvtx3.hpp",
        "nvrtc.h",
        "cuda_gl_interop.h",
    ),
    *("cudaGL.h", "cuda_profiler_api.h", "cudaProfiler.h", "cuda_occupancy.h", "helper_cuda.h", "helper_functions.h"),
    *(
        "helper_timer.h",
        "helper_string.h",
        "helper_image.h",
        "helper_gl.h",
        "helper_cuda_drvapi.h",
        "helper_cusolver.h",
    ),
    *("cutil.h", "cutil_inline.h", "sdkHelper.h", "shrUtils.h"),
    *("driver_types.h", "driver_functions.h", "host_defines.h", "host_config.h", "surface_types.h", "texture_types.h"),
    *("channel_descriptor.h", "texture_fetch_functions.h", "texture_indirect_functions.h", "vector_functions.h"),
    *(
        "vector_functions.hpp",
        "sm_20_atomic_functions.h",
        "sm_30_intrinsics.h",
        "sm_35_intrinsics.h",
        "math_functions.h",
    ),
    *("sm_60_atomic_functions.h", "common_functions.h", "device_double_functions.h", "cuda_device_runtime_api.h"),
    *("surface_functions.h", "surface_indirect_functions.h", "sm_32_intrinsics.h", "cuda_surface_types.h"),
    *("cuda_texture_types.h", "cuda_runtime_api.hpp", "crt/device_functions.h", "crt/host_defines.h"),
)
_OF_THRUST = (
    *("host_vector", "device_vector", "device_ptr", "device_malloc", "device_free", "copy", "fill", "sequence", "sort"),
    *(
        "scan",
        "reduce",
        "transform",
        "transform_reduce",
        "transform_scan",
        "inner_product",
        "generate",
        "gather",
        "find",
    ),
    *("scatter", "unique", "count", "for_each", "extrema", "logical", "merge", "partition", "remove"),
    *("replace", "set_operations", "binary_search", "random", "mismatch", "adjacent_difference", "tabulate"),
)
_NAMESPACES = "#pragma once\nnamespace std {}\nnamespace thrust {}\n"
_OF_CPP = (
    *("algorithm", "array", "cmath", "complex", "cstddef", "functional", "initializer_list", "iterator", "limits"),
    *("numeric", "optional", "tuple", "type_traits", "utility"),
)


def _of_cpp(name: str) -> str:
    more = '#include "math.h"\n' if name == "cmath" else ""
    return f"#pragma once\n{more}#include <cuda/std/{name}>\nnamespace std {{ using namespace cuda::std; }}\n"


HEADERS: dict[str, str] = {
    **dict.fromkeys(
        (*_OF_HOST, *(f"thrust/{name}.h" for name in _OF_THRUST)),
        "#pragma once\nnamespace std {}\nnamespace thrust {}\n",
    ),
    **dict.fromkeys(_NOTHING, "#pragma once\n"),
    "cuda_runtime.h": '#pragma once\n#include "limits.h"\n#include "math.h"\n#include "stdint.h"\n' + _DEPENDENT,
    **{name: _of_cpp(name) for name in _OF_CPP},
    **dict.fromkeys(("stdint.h", "inttypes.h"), _STDINT),
    "cstdint": _STDINT + _IN_STD,
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOAT),
    "math.h": _MATH,
    "math_constants.h": _CONSTANTS,
}

#: A digest of all headers. It is part of the options, and so of the compile cache's keys.
DIGEST = hashlib.sha256(repr(sorted(HEADERS.items())).encode()).hexdigest()[:16]
