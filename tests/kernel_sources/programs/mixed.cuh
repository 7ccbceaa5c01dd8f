// A header of the program, with host code of its own.
#pragma once
#include <string>

#define SIDE 4
typedef float real;

struct Rule {
    float scale;
    float offset;
};

struct Named {
    int id;
    __device__ int twice() const { return 2 * id; }
    std::string describe() const { return std::to_string(id); }
};

inline std::string name_of(const Named& named) { return named.describe(); }
