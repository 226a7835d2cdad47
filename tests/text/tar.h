#pragma once
// The files of a tar archive already in memory (POSIX ustar, plain files only).
#include <charconv>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace conclave {

inline std::map<std::string, std::string> read_tar(std::string_view archive) {
  constexpr std::size_t kBlock = 512;
  std::map<std::string, std::string> files;
  for (std::size_t at = 0; at + kBlock <= archive.size() && archive[at] != '\0';) {
    const std::string_view header = archive.substr(at, kBlock);
    const std::string name(header.substr(0, 100).data());
    std::string_view octal = header.substr(124, 11);
    octal.remove_prefix(std::min(octal.find_first_not_of(' '), octal.size()));
    std::size_t size = 0;
    std::from_chars(octal.data(), octal.data() + octal.size(), size, 8);
    at += kBlock;
    if (size > archive.size() - at) throw std::runtime_error("tar: " + name + " is cut short");
    if (header[156] == '0' || header[156] == '\0') files[name.substr(name.find_last_of('/') + 1)] = archive.substr(at, size);
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return files;
}

}  // namespace conclave
