#include "text/jinja/value.h"

#include <algorithm>

#include "text/jinja/compare.h"
#include "text/jinja/runtime.h"

namespace conclave::jinja {

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::none: return true;
    case Kind::boolean: return boolean() == other.boolean();
    case Kind::integer: return integer() == other.integer();
    case Kind::real: return real() == other.real();
    case Kind::text: return &text() == &other.text() || (text().utf8 == other.text().utf8 && text().length <= 1);
    case Kind::sequence: return &sequence() == &other.sequence();
    case Kind::mapping: return &mapping() == &other.mapping();
    case Kind::object: return &object() == &other.object();
    case Kind::missing: return &missing() == &other.missing();
  }
  return false;
}

int Value::depth() const {
  if (is(Kind::sequence)) return sequence().depth;
  if (is(Kind::mapping)) return mapping().depth;
  return is(Kind::object) ? object().depth() : 0;
}

namespace {

template <class Matches>
const Value* find_hashed(const Mapping& mapping, std::size_t hash, const Matches& matches) {
  auto at = std::lower_bound(mapping.index.begin(), mapping.index.end(), std::pair(hash, std::uint32_t{0}));
  for (; at != mapping.index.end() && at->first == hash; ++at) {
    const Entry& entry = mapping.entries[at->second];
    if (matches(entry.first)) return &entry.second;
  }
  return nullptr;
}

}  // namespace

const Value* Mapping::find(std::string_view key) const {
  return find_hashed(*this, hash_text(key), [&](const Value& k) { return k.is(Kind::text) && k.text().utf8 == key; });
}

const Value* Mapping::find(Runtime& rt, const Value& key) const {
  return find_hashed(*this, hash_value(rt, key), [&](const Value& k) { return equal(rt, k, key); });
}

}  // namespace conclave::jinja
