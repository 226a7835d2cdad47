#include "kernels/cpu/dispatch.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/check.h"

namespace conclave {

namespace scalar {
extern const KernelTable kTable;
}
#ifdef CONCLAVE_KERNELS_X86
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx512 {
extern const KernelTable kTable;
}
#endif

namespace {

// One function pointer of a table, by name.
struct Entry {
  const char* name;
  bool (*present)(const KernelTable&);
  void (*copy)(const KernelTable& from, KernelTable& to);
};

template <auto KernelTable::*Member>
constexpr Entry entry(const char* name) {
  return {name, [](const KernelTable& t) { return t.*Member != nullptr; },
          [](const KernelTable& from, KernelTable& to) { to.*Member = from.*Member; }};
}

template <GemmFormat Format>
constexpr Entry gemm_entry(const char* name) {
  return {name, [](const KernelTable& t) { return t.gemm[Format] != nullptr; },
          [](const KernelTable& from, KernelTable& to) { to.gemm[Format] = from.gemm[Format]; }};
}

template <TileFormat Format>
constexpr Entry tile_entry(const char* name) {
  return {name, [](const KernelTable& t) { return t.tile[Format] != nullptr; },
          [](const KernelTable& from, KernelTable& to) { to.tile[Format] = from.tile[Format]; }};
}

constexpr Entry kEntries[] = {
    gemm_entry<kGemmF32>("gemm_f32"),
    gemm_entry<kGemmBf16>("gemm_bf16"),
    gemm_entry<kGemmFp8>("gemm_fp8"),
    gemm_entry<kGemmNvfp4>("gemm_nvfp4"),
    gemm_entry<kGemmMxfp4>("gemm_mxfp4"),
    gemm_entry<kGemmInt4>("gemm_int4"),
    tile_entry<kTileNvfp4>("tile_nvfp4"),
    tile_entry<kTileMxfp4>("tile_mxfp4"),
    tile_entry<kTileInt4>("tile_int4"),
    entry<&KernelTable::to_int_blocks>("to_int_blocks"),
    entry<&KernelTable::dot>("dot"),
    entry<&KernelTable::dot_bf16>("dot_bf16"),
    entry<&KernelTable::axpy>("axpy"),
    entry<&KernelTable::axpy_bf16>("axpy_bf16"),
    entry<&KernelTable::to_bf16>("to_bf16"),
    entry<&KernelTable::rms_norm>("rms_norm"),
    entry<&KernelTable::silu_mul>("silu_mul"),
    entry<&KernelTable::exp_sum>("exp_sum"),
    entry<&KernelTable::scan_step>("scan_step"),
    entry<&KernelTable::read_streams>("read_streams"),
    entry<&KernelTable::multiply_adds>("multiply_adds"),
    entry<&KernelTable::byte_products>("byte_products"),
};
static_assert(sizeof(KernelTable) == sizeof(const char*) + std::size(kEntries) * sizeof(GemmKernel), "an entry has no name here");

// What each set offers by itself, lowest first; only the first is complete by contract.
constexpr const KernelTable* kOffered[] = {
    &scalar::kTable,
#ifdef CONCLAVE_KERNELS_X86
    &avx2::kTable,
    &avx512::kTable,
#endif
};

// The highest table up to `isa` that has the entry.
const KernelTable& origin(const Entry& e, CpuIsa isa) {
  auto level = std::min(static_cast<std::size_t>(isa), std::size(kOffered) - 1);
  while (level > 0 && !e.present(*kOffered[level])) --level;
  return *kOffered[level];
}

KernelTable completed(CpuIsa isa) {
  KernelTable table{};
  table.isa = to_string(isa).data();
  for (const Entry& e : kEntries) e.copy(origin(e, isa), table);
  return table;
}

}  // namespace

const KernelTable& kernel_table(CpuIsa isa) noexcept {
  static const KernelTable tables[] = {completed(CpuIsa::scalar), completed(CpuIsa::avx2), completed(CpuIsa::avx512)};
  return tables[static_cast<int>(isa)];
}

std::vector<std::pair<std::string, std::string>> kernel_origins(CpuIsa isa) {
  std::vector<std::pair<std::string, std::string>> origins;
  for (const Entry& e : kEntries) origins.emplace_back(e.name, origin(e, isa).isa);
  return origins;
}

std::string tile_kernels_isa(CpuIsa isa) {
  const auto origins = kernel_origins(isa);
  const auto found = std::ranges::find(origins, "tile_nvfp4", [](const auto& origin) { return origin.first; });
  CONCLAVE_CHECK(found != origins.end());
  return found->second;
}

}  // namespace conclave
