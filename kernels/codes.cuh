// Elements as whole numbers above 0 in the same order, their codes: for sorting, selecting, and running extremes.
#pragma once
#include "elements.cuh"

// The code of positive infinity. Those above it are of NaN, in both directions.
__device__ inline unsigned long long infinity_code(unsigned int type, unsigned long long sign) {
    switch (type & ELEMENT_SIZE) {
        case 2: return sign | (type & ELEMENT_BRAIN ? 0x7F80ull : 0x7C00ull);
        case 4: return sign | 0x7F800000ull;
        default: return sign | 0x7FF0000000000000ull;
    }
}

// Makes codes of the bits of elements, in a type that holds these. In a stable order, -0 has the code of 0, and all NaN
// have one code.
template <typename Code> struct Coder {
    Code sign, all, infinity;
    bool is_float, is_signed, is_stable, descending;

    __device__ Coder(unsigned int type, bool is_stable, bool descending)
        : sign(static_cast<Code>(1) << (8 * (type & ELEMENT_SIZE) - 1)), all(sign | (sign - 1)),
          infinity(static_cast<Code>(infinity_code(type, sign))), is_float(type & ELEMENT_FLOAT), is_signed(type & ELEMENT_SIGNED), is_stable(is_stable), descending(descending) {}

    __device__ Code operator()(Code code) const {
        bool is_nan = false;
        if (is_float) {
            const Code magnitude = code & (sign - 1);
            is_nan = (sign | magnitude) > infinity;
            if (is_nan)
                code = is_stable ? all : sign | magnitude;
            else if (is_stable && magnitude == 0)
                code = sign;
            else
                code = code & sign ? ~code & all : code | sign;
        } else if (is_signed) {
            code ^= sign;
        }
        return descending && !is_nan ? ~code & all : code;
    }
};
