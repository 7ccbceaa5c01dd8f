"""Names of CUDA C++, each with a short use: a signature, or an example that compiles.

The examples are in a scope with `int i, *pi; unsigned u; float f, *pf; double d; float4 f4; bool b`.
"""

KEYWORDS = (
    *("alignas", "auto", "bool", "break", "case", "char", "class", "const", "constexpr", "continue", "default", "do"),
    *("double", "else", "enum", "extern", "false", "float", "for", "if", "inline", "int", "long", "namespace"),
    *("operator", "private", "public", "return", "short", "signed", "sizeof", "static", "static_cast", "struct"),
    *("switch", "template", "this", "true", "typedef", "typename", "union", "unsigned", "using", "void", "while"),
    *("__device__", "__global__", "__shared__", "__constant__", "__restrict__", "__launch_bounds__"),
)
_UNARY = (
    *("sqrtf", "rsqrtf", "cbrtf", "expf", "exp2f", "exp10f", "expm1f", "logf", "log2f", "log10f", "log1pf", "sinf"),
    *("cosf", "tanf", "asinf", "acosf", "atanf", "sinhf", "coshf", "tanhf", "floorf", "ceilf", "roundf", "truncf"),
    *("rintf", "fabsf", "erff", "erfcf", "__sinf", "__cosf", "__expf", "__logf", "__saturatef", "sinpif", "cospif"),
    *("__int2float_rn", "__float2int_rn", "__float2int_rd", "__float_as_int", "__float_as_uint"),
)
_BINARY = ("fminf", "fmaxf", "fmodf", "powf", "atan2f", "hypotf", "copysignf", "__fdividef", "__powf", "remainderf")
_ATOMIC = ("atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicExch", "atomicAnd", "atomicOr", "atomicXor")
_VECTORS = {
    f"{kind}{count}": ", ".join([value] * count)
    for kind, value in (("float", "f"), ("int", "i"), ("uint", "u"), ("double", "d"))
    for count in (2, 3, 4)
}

#: Each name with its use.
NAMES: dict[str, str] = {
    **{name: f"{name}.x" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")},
    "warpSize": "warpSize",
    "__syncthreads": "__syncthreads()",
    "__syncwarp": "__syncwarp()",
    "__threadfence": "__threadfence()",
    "__threadfence_block": "__threadfence_block()",
    "__ballot_sync": "__ballot_sync(~0u, b)",
    "__any_sync": "__any_sync(~0u, b)",
    "__all_sync": "__all_sync(~0u, b)",
    "__activemask": "__activemask()",
    "__shfl_sync": "__shfl_sync(~0u, f, 0)",
    "__shfl_down_sync": "__shfl_down_sync(~0u, f, 1)",
    "__shfl_up_sync": "__shfl_up_sync(~0u, f, 1)",
    "__shfl_xor_sync": "__shfl_xor_sync(~0u, f, 1)",
    "__ldg": "__ldg(pf)",
    "__popc": "__popc(u)",
    "__clz": "__clz(i)",
    "__ffs": "__ffs(i)",
    "__brev": "__brev(u)",
    "__int_as_float": "__int_as_float(i)",
    "__uint_as_float": "__uint_as_float(u)",
    "__umulhi": "__umulhi(u, u)",
    "__trap": "__trap()",
    "clock64": "clock64()",
    "fmaf": "fmaf(f, f, f)",
    "sincosf": "sincosf(f, pf, pf)",
    "min": "min(i, i)",
    "max": "max(i, i)",
    "abs": "abs(i)",
    "isnan": "isnan(f)",
    "isinf": "isinf(f)",
    "isfinite": "isfinite(f)",
    "printf": 'printf("%d", i)',
    "atomicCAS": "atomicCAS(pi, i, i)",
    **{name: f"{name}({'i' if 'int2' in name else 'f'})" for name in _UNARY},
    **{name: f"{name}(f, f)" for name in _BINARY},
    **{name: f"{name}(pi, i)" for name in _ATOMIC},
    **{name: f"{name}()" for name in _VECTORS},
    **{f"make_{name}": f"make_{name}({values})" for name, values in _VECTORS.items()},
    **{name: f"sizeof({name})" for name in ("uchar4", "int8_t", "uint8_t", "int32_t", "uint32_t", "int64_t")},
}
