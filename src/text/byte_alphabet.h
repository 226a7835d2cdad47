#pragma once
// The alphabet of byte-level BPE (GPT-2's bytes_to_unicode): each byte is written as one printable character, itself
// where it is printable in Latin-1, else U+0100 + n for the n-th byte that is not.
#include <string>
#include <string_view>

namespace conclave {

// Appends each byte of `bytes` as its character.
void append_as_byte_characters(std::string& out, std::string_view bytes);

// The bytes that `token` spells; when any character of it is outside the alphabet, the token's own bytes.
void append_spelled_bytes(std::string& out, std::string_view token);

}  // namespace conclave
