// Elements whose type is only known at launch. A block passes `build.element_type(port)`: a number with the size of an
// element in bytes in its low 16 bits, and the kind of number above them.
#pragma once

constexpr unsigned int ELEMENT_SIZE = 0xFFFFu;
constexpr unsigned int ELEMENT_FLOAT = 1u << 16;
constexpr unsigned int ELEMENT_SIGNED = 1u << 17;  // a whole number that may be negative
constexpr unsigned int ELEMENT_BRAIN = 1u << 18;   // a 16-bit float, which is the upper half of an f32
constexpr unsigned int ELEMENT_BOOLEAN = 1u << 19;  // one byte that is 0 or 1
constexpr unsigned int ELEMENT_PARTS_AT = 20;  // 4 bits: the size of each float in an element with several, or 0

__device__ inline const unsigned char* element_at(const void* data, unsigned int type, size_t index) {
    return static_cast<const unsigned char*>(data) + index * (type & ELEMENT_SIZE);
}

// True unless element `index` of `data` is 0 in all its parts; -0 counts as 0, and NaN does not.
__device__ inline bool is_true(const void* data, unsigned int type, size_t index) {
    const unsigned char* bytes = element_at(data, type, index);
    const unsigned int size = type & ELEMENT_SIZE;
    if (size == 1) return *bytes != 0;  // most masks
    const unsigned int part = type & ELEMENT_FLOAT ? size : type >> ELEMENT_PARTS_AT & 15u;  // a power of two, or 0
    unsigned int found = 0;
#pragma unroll 1
    for (unsigned int i = 0; i < size; ++i)
        found |= ((i + 1) & (part - 1)) == 0 ? bytes[i] & 127u : bytes[i];  // the last byte has a float's sign
    return found != 0;
}

// The bits of a number or a vector of up to 8 bytes without the signs of its floats.
__device__ inline unsigned long long without_signs(unsigned int type) {
    const unsigned int part = type & ELEMENT_FLOAT ? type & ELEMENT_SIZE : type >> ELEMENT_PARTS_AT & 15u;
    return part == 2 ? 0x7FFF7FFF7FFF7FFFull : part == 4 ? 0x7FFFFFFF7FFFFFFFull : part == 8 ? ~0ull >> 1 : ~0ull;
}

// A whole number as 64 bits, in two's complement if negative; `type` must not be a float.
__device__ inline unsigned long long whole_at(const void* data, unsigned int type, size_t index) {
    const bool is_signed = type & ELEMENT_SIGNED;
    switch (type & ELEMENT_SIZE) {
        case 1: {
            const unsigned char value = static_cast<const unsigned char*>(data)[index];
            return is_signed ? static_cast<unsigned long long>(static_cast<signed char>(value)) : value;
        }
        case 2: {
            const unsigned short value = static_cast<const unsigned short*>(data)[index];
            return is_signed ? static_cast<unsigned long long>(static_cast<short>(value)) : value;
        }
        case 4: {
            const unsigned int value = static_cast<const unsigned int*>(data)[index];
            return is_signed ? static_cast<unsigned long long>(static_cast<int>(value)) : value;
        }
        default: return static_cast<const unsigned long long*>(data)[index];
    }
}

__device__ inline float half_to_float(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

// A number as a double: exact except for whole numbers beyond 2^53.
__device__ inline double number_at(const void* data, unsigned int type, size_t index) {
    if (type & ELEMENT_FLOAT) {
        switch (type & ELEMENT_SIZE) {
            case 2: {
                const unsigned short bits = static_cast<const unsigned short*>(data)[index];
                return type & ELEMENT_BRAIN ? __uint_as_float(static_cast<unsigned int>(bits) << 16) : half_to_float(bits);
            }
            case 4: return static_cast<const float*>(data)[index];
            default: return static_cast<const double*>(data)[index];
        }
    }
    const unsigned long long whole = whole_at(data, type, index);
    return type & ELEMENT_SIGNED ? static_cast<double>(static_cast<long long>(whole)) : static_cast<double>(whole);
}

// Calls work(number), where number(i) is element i as a double. For f32 and f64 it doesn't look at the type, so that
// several loads can be under way at once.
template <typename Work> __device__ inline void by_reader(const void* data, unsigned int type, Work work) {
    switch (type & (ELEMENT_FLOAT | ELEMENT_SIZE)) {
        case ELEMENT_FLOAT | 4: return work([=](size_t i) -> double { return static_cast<const float*>(data)[i]; });
        case ELEMENT_FLOAT | 8: return work([=](size_t i) { return static_cast<const double*>(data)[i]; });
        default: return work([=](size_t i) { return number_at(data, type, i); });
    }
}

// The low bits of a whole number.
__device__ inline void put_whole(void* data, unsigned int type, size_t index, unsigned long long value) {
    switch (type & ELEMENT_SIZE) {
        case 1: static_cast<unsigned char*>(data)[index] = static_cast<unsigned char>(value); break;
        case 2: static_cast<unsigned short*>(data)[index] = static_cast<unsigned short>(value); break;
        case 4: static_cast<unsigned int*>(data)[index] = static_cast<unsigned int>(value); break;
        default: static_cast<unsigned long long*>(data)[index] = value;
    }
}

// Rounds to the nearest f32 whose lower half is 0, ties to even; infinities stay infinite, and NaN stays NaN.
__device__ inline unsigned short brain_bits(float value) {
    const unsigned int bits = __float_as_uint(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);
    return static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

// An f32 that rounds to a smaller type as the double would: truncated, with the last bit set if that was inexact.
__device__ inline float to_odd(double value) {
    const float cut = __double2float_rz(value);
    const bool is_exact = cut == value || value != value || fabs(value) > 3.4028234663852886e38;
    return is_exact ? static_cast<float>(value) : __uint_as_float(__float_as_uint(cut) | 1u);
}

// Writes a number to an element. Floats are rounded to nearest. Whole numbers are truncated and clamped to the type's
// range; NaN becomes 0. A boolean is true if the number is not 0.
__device__ inline void put_number(void* data, unsigned int type, size_t index, double value) {
    const unsigned int size = type & ELEMENT_SIZE;
    if (type & ELEMENT_FLOAT) {
        if (size == 8) {
            static_cast<double*>(data)[index] = value;
        } else if (size == 4) {
            static_cast<float*>(data)[index] = static_cast<float>(value);
        } else if (type & ELEMENT_BRAIN) {
            static_cast<unsigned short*>(data)[index] = brain_bits(to_odd(value));
        } else {
            unsigned short bits;
            asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
            static_cast<unsigned short*>(data)[index] = bits;
        }
        return;
    }
    if (type & ELEMENT_BOOLEAN) {
        static_cast<unsigned char*>(data)[index] = value != 0.0;
        return;
    }
    // Comparisons with powers of two, which a double holds exactly; NaN fails all of them.
    const int bits = 8 * static_cast<int>(size);
    const bool is_signed = type & ELEMENT_SIGNED;
    const double end = __hiloint2double((1023 + bits - (is_signed ? 1 : 0)) << 20, 0);  // 2^bits or 2^(bits - 1)
    unsigned long long whole = 0;
    if (value >= end) {
        whole = ~0ull >> (64 - bits + (is_signed ? 1 : 0));
    } else if (is_signed && value <= -end) {
        whole = ~0ull << (bits - 1);
    } else if (is_signed) {
        whole = value == value ? static_cast<unsigned long long>(static_cast<long long>(value)) : 0;
    } else if (value > 0.0) {
        whole = static_cast<unsigned long long>(value);
    }
    put_whole(data, type, index, whole);
}

// Copies one element as bytes, in the widest words that both addresses and its size allow. With `is_cleared`, zeros are
// written in its place: a choice in registers, so that threads that differ in it stay together.
template <typename Word>
__device__ inline void copy_words(void* target, const void* source, unsigned int size, bool is_cleared) {
#pragma unroll 1
    for (unsigned int i = 0; i < size / sizeof(Word); ++i)
        static_cast<Word*>(target)[i] = is_cleared ? Word{} : static_cast<const Word*>(source)[i];
}

__device__ inline void copy_element(void* target, const void* source, unsigned int size, bool is_cleared = false) {
    const unsigned long long all =
        reinterpret_cast<unsigned long long>(target) | reinterpret_cast<unsigned long long>(source) | size;
    if (all % 16 == 0)
        copy_words<uint4>(target, source, size, is_cleared);
    else if (all % 8 == 0)
        copy_words<unsigned long long>(target, source, size, is_cleared);
    else if (all % 4 == 0)
        copy_words<unsigned int>(target, source, size, is_cleared);
    else
        copy_words<unsigned char>(target, source, size, is_cleared);
}

// Copies element `from` of one buffer to place `to` of another, or clears this with `is_cleared`. The size and the alignment
// of the buffers are the same for all threads, so a launch takes one of the ways.
__device__ inline void move_element(void* target, size_t to, const void* source, size_t from, unsigned int type,
                                    bool is_cleared = false) {
    const unsigned int size = type & ELEMENT_SIZE;
    const size_t all = reinterpret_cast<size_t>(target) | reinterpret_cast<size_t>(source) | 16u;
    const auto move = [=](auto word) {
        using Word = decltype(word);
        const Word moved = static_cast<const Word*>(source)[from];
        static_cast<Word*>(target)[to] = is_cleared ? word : moved;
    };
    if ((size & (size - 1)) != 0 || all & (size - 1)) {  // not a power of two up to 16, or not aligned
        unsigned char* const place = static_cast<unsigned char*>(target) + to * size;
        return copy_element(place, element_at(source, type, from), size, is_cleared);
    }
    switch (size) {
        case 1: return move(static_cast<unsigned char>(0));
        case 2: return move(static_cast<unsigned short>(0));
        case 4: return move(0u);
        case 8: return move(uint2{});
        case 16: return move(uint4{});
    }
}
