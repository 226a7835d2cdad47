#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/format.h"

namespace conclave::jinja {
namespace {

std::string grouped(const std::string& digits, char separator, std::size_t every) {
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

}  // namespace

std::string format_whole(Int magnitude, const NumberStyle& style) {
  std::string digits, prefix;
  switch (style.type) {
    case 'x': digits = fmt::format("{:x}", magnitude), prefix = "0x"; break;
    case 'X': digits = fmt::format("{:X}", magnitude), prefix = "0X"; break;
    case 'o': digits = fmt::format("{:o}", magnitude), prefix = "0o"; break;
    case 'b': digits = fmt::format("{:b}", magnitude), prefix = "0b"; break;
    default: digits = fmt::format("{}", magnitude); break;
  }
  if (style.precision > static_cast<int>(digits.size()))
    digits.insert(0, static_cast<std::size_t>(style.precision) - digits.size(), '0');
  if (style.grouping != 0) digits = grouped(digits, style.grouping, prefix.empty() ? 3 : 4);
  return style.alternate ? prefix + digits : digits;
}

std::string format_real(double magnitude, const NumberStyle& style) {
  const bool capital = style.type == 'E' || style.type == 'F' || style.type == 'G';
  if (!std::isfinite(magnitude)) {
    const char* words = std::isnan(magnitude) ? (capital ? "NAN" : "nan") : (capital ? "INF" : "inf");
    return style.type == '%' ? std::string(words) + "%" : words;
  }
  const int precision = style.precision < 0 ? 6 : style.precision;
  const double shown = style.type == '%' ? magnitude * 100 : magnitude;
  std::string out;
  switch (style.type) {
    case 'e':
    case 'E': out = style.alternate ? fmt::format("{:#.{}e}", shown, precision) : fmt::format("{:.{}e}", shown, precision); break;
    case 'g':
    case 'G': {
      const int digits = std::max(precision, 1);
      out = style.alternate ? fmt::format("{:#.{}g}", shown, digits) : fmt::format("{:.{}g}", shown, digits);
      break;
    }
    default: out = style.alternate ? fmt::format("{:#.{}f}", shown, precision) : fmt::format("{:.{}f}", shown, precision); break;
  }
  if (capital) std::transform(out.begin(), out.end(), out.begin(), [](char c) { return c == 'e' ? 'E' : c; });
  if (style.grouping != 0) {
    const std::size_t whole = std::min(out.find_first_not_of("0123456789"), out.size());
    out = grouped(out.substr(0, whole), style.grouping, 3) + out.substr(whole);
  }
  return style.type == '%' ? out + "%" : out;
}

}  // namespace conclave::jinja
