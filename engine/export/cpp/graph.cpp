#include "graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

namespace warploom {

namespace {

constexpr std::size_t kPieceBytes = std::size_t(1) << 30;  // the driver takes rows of less than 2 GiB

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        found.push_back(part);
    }
    return found;
}

std::vector<std::size_t> numbers(const std::string& text) {
    std::vector<std::size_t> found;
    for (const std::string& part : split(text, ',')) {
        found.push_back(std::stoull(part));
    }
    return found;
}

Place place(const std::string& text) {
    const auto found = numbers(text);
    return {static_cast<int>(found.at(0)), found.at(1)};
}

std::array<unsigned, 3> extent(const std::string& text) {
    const auto found = numbers(text);
    return {unsigned(found.at(0)), unsigned(found.at(1)), unsigned(found.at(2))};
}

std::vector<unsigned char> from_hex(const std::string& text) {
    std::vector<unsigned char> found;
    for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
        found.push_back(static_cast<unsigned char>(std::stoi(text.substr(at, 2), nullptr, 16)));
    }
    return found;
}

std::vector<char> contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("file must be readable: " + path);
    }
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Number>
std::vector<unsigned char> as_bytes(Number number) {
    std::vector<unsigned char> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

template <typename Integer>
std::vector<unsigned char> whole(const std::string& name, double value) {
    const double low = static_cast<double>(std::numeric_limits<Integer>::min());
    const double end = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
    if (!(value >= low && value < end) || value != std::floor(value)) {
        throw std::invalid_argument("value of " + name + " must be a whole number that fits");
    }
    return as_bytes(static_cast<Integer>(value));
}

std::vector<unsigned char> packed(const std::string& name, char form, double value) {
    switch (form) {
        case 'f':
            if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) {
                throw std::invalid_argument("value of " + name + " must fit in 32 bits");
            }
            return as_bytes(static_cast<float>(value));
        case 'd': return as_bytes(value);
        case '?': return as_bytes(static_cast<unsigned char>(value != 0));
        case 'b': return whole<std::int8_t>(name, value);
        case 'B': return whole<std::uint8_t>(name, value);
        case 'h': return whole<std::int16_t>(name, value);
        case 'H': return whole<std::uint16_t>(name, value);
        case 'i': return whole<std::int32_t>(name, value);
        case 'I': return whole<std::uint32_t>(name, value);
        case 'q': return whole<std::int64_t>(name, value);
        case 'Q': return whole<std::uint64_t>(name, value);
        default: throw std::invalid_argument("value of " + name + " must be set as bytes");
    }
}

}  // namespace

Graph::Graph(const std::string& folder, int device) {
    try {
        driver_.check(driver_.init(0), "starting the CUDA driver");
        driver_.check(driver_.device_get(&device_, device), "finding the GPU");
        driver_.check(driver_.context_retain(&context_, device_), "opening the GPU");
        driver_.check(driver_.context_set(context_), "opening the GPU");
        driver_.check(driver_.stream_create(&stream_, 0), "creating a stream");
        driver_.check(driver_.allocate_host(&uniforms_, 16, 0), "allocating the frame uniforms");
        load(folder);
        variants_.resize(swaps_.empty() ? 1 : 2);
        for (std::size_t index = 0; index < variants_.size(); ++index) {
            variants_[index].buffers = buffers_;
            for (const auto& [one, other] : swaps_) {
                variants_[index].buffers[one] = buffers_[index ? other : one];
                variants_[index].buffers[other] = buffers_[index ? one : other];
            }
            build(variants_[index]);
        }
    } catch (...) {
        release();
        throw;
    }
}

Graph::~Graph() { release(); }

void Graph::release() {
    for (Variant& variant : variants_) {
        if (variant.executable != nullptr) driver_.executable_destroy(variant.executable);
        if (variant.graph != nullptr) driver_.graph_destroy(variant.graph);
    }
    for (Address buffer : buffers_) driver_.free(buffer);
    for (Handle module : modules_) driver_.module_unload(module);
    if (uniforms_ != nullptr) driver_.free_host(uniforms_);
    if (stream_ != nullptr) driver_.stream_destroy(stream_);
    if (context_ != nullptr) driver_.context_release(device_);
}

void Graph::load(const std::string& folder) {
    std::ifstream file(folder + "/plan.txt");
    if (!file) {
        throw std::runtime_error("plan must be readable: " + folder + "/plan.txt");
    }
    for (std::string line; std::getline(file, line);) {
        std::vector<std::string> part = split(line, '\t');
        part.resize(14);
        const std::string& kind = part[0];
        if (kind == "graph") {
            time_step_s_ = std::stod(part[1]);
            usual_frames_ = std::stoi(part[2]);
        } else if (kind == "module") {  // a CUBIN if this GPU takes it, and otherwise PTX, which the driver compiles
            Handle module = nullptr;
            const bool is_loaded =
                part[2] != "-" && driver_.module_load(&module, contents(folder + "/" + part[2]).data()) == 0;
            if (!is_loaded) {
                std::vector<char> ptx = contents(folder + "/" + part[1]);
                ptx.push_back(0);
                driver_.check(driver_.module_load(&module, ptx.data()), "loading " + part[1]);
            }
            modules_.push_back(module);
        } else if (kind == "buffer") {
            const std::size_t size = std::max<std::size_t>(1, std::stoull(part[1]));
            Address address = 0;
            driver_.check(driver_.allocate(&address, size), "allocating " + part[1] + " bytes");
            buffers_.push_back(address);
            driver_.check(driver_.fill(address, 0, size), "clearing memory");
            if (part[2] != "-") {
                const std::vector<char> data = contents(folder + "/" + part[2]);
                driver_.check(driver_.upload(address, data.data(), data.size()), "uploading " + part[2]);
            }
        } else if (kind == "swap") {
            swaps_.emplace_back(std::stoull(part[1]), std::stoull(part[2]));
        } else if (kind == "parameter") {
            parameters_[part[1]].push_back(
                {std::stoull(part[2]), std::stoull(part[3]), std::stoull(part[4]), part[5].at(0)});
        } else if (kind == "output") {
            outputs_.push_back({part[1], part[2], numbers(part[3]), numbers(part[4]), numbers(part[5]),
                                std::stoull(part[6]), std::stoull(part[7]), place(part[8])});
        } else {
            Operation made;
            made.kind = kind;
            made.node = part[1];
            made.after = numbers(part[2]);
            made.scope = std::stoull(part[3]);
            if (kind == "kernel") {
                made.module = std::stoull(part[4]);
                made.entry = part[5];
                made.grid = extent(part[6]);
                made.block = extent(part[7]);
                made.shared_bytes = static_cast<unsigned>(std::stoul(part[8]));
                made.is_counted = part[9] == "1";
                made.is_cooperative = part[10] == "1";
                made.bytes = from_hex(part[11]);
                made.offsets = numbers(part[12]);
                for (const std::string& text : split(part[13], ' ')) {
                    const auto found = numbers(text);
                    made.addresses.push_back({found.at(0), {static_cast<int>(found.at(1)), found.at(2)}});
                }
                made.condition = place(part[14]);
            } else if (kind == "if" || kind == "switch" || kind == "while") {
                made.bodies = numbers(part[4]);
                made.condition = place(part[5]);
            } else if (kind != "nothing") {
                made.target = place(part[4]);
                made.size_bytes = std::stoull(part[5]);
                if (kind == "fill") {
                    made.value = static_cast<unsigned>(std::stoul(part[6]));
                    made.width = static_cast<unsigned>(std::stoul(part[7]));
                }
                if (kind == "copy") made.source = place(part[6]);
            }
            operations_.push_back(std::move(made));
        }
    }
}

void Graph::build(Variant& variant) {
    driver_.check(driver_.graph_create(&variant.graph, 0), "creating a graph");
    variant.scopes[0] = variant.graph;
    std::vector<std::vector<Handle>> nodes;
    const auto address = [&](const Place& at) { return variant.buffers.at(at.buffer) + at.offset; };
    for (std::size_t index = 0; index < operations_.size(); ++index) {
        const Operation& made = operations_[index];
        const std::string what = "adding " + made.kind + " of " + made.node;
        std::vector<Handle> before, added;
        for (std::size_t other : made.after) {
            before.insert(before.end(), nodes.at(other).begin(), nodes.at(other).end());
        }
        const Handle graph = variant.scopes.at(made.scope);
        Handle node = nullptr;
        if (made.kind == "kernel") {
            auto launch = make_launch(made, variant);
            driver_.check(driver_.add_kernel(&node, graph, before.data(), before.size(), &launch->node), what);
            if (made.is_cooperative) {
                const int value[16] = {1};  // CUlaunchAttributeValue
                driver_.check(driver_.set_attribute(node, kCooperative, value), what);
            }
            launch->handle = node;
            variant.launches[index] = std::move(launch);
            added.push_back(node);
        } else if (made.kind == "nothing") {
            driver_.check(driver_.add_empty(&node, graph, before.data(), before.size()), what);
            added.push_back(node);
        } else if (!made.bodies.empty()) {
            added.push_back(add_region(made, before, variant));
        }
        for (std::size_t start = 0; start < made.size_bytes; start += kPieceBytes) {
            const std::size_t length = std::min(kPieceBytes, made.size_bytes - start);
            if (made.kind == "fill") {
                const FillNode fill{address(made.target) + start, length, made.value, made.width, length / made.width, 1};
                const int result =
                    driver_.add_fill(&node, graph, before.data(), before.size(), &fill, context_);
                driver_.check(result, what);
            } else {
                CopyNode copy{};
                copy.target_type = kDeviceMemory;
                copy.target = address(made.target) + start;
                if (made.kind == "frame") {
                    copy.source_type = kHostMemory;
                    copy.source_host = uniforms_;
                } else {
                    copy.source_type = kDeviceMemory;
                    copy.source = address(made.source) + start;
                }
                copy.source_pitch = copy.target_pitch = copy.width = length;
                copy.source_height = copy.target_height = copy.height = copy.depth = 1;
                const int result =
                    driver_.add_copy(&node, graph, before.data(), before.size(), &copy, context_);
                driver_.check(result, what);
            }
            added.push_back(node);
        }
        nodes.push_back(added.empty() ? before : added);
    }
    driver_.check(driver_.instantiate(&variant.executable, variant.graph, 0), "instantiating the graph");
}

Handle Graph::add_region(const Operation& made, const std::vector<Handle>& before, Variant& variant) const {
    ConditionalNode given{};
    given.type = kConditional;
    given.condition = condition_of(made, variant);
    given.kind = made.kind == "while" ? kWhile : made.kind == "switch" ? kSwitch : kIf;
    given.count = static_cast<unsigned>(made.bodies.size());
    given.context = context_;
    Handle node = nullptr;
    const Handle graph = variant.scopes.at(made.scope);
    const int result = driver_.add_node(&node, graph, before.data(), nullptr, before.size(), &given);
    driver_.check(result, "adding " + made.kind + " of " + made.node);
    for (std::size_t index = 0; index < made.bodies.size(); ++index) {
        variant.scopes[made.bodies[index]] = given.bodies[index];
    }
    return node;
}

// The handle of a condition, which each launch sets to 0. It is made for the first kernel that sets it.
unsigned long long Graph::condition_of(const Operation& made, Variant& variant) const {
    const auto [found, is_new] = variant.conditions.try_emplace(made.condition.buffer, 0);
    if (is_new) {
        const Handle graph = variant.scopes.at(made.scope);
        const int result = driver_.create_condition(&found->second, graph, context_, 0, kAssignDefault);
        driver_.check(result, "making the condition of " + made.node);
    }
    return found->second;
}

std::unique_ptr<Graph::Launch> Graph::make_launch(const Operation& made, Variant& variant) const {
    auto launch = std::make_unique<Launch>();
    launch->bytes = made.bytes;
    for (const auto& [offset, at] : made.addresses) {
        const Address address = variant.buffers.at(at.buffer) + at.offset;
        std::memcpy(launch->bytes.data() + offset, &address, sizeof address);
    }
    if (made.condition.buffer >= 0) {
        const unsigned long long condition = condition_of(made, variant);
        std::memcpy(launch->bytes.data() + made.condition.offset, &condition, sizeof condition);
    }
    for (std::size_t offset : made.offsets) {
        launch->pointers.push_back(launch->bytes.data() + offset);
    }
    KernelNode& node = launch->node;
    const int found = driver_.module_function(&node.function, modules_.at(made.module), made.entry.c_str());
    driver_.check(found, "finding kernel " + made.entry);
    std::copy(made.grid.begin(), made.grid.end(), node.grid);
    std::copy(made.block.begin(), made.block.end(), node.block);
    node.shared_bytes = made.shared_bytes;
    if (made.shared_bytes > 48u << 10) {
        const int size = static_cast<int>(made.shared_bytes);
        driver_.check(driver_.function_set(node.function, kSharedLimit, size), "reserving shared memory");
    }
    if (made.is_counted || made.is_cooperative) {
        const int threads = static_cast<int>(made.block[0] * made.block[1] * made.block[2]);
        int cores = 0, at_once = 0;
        driver_.check(driver_.device_attribute(&cores, kMultiprocessors, device_), "asking for multiprocessors");
        const int result = driver_.occupancy(&at_once, node.function, threads, made.shared_bytes);
        driver_.check(result, "asking for the occupancy");
        const unsigned most = static_cast<unsigned>(cores * at_once);
        if (made.is_counted) {  // the kernel loops over its grid
            node.grid[0] = std::min(node.grid[0], std::max(1u, most));
        }
        const unsigned long long blocks = 1ull * node.grid[0] * node.grid[1] * node.grid[2];
        if (made.is_cooperative && blocks > most) {
            throw std::runtime_error("grid of kernel " + made.entry + " must have at most " + std::to_string(most) +
                                     " thread blocks on this GPU, since they wait for each other, got " +
                                     std::to_string(blocks));
        }
    }
    node.arguments = launch->pointers.data();
    return launch;
}

std::vector<std::string> Graph::parameters() const {
    std::vector<std::string> found;
    for (const auto& item : parameters_) {
        found.push_back(item.first);
    }
    return found;
}

const std::vector<ParameterPlace>& Graph::places_of(const std::string& name) const {
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) {
        std::string known;
        for (const std::string& each : parameters()) {
            known += (known.empty() ? "" : ", ") + each;
        }
        throw std::invalid_argument("parameter must be one of " + known + ", got " + name);
    }
    return found->second;
}

void Graph::set(const std::string& name, double value) {
    std::vector<std::vector<unsigned char>> given;
    for (const ParameterPlace& each : places_of(name)) {
        given.push_back(packed(name, each.form, value));
    }
    for (std::size_t index = 0; index < given.size(); ++index) {
        write(places_of(name)[index], given[index].data());
    }
}

void Graph::set(const std::string& name, const std::vector<unsigned char>& bytes) {
    for (const ParameterPlace& each : places_of(name)) {
        if (each.size_bytes != bytes.size()) {
            throw std::invalid_argument("value of " + name + " must be " + std::to_string(each.size_bytes) + " bytes");
        }
    }
    for (const ParameterPlace& each : places_of(name)) {
        write(each, bytes.data());
    }
}

void Graph::write(const ParameterPlace& at, const void* bytes) {
    for (Variant& variant : variants_) {
        Launch& launch = *variant.launches.at(at.operation);
        std::memcpy(launch.bytes.data() + at.offset, bytes, at.size_bytes);
        driver_.check(driver_.set_kernel(variant.executable, launch.handle, &launch.node), "setting a parameter");
    }
}

void Graph::step() {
    const float times[2] = {static_cast<float>(frame_ * time_step_s_), static_cast<float>(time_step_s_)};
    std::memset(uniforms_, 0, 16);
    std::memcpy(uniforms_, &frame_, sizeof frame_);
    std::memcpy(static_cast<char*>(uniforms_) + 4, times, sizeof times);
    const Variant& variant = variants_[frame_ % variants_.size()];
    driver_.check(driver_.launch(variant.executable, stream_), "launching the graph");
    driver_.check(driver_.stream_synchronize(stream_), "frame " + std::to_string(frame_));
    ++frame_;
}

std::vector<unsigned char> Graph::read(const Output& output) const {
    const Variant& variant = variants_[(frame_ == 0 ? 0 : frame_ - 1) % variants_.size()];
    std::vector<unsigned char> span(output.span_bytes);
    const Address address = variant.buffers.at(output.place.buffer) + output.place.offset;
    driver_.check(driver_.download(span.data(), address, span.size()), "reading " + output.name);
    std::size_t count = 1;
    for (std::size_t size : output.shape) count *= size;
    std::vector<unsigned char> dense(count * output.element_bytes);
    for (std::size_t index = 0; index < count; ++index) {
        std::size_t rest = index, from = 0;
        for (std::size_t axis = output.shape.size(); axis-- > 0;) {
            from += rest % output.shape[axis] * output.strides[axis];
            rest /= output.shape[axis];
        }
        std::memcpy(&dense[index * output.element_bytes], &span[from * output.element_bytes], output.element_bytes);
    }
    return dense;
}

}  // namespace warploom
