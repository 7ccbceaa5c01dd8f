// A graph on a GPU, built from the files that `warploom export --cpp` has written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"

namespace warploom {

// What a graph is made of: the lines of plan.txt.
struct Place {
    int buffer = -1;
    std::size_t offset = 0;
};

struct Operation {
    std::string kind, node, entry;
    std::vector<std::size_t> after;
    std::size_t scope = 0;             // the body that it lies in; 0 is the graph
    std::vector<std::size_t> bodies;   // of a region
    Place condition;                   // its number instead of a buffer, and the offset of its handle in the block
    std::size_t module = 0;
    std::array<unsigned, 3> grid{}, block{};
    unsigned shared_bytes = 0;
    bool is_counted = false;
    bool is_cooperative = false;
    std::vector<unsigned char> bytes;            // the argument block, with zeros for addresses
    std::vector<std::size_t> offsets;            // of each argument in the block
    std::vector<std::pair<std::size_t, Place>> addresses;  // by offset in the block
    Place target, source;
    std::size_t size_bytes = 0;
    unsigned value = 0, width = 1;  // of a fill: a number, and its bytes
};

struct ParameterPlace {
    std::size_t operation, offset, size_bytes;
    char form;  // as in Python's `struct`; '-' for bytes
};

struct Output {
    std::string name, dtype;  // the element type as in the header of a .npy file
    std::vector<std::size_t> components, shape, strides;
    std::size_t element_bytes, span_bytes;
    Place place;
};

class Graph {
public:
    // Build the graph in `folder` on a GPU. Throws std::runtime_error that says what failed.
    explicit Graph(const std::string& folder, int device = 0);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    // The names of the live parameters.
    std::vector<std::string> parameters() const;
    // Set a live parameter. Throws std::invalid_argument if there is none of this name, or the value does not fit.
    void set(const std::string& name, double value);
    void set(const std::string& name, const std::vector<unsigned char>& bytes);
    // Run one frame, and wait for its end.
    void step();
    // The elements of an output after the last frame, without gaps.
    std::vector<unsigned char> read(const Output& output) const;

    const std::vector<Output>& outputs() const { return outputs_; }
    int usual_frames() const { return usual_frames_; }

private:
    struct Launch {
        KernelNode node{};
        Handle handle = nullptr;
        std::vector<unsigned char> bytes;
        std::vector<void*> pointers;
    };
    struct Variant {
        Handle graph = nullptr, executable = nullptr;
        std::vector<Address> buffers;
        std::map<std::size_t, std::unique_ptr<Launch>> launches;
        std::map<std::size_t, Handle> scopes;
        std::map<int, unsigned long long> conditions;
    };

    void load(const std::string& folder);
    void build(Variant& variant);
    std::unique_ptr<Launch> make_launch(const Operation& operation, Variant& variant) const;
    Handle add_region(const Operation& operation, const std::vector<Handle>& before, Variant& variant) const;
    unsigned long long condition_of(const Operation& operation, Variant& variant) const;
    void write(const ParameterPlace& place, const void* bytes);
    const std::vector<ParameterPlace>& places_of(const std::string& name) const;
    void release();

    Driver driver_;
    int device_ = 0;
    Handle context_ = nullptr, stream_ = nullptr;
    void* uniforms_ = nullptr;
    std::uint32_t frame_ = 0;
    double time_step_s_ = 0;
    int usual_frames_ = 0;
    std::vector<Handle> modules_;
    std::vector<Address> buffers_;
    std::vector<std::pair<std::size_t, std::size_t>> swaps_;
    std::vector<Operation> operations_;
    std::map<std::string, std::vector<ParameterPlace>> parameters_;
    std::vector<Output> outputs_;
    std::vector<Variant> variants_;  // launched in turn: one, or two if buffers change places
};

}  // namespace warploom
