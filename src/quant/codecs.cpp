#include <fmt/format.h>

#include "conclave/error.h"
#include "quant/codec.h"

namespace conclave {

#define CONCLAVE_CODEC(name) const Codec& name##_codec();
#include "quant/codecs.def"
#undef CONCLAVE_CODEC

std::span<const Codec* const> all_codecs() {
  static const Codec* const kAll[] = {
#define CONCLAVE_CODEC(name) &name##_codec(),
#include "quant/codecs.def"
#undef CONCLAVE_CODEC
  };
  return kAll;
}

const Codec& codec_for(const QuantScheme& scheme) {
  std::string known;
  for (const Codec* codec : all_codecs()) {
    if (codec->handles(scheme)) return *codec;
    known += (known.empty() ? "" : ", ") + std::string(codec->name());
  }
  throw Error(Errc::unsupported, fmt::format("no format of this build stores '{}' (its formats: {})", to_string(scheme), known));
}

}  // namespace conclave
