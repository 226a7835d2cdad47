// How fast the CPU kernels read weights and multiply, on one thread, for every instruction set this processor runs.
//
//   gemm/<isa>/<format>/<place>/tokens:T   bytes_per_second counts a matrix's codes and scales once per run, flops 2 rows cols T
//   tile/<isa>/<format>/...                the same over tiles and 16-bit integers; rounding the activations is not counted
//   read/<place>                           a dot product of two arrays: the bound for one token
//
// memory: 768 x 2048 (the gate of an expert of Qwen3-30B-A3B), one matrix after another from a pool far larger than the caches.
// in_l2: one matrix of 64 x 2048, small enough for the second-level cache.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/cpu_features.h"
#include "kernels/cpu/dispatch.h"

namespace conclave {
namespace {

constexpr std::int64_t kCols = 2048;
constexpr std::size_t kPoolBytes = std::size_t{512} << 20;

struct Format {
  GemmFormat format;
  const char* name;
  std::int64_t code_bits;
  std::int32_t scale_rows, scale_cols;
  std::int64_t scale_bytes;  // each
  bool zeros;
};
constexpr Format kFormats[] = {
    {kGemmF32, "f32", 32, 1, 2048, 0, false},  {kGemmBf16, "bf16", 16, 1, 2048, 0, false}, {kGemmFp8, "fp8", 8, 128, 128, 4, false},
    {kGemmNvfp4, "nvfp4", 4, 1, 16, 1, false}, {kGemmMxfp4, "mxfp4", 4, 1, 32, 1, false},  {kGemmInt4, "int4", 4, 1, 128, 4, true},
};

// A pool of bytes that are valid, finite codes and scales in every format, 0x38 to 0x3b: as float32 about 4e-5, as E4M3 1 to 1.375.
const std::vector<std::uint8_t>& pool() {
  static const std::vector<std::uint8_t> bytes = [] {
    std::minstd_rand random(1);
    std::vector<std::uint8_t> made(kPoolBytes);
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i] = i < 65536 ? static_cast<std::uint8_t>(0x38 + (random() >> 8) % 4) : made[i - 65521];
    }
    return made;
  }();
  return bytes;
}

struct Problem {
  Problem(const Format& f, std::int64_t rows, std::int64_t tokens, bool from_memory)
      : x(static_cast<std::size_t>(tokens * kCols), 0.5f), out(static_cast<std::size_t>(tokens * rows)) {
    const std::int64_t code_bytes = kCols * f.code_bits / 8, blocks = (kCols + f.scale_cols - 1) / f.scale_cols;
    const std::int64_t scale_stride = blocks * f.scale_bytes, scale_rows = (rows + f.scale_rows - 1) / f.scale_rows;
    matrix_bytes = code_bytes * rows + scale_stride * scale_rows * (f.zeros ? 2 : 1);
    matrices = from_memory ? static_cast<std::int64_t>(kPoolBytes) / matrix_bytes : 1;
    const std::uint8_t* bytes = pool().data();
    args.w = {bytes,
              bytes + code_bytes * rows,
              bytes + code_bytes * rows + scale_stride * scale_rows,
              code_bytes,
              scale_stride,
              rows,
              kCols,
              f.scale_rows,
              f.scale_cols,
              1.0f};
    args.x = x.data();
    args.x_stride = kCols;
    args.tokens = tokens;
    args.out = out.data();
    args.out_stride = rows;
    args.row_end = rows;
  }

  GemmArgs at(std::int64_t matrix) const {
    GemmArgs a = args;
    const std::int64_t offset = matrix % matrices * matrix_bytes;
    a.w.codes += offset;
    a.w.scales += offset;
    a.w.zeros += offset;
    return a;
  }

  std::vector<float> x, out;
  std::int64_t matrix_bytes = 0, matrices = 1;
  GemmArgs args{};
};

void gemm(benchmark::State& state, CpuIsa isa, const Format& f, std::int64_t rows, std::int64_t tokens, bool from_memory) {
  const Problem problem(f, rows, tokens, from_memory);
  const GemmKernel kernel = kernel_table(isa).gemm[f.format];
  std::int64_t matrix = 0;
  for (auto _ : state) {
    const GemmArgs args = problem.at(matrix++);
    kernel(&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * problem.matrix_bytes);
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(state.iterations() * 2 * rows * kCols * tokens), benchmark::Counter::kIsRate);
}

struct TileCase {
  TileFormat format;
  const char* name;
  std::int64_t scale_cols, scale_bytes;
};
constexpr TileCase kTileCases[] = {{kTileNvfp4, "nvfp4", 16, 1}, {kTileMxfp4, "mxfp4", 32, 1}, {kTileInt4, "int4", 128, 4}};

void tile(benchmark::State& state, CpuIsa isa, const TileCase& c, std::int64_t rows, std::int64_t tokens, bool from_memory) {
  const KernelTable& table = kernel_table(isa);
  const std::int64_t blocks = kCols / 16, code_bytes = rows * kCols / 2;
  const std::int64_t matrix_bytes = code_bytes + rows * kCols / c.scale_cols * c.scale_bytes;
  const std::int64_t matrices = from_memory ? static_cast<std::int64_t>(kPoolBytes) / matrix_bytes : 1;
  const std::vector<float> row(kCols, 0.5f);
  std::vector<IntBlock> x(static_cast<std::size_t>(tokens * blocks));
  for (std::int64_t t = 0; t < tokens; ++t) table.to_int_blocks(row.data(), kCols, &x[static_cast<std::size_t>(t * blocks)]);
  std::vector<float> out(static_cast<std::size_t>(tokens * rows));
  TileArgs args{
      {nullptr, nullptr, nullptr, rows, kCols, blocks, kCols / c.scale_cols, static_cast<std::int32_t>(c.scale_cols / 16), 1.0f},
      x.data(),
      blocks,
      nullptr,
      tokens,
      out.data(),
      rows,
      0,
      rows};
  const std::uint8_t* const bytes = pool().data();  // made outside the timing
  std::int64_t matrix = 0;
  for (auto _ : state) {
    args.w.codes = bytes + matrix++ % matrices * matrix_bytes;
    args.w.scales = args.w.codes + code_bytes;
    table.tile[c.format](&args);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * matrix_bytes);
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(state.iterations() * 2 * rows * kCols * tokens), benchmark::Counter::kIsRate);
}

// The dot product of the array's halves, by the best kernel there is: two streams of loads and one multiplication a pair.
void read(benchmark::State& state, std::size_t bytes) {
  const auto* floats = reinterpret_cast<const float*>(pool().data());
  const std::size_t half = bytes / sizeof(float) / 2;
  const KernelTable& table = kernel_table(detect_cpu_isa());
  for (auto _ : state) benchmark::DoNotOptimize(table.dot(floats, floats + half, static_cast<std::int64_t>(half)));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

void register_all() {
  benchmark::RegisterBenchmark("read/in_l2", [](benchmark::State& s) { read(s, std::size_t{256} << 10); });
  benchmark::RegisterBenchmark("read/memory", [](benchmark::State& s) { read(s, kPoolBytes); });
  struct Size {
    const char* place;
    std::int64_t rows, tokens;
    bool from_memory;
  };
  constexpr Size kSizes[] = {{"memory", 768, 1, true}, {"in_l2", 64, 1, false}, {"in_l2", 64, 2, false}, {"in_l2", 64, 32, false}};
  for (int level = 0; level <= static_cast<int>(detect_cpu_isa()); ++level) {
    const auto isa = static_cast<CpuIsa>(level);
    for (const Format& f : kFormats) {
      for (const Size& s : kSizes) {
        const std::string name =
            "gemm/" + std::string(to_string(isa)) + "/" + f.name + "/" + s.place + "/tokens:" + std::to_string(s.tokens);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) { gemm(state, isa, f, s.rows, s.tokens, s.from_memory); });
      }
    }
    for (const TileCase& c : kTileCases) {
      for (const Size& s : kSizes) {
        const std::string name =
            "tile/" + std::string(to_string(isa)) + "/" + c.name + "/" + s.place + "/tokens:" + std::to_string(s.tokens);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) { tile(state, isa, c, s.rows, s.tokens, s.from_memory); });
      }
    }
  }
}

}  // namespace
}  // namespace conclave

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  conclave::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
