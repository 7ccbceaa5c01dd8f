// Runs the graph: run [FOLDER] [--frames N] [--device N] [--set NODE.PARAM=VALUE]... [--out FOLDER]
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "graph.hpp"

namespace {

std::string tuple(const std::vector<std::size_t>& shape, const std::vector<std::size_t>& components) {
    std::string text;
    for (const auto* part : {&shape, &components}) {
        for (std::size_t size : *part) text += std::to_string(size) + ",";
    }
    return "(" + text + ")";
}

void save(const std::string& path, const warploom::Output& output, const std::vector<unsigned char>& data) {
    const std::string dtype = output.dtype[0] == '[' ? output.dtype : "'" + output.dtype + "'";
    std::string header = "{'descr': " + dtype + ", 'fortran_order': False, 'shape': ";
    header += tuple(output.shape, output.components) + ", }";
    header.append(64 - (10 + header.size() + 1) % 64, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() & 255);
    file << static_cast<char>(header.size() >> 8) << header;
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    if (!file) {
        throw std::runtime_error("output must be writable: " + path);
    }
}

double number(const std::string& text) {
    std::size_t end = 0;
    double value = 0;
    try {
        value = std::stod(text, &end);
    } catch (const std::logic_error&) {
        end = text.size() + 1;
    }
    if (text.empty() || end != text.size()) {
        throw std::invalid_argument("value must be a number, got " + text);
    }
    return value;
}

constexpr const char* USAGE =
    "usage: run [FOLDER] [--frames N] [--device N] [--set NODE.PARAM=VALUE]... [--out FOLDER]\n\n"
    "Runs the graph of FOLDER on a GPU. Written by `warploom export`.\n\n"
    "FOLDER                  folder with the kernels and buffers, by default this one\n"
    "--frames N              number of frames\n"
    "--device N              number of the GPU\n"
    "--set NODE.PARAM=VALUE  set a live parameter; may be repeated\n"
    "--out FOLDER            folder for the outputs, as .npy files\n";

int run(int count, char** words) {
    std::string folder = ".", out;
    std::vector<std::string> settings;
    int frames = -1, device = 0;
    for (int at = 1; at < count; ++at) {
        const std::string word = words[at];
        if (word == "--help" || word == "-h") {
            std::cout << USAGE;
            return 0;
        }
        if (word.rfind("--", 0) != 0) {
            folder = word;
            continue;
        }
        if (++at == count) {
            throw std::invalid_argument(word + " must have a value");
        }
        if (word == "--frames") frames = static_cast<int>(number(words[at]));
        else if (word == "--device") device = static_cast<int>(number(words[at]));
        else if (word == "--set") settings.push_back(words[at]);
        else if (word == "--out") out = words[at];
        else throw std::invalid_argument("option must be --frames, --device, --set or --out, got " + word);
    }
    warploom::Graph graph(folder, device);
    for (const std::string& setting : settings) {
        const std::size_t at = setting.find('=');
        if (at == std::string::npos) {
            throw std::invalid_argument("--set must be NODE.PARAM=VALUE, got " + setting);
        }
        graph.set(setting.substr(0, at), number(setting.substr(at + 1)));
    }
    for (int frame = 0; frame < (frames < 0 ? graph.usual_frames() : frames); ++frame) {
        graph.step();
    }
    for (const warploom::Output& output : graph.outputs()) {
        std::cout << output.name << ' ' << output.dtype << ' ' << tuple(output.shape, output.components) << '\n';
        if (!out.empty()) {
            std::string name = output.name;
            for (char& letter : name) letter = letter == '/' ? '.' : letter;
            save(out + "/" + name + ".npy", output, graph.read(output));
        }
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& problem) {
        std::cerr << "error: " << problem.what() << '\n';
        return 1;
    }
}
