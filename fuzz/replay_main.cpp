// Runs a fuzz target without libFuzzer: every file given (or in the folders given), then each of them with one bit of every byte
// flipped and cut short at every length, all deterministic. For ctest and for compilers without libFuzzer.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

std::size_t run_variants(const Bytes& seed) {
  constexpr std::size_t kMostVariants = 2000;  // long seeds are sampled, evenly
  const std::size_t step = seed.size() / kMostVariants + 1;
  std::size_t runs = 1;
  LLVMFuzzerTestOneInput(seed.data(), seed.size());
  for (std::size_t i = 0; i < seed.size(); i += step) {
    Bytes changed = seed;
    changed[i] = static_cast<std::uint8_t>(changed[i] ^ (1u << (i % 8)));
    LLVMFuzzerTestOneInput(changed.data(), changed.size());
    LLVMFuzzerTestOneInput(seed.data(), i);
    runs += 2;
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0, runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      runs += run_variants(read_file(argv[i]));
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      runs += run_variants(read_file(entry.path()));
      ++files;
    }
  }
  std::printf("%zu seeds, %zu runs\n", files, runs);
  return files == 0 ? 1 : 0;  // an empty corpus proves nothing
}
