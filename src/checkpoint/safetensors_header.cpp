#include "checkpoint/safetensors_header.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/in_quotes.h"
#include "base/math.h"
#include "base/problems.h"
#include "checkpoint/safetensors_dtype.h"
#include "conclave/error.h"
#include "io/json.h"

namespace conclave {
namespace {

constexpr std::size_t kLengthBytes = kSafetensorsLengthBytes;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the reference implementation's bound

const OrderedJson* member(const OrderedJson& object, std::string_view key) {
  const auto at = object.find(std::string(key));
  return at == object.end() ? nullptr : &*at;
}

std::optional<std::int64_t> natural(const OrderedJson& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string shape_words(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kMostShown = 8;
  std::string out = "[";
  for (std::size_t i = 0; i < std::min(shape.size(), kMostShown); ++i) out += (i != 0 ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() > kMostShown ? ", ...]" : "]");
}

// Reads the entries of one header; problems are collected, not thrown.
class HeaderReader {
 public:
  HeaderReader(std::size_t data_start, std::size_t data_bytes) : data_start_(data_start), data_bytes_(data_bytes) {}

  void read(const std::string& name, const OrderedJson& value) {
    SafetensorsTensor tensor;
    tensor.name = name;
    const std::size_t problems_before = problems_.count();
    if (!value.is_object()) return problem(name, "expected an object with dtype, shape and data_offsets");
    read_dtype(value, tensor);
    read_shape(value, tensor);
    read_range(value, tensor);
    if (problems_.count() != problems_before) return;
    check_size(tensor);
    tensors_.push_back(std::move(tensor));
  }

  void check_metadata(const OrderedJson& value) {
    if (value.is_null()) return;
    const auto is_string = [](const OrderedJson& entry) { return entry.is_string(); };
    if (!value.is_object() || !std::all_of(value.begin(), value.end(), is_string))
      problems_.add("'__metadata__' is not an object of strings");
  }

  // Tensors must fill the data from end to end: a gap or an overlap means that something else was meant.
  void check_coverage() {
    std::vector<const SafetensorsTensor*> by_offset;
    by_offset.reserve(tensors_.size());
    for (const SafetensorsTensor& tensor : tensors_) by_offset.push_back(&tensor);
    std::sort(by_offset.begin(), by_offset.end(), [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
      return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
    });
    std::size_t end = data_start_;
    for (const SafetensorsTensor* tensor : by_offset) {
      if (tensor->offset < end)
        problem(tensor->name, fmt::format("overlaps the tensor before it by {} bytes", end - tensor->offset));
      else if (tensor->offset > end)
        problem(tensor->name, fmt::format("{} bytes before it belong to no tensor", tensor->offset - end));
      end = std::max(end, tensor->offset + tensor->bytes);
    }
    if (const std::size_t file_end = data_start_ + data_bytes_; end != file_end)
      problems_.add(fmt::format("the last {} bytes of the file belong to no tensor", file_end - end));
  }

  const Problems& problems() const { return problems_; }
  std::vector<SafetensorsTensor> take() { return std::move(tensors_); }

 private:
  void problem(std::string_view name, std::string_view words) {
    problems_.add(fmt::format("tensor {}: {}", in_quotes(name), words));
  }

  void read_dtype(const OrderedJson& value, SafetensorsTensor& tensor) {
    const OrderedJson* dtype = member(value, "dtype");
    if (dtype == nullptr || !dtype->is_string()) return problem(tensor.name, "expected a string as dtype");
    tensor.dtype = dtype->get_ref<const std::string&>();
  }

  void read_shape(const OrderedJson& value, SafetensorsTensor& tensor) {
    constexpr std::string_view kExpected = "expected a list of numbers from 0 to 2^63-1 as shape";
    const OrderedJson* shape = member(value, "shape");
    if (shape == nullptr || !shape->is_array()) return problem(tensor.name, kExpected);
    tensor.shape.reserve(shape->size());
    for (const OrderedJson& extent : *shape) {
      const auto number = natural(extent);
      if (!number) return problem(tensor.name, kExpected);
      tensor.shape.push_back(*number);
    }
  }

  void read_range(const OrderedJson& value, SafetensorsTensor& tensor) {
    const OrderedJson* range = member(value, "data_offsets");
    if (range == nullptr || !range->is_array() || range->size() != 2 || !(*range)[0].is_number_unsigned() ||
        !(*range)[1].is_number_unsigned())
      return problem(tensor.name, "expected two numbers as data_offsets");
    const auto begin = (*range)[0].get<std::uint64_t>(), end = (*range)[1].get<std::uint64_t>();
    if (begin > end || end > data_bytes_)
      return problem(tensor.name, fmt::format("data_offsets [{}, {}] do not lie in the {} bytes of data", begin, end, data_bytes_));
    tensor.offset = data_start_ + static_cast<std::size_t>(begin);
    tensor.bytes = static_cast<std::size_t>(end - begin);
  }

  void check_size(const SafetensorsTensor& tensor) {
    const SafetensorsDType* dtype = find_safetensors_dtype(tensor.dtype);
    // Zeros are left out of the bound, so that strides over the other dimensions fit as well.
    std::optional<std::int64_t> bound = dtype == nullptr ? 8 : dtype->bits;
    bool none = false;
    for (const std::int64_t extent : tensor.shape) {
      none = none || extent == 0;
      bound = bound ? checked_mul(*bound, std::max<std::int64_t>(extent, 1)) : bound;
    }
    if (!bound) return problem(tensor.name, fmt::format("the size of shape {} does not fit in 63 bits", shape_words(tensor.shape)));
    if (dtype == nullptr) return;
    const auto bits = static_cast<std::uint64_t>(none ? 0 : *bound);
    if (bits % 8 != 0)
      return problem(tensor.name, fmt::format("shape {} of {} does not end at a byte", shape_words(tensor.shape), tensor.dtype));
    if (bits / 8 != tensor.bytes)
      problem(tensor.name, fmt::format("shape {} of {} takes {} bytes, data_offsets hold {}", shape_words(tensor.shape),
                                       tensor.dtype, bits / 8, tensor.bytes));
  }

  std::size_t data_start_;
  std::size_t data_bytes_;
  std::vector<SafetensorsTensor> tensors_;
  Problems problems_;
};

}  // namespace

std::size_t safetensors_head_bytes(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view file_name) {
  if (file_bytes < kLengthBytes || head.size() < kLengthBytes)
    throw Error(Errc::corrupt, fmt::format("{}: {} bytes, expected at least the {} of a safetensors header's length", file_name,
                                           file_bytes, kLengthBytes));
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(head[i]);
  if (length > file_bytes - kLengthBytes || length > kMostHeaderBytes)
    throw Error(Errc::corrupt, fmt::format("{}: the header claims {} bytes, of the file {} follow and {} are allowed; is this a "
                                           "safetensors file, wholly downloaded?",
                                           file_name, length, file_bytes - kLengthBytes, kMostHeaderBytes));
  return kLengthBytes + static_cast<std::size_t>(length);
}

std::vector<SafetensorsTensor> read_safetensors_header(std::span<const std::byte> file, std::string_view file_name) {
  return read_safetensors_header(file, file.size(), file_name);
}

std::vector<SafetensorsTensor> read_safetensors_header(std::span<const std::byte> head, std::uint64_t file_bytes,
                                                       std::string_view file_name) {
  const std::size_t data_start = safetensors_head_bytes(head, file_bytes, file_name);
  if (head.size() < data_start) throw Error(Errc::corrupt, fmt::format("{}: was cut while it was read", file_name));
  const std::string_view text(reinterpret_cast<const char*>(head.data()) + kLengthBytes, data_start - kLengthBytes);
  const JsonLimits limits{.max_bytes = kMostHeaderBytes, .max_depth = 3};
  const OrderedJson header = parse_ordered_json(text, fmt::format("{} (header)", file_name), limits);
  if (!header.is_object()) throw Error(Errc::corrupt, fmt::format("{}: the header is not a JSON object", file_name));

  HeaderReader reader(data_start, static_cast<std::size_t>(file_bytes) - data_start);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__")
      reader.check_metadata(value);
    else
      reader.read(name, value);
  }
  if (reader.problems().empty()) reader.check_coverage();
  reader.problems().throw_if_any(Errc::corrupt, file_name);

  std::vector<SafetensorsTensor> tensors = reader.take();
  std::sort(tensors.begin(), tensors.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) { return a.name < b.name; });
  return tensors;
}

}  // namespace conclave
