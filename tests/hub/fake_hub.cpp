#include "tests/hub/fake_hub.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "io/json.h"

namespace conclave {
namespace {

namespace fs = std::filesystem;

std::string random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(count, '\0');
  for (char& c : out) c = static_cast<char>(random() & 0xff);
  return out;
}

std::map<std::string, std::string> repository() {
  constexpr char kIndex[] = R"({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}})";
  return {{"config.json", R"({"architectures": ["Tiny"]})"},
          {"generation_config.json", "{}"},
          {"tokenizer.json", R"({"model": {}})"},
          {"tokenizer_config.json", ""},
          {"model.safetensors.index.json", kIndex},
          {"model-00001-of-00002.safetensors", random_bytes(std::size_t{3} << 20, 1)},
          {"model-00002-of-00002.safetensors", random_bytes(70'000, 2)},
          {"pytorch_model.bin", "not wanted"},
          {"README.md", "not wanted"}};
}

// fake_hub.py, started once for all tests of the program; its end of the pipe closes with us.
class Servers {
 public:
  Servers() {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    const std::string script = std::string(CONCLAVE_SOURCE_DIR) + "/tests/hub/fake_hub.py";
    if (::fork() == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execl(CONCLAVE_PYTHON, CONCLAVE_PYTHON, script.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
  }
  int tell(const std::string& command) {
    std::fprintf(to_, "%s\n", command.c_str());
    std::fflush(to_);
    int port = 0;
    if (std::fscanf(from_, "%d", &port) != 1) throw std::runtime_error("fake_hub.py did not run with " CONCLAVE_PYTHON);
    return port;
  }

 private:
  std::FILE *to_, *from_;
};

Servers& servers() {
  static Servers all;
  return all;
}

}  // namespace

FakeHub::FakeHub(const std::string& member, const std::string& value) : files_(repository()) {
  ::setenv("no_proxy", "*", 1);
  fs::create_directory(folder_.path() / "repository");
  for (const auto& [name, bytes] : files_) folder_.write("repository/" + name, bytes);
  Json scenario = {{"root", (folder_.path() / "repository").string()}, {"repo", kRepository}, {"commit", kCommit}};
  scenario[member] = Json::parse(value);
  const std::string path = folder_.write("scenario.json", scenario.dump()).string();
  port_ = servers().tell("start " + path + " " + folder_.write("log", "").string());
}

FakeHub::~FakeHub() { stop(); }

void FakeHub::stop() {
  if (running_) servers().tell("stop " + std::to_string(port_));
  running_ = false;
}

HubOptions FakeHub::options() const {
  HubOptions options;
  options.cache = cache();
  options.endpoint = "http://127.0.0.1:" + std::to_string(port_);
  options.parallel_files = 3;
  options.connect_timeout = std::chrono::seconds(5);
  options.stall_timeout = std::chrono::seconds(5);
  options.attempts = 3;
  options.first_pause = std::chrono::milliseconds(5);
  return options;
}

std::vector<std::string> FakeHub::requests() const {
  std::ifstream log(folder_.path() / "log");
  std::vector<std::string> out;
  for (std::string line; std::getline(log, line);) out.push_back(line);
  return out;
}

int FakeHub::count(std::string_view part) const {
  int found = 0;
  for (const std::string& line : requests()) found += line.find(part) != line.npos ? 1 : 0;
  return found;
}

std::string FakeHub::blob_of(const std::string& file) const { return fs::read_symlink(snapshot() / file).filename().string(); }

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace conclave
