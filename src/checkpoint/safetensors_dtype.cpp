#include "checkpoint/safetensors_dtype.h"

#include "base/check.h"

namespace conclave {
namespace {

// In the order of the reference implementation's enumeration, which is the order of alignment.
constexpr SafetensorsDType kTypes[] = {{"BOOL", 8, DType::boolean},
                                       {"F4", 4, std::nullopt},
                                       {"F6_E2M3", 6, std::nullopt},
                                       {"F6_E3M2", 6, std::nullopt},
                                       {"U8", 8, DType::u8},
                                       {"I8", 8, DType::i8},
                                       {"F8_E5M2", 8, DType::f8e5m2},
                                       {"F8_E4M3", 8, DType::f8e4m3},
                                       {"F8_E8M0", 8, DType::f8e8m0},
                                       {"F8_E4M3FNUZ", 8, std::nullopt},
                                       {"F8_E5M2FNUZ", 8, std::nullopt},
                                       {"I16", 16, DType::i16},
                                       {"U16", 16, DType::u16},
                                       {"F16", 16, DType::f16},
                                       {"BF16", 16, DType::bf16},
                                       {"I32", 32, DType::i32},
                                       {"U32", 32, DType::u32},
                                       {"F32", 32, DType::f32},
                                       {"C64", 64, std::nullopt},
                                       {"F64", 64, DType::f64},
                                       {"I64", 64, DType::i64},
                                       {"U64", 64, DType::u64}};

int position_of(DType dtype) noexcept {
  int position = 0;
  for (const SafetensorsDType& type : kTypes) {
    if (type.held == dtype) return position;
    ++position;
  }
  CONCLAVE_CHECK(false, std::string(to_string(dtype)));
}

}  // namespace

const SafetensorsDType* find_safetensors_dtype(std::string_view name) noexcept {
  for (const SafetensorsDType& type : kTypes)
    if (type.name == name) return &type;
  return nullptr;
}

std::string_view safetensors_name(DType dtype) noexcept { return kTypes[position_of(dtype)].name; }

int safetensors_layout_order(DType dtype) noexcept { return position_of(dtype); }

}  // namespace conclave
