// Functions every template can call. namespace() is the interpreter's (interpreter.cpp): it keeps a list of them.
#include <fmt/format.h>

#include <chrono>

#include "conclave/error.h"
#include "text/jinja/access.h"
#include "text/jinja/objects.h"
#include "text/jinja/show.h"

namespace conclave::jinja {
namespace {

constexpr Int kMostRange = 100000;  // jinja2.sandbox.MAX_RANGE

Value range(Runtime& rt, const Value&, const Given& given) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (given.has(i) && given[i].is(Kind::missing)) rt.fail(given[i].missing().words);
  }
  const Int start = given.has(1) ? given.whole(0, 0) : Int{0};
  const Int stop = given.has(1) ? given.whole(1, 0) : given.whole(0, 0);
  const Int step = given.whole(2, 1);
  if (step == 0) rt.fail("range() arg 3 must not be zero");
  for (const Int bound : {start, stop, step}) {
    if (bound < -(Int{1} << 62) || bound > (Int{1} << 62)) rt.fail("range() arguments are too large");
  }
  const Int distance = step > 0 ? stop - start : start - stop, width = step > 0 ? step : -step;
  const Int count = distance <= 0 ? Int{0} : (distance + width - 1) / width;
  if (count > kMostRange) rt.fail(fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMostRange));
  const std::string shown =
      step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
  return Value(std::shared_ptr<Object>(rt.object<Range>(start, step, static_cast<std::size_t>(count), shown)));
}

Value dict(Runtime& rt, const Value&, const Given& given) {
  std::vector<Entry> entries;
  for (const Value& source : given.all().values) {
    if (source.is(Kind::mapping)) {
      entries = source.mapping().entries;
      continue;
    }
    for (const Value& pair : to_values(rt, source)) {
      Values two = to_values(rt, pair);
      if (two.size() != 2) rt.fail("dict() wants pairs");
      entries.emplace_back(std::move(two[0]), std::move(two[1]));
    }
  }
  if (given.all().values.size() > 1) rt.fail("dict expected at most 1 argument");
  for (const auto& [name, value] : given.all().named) entries.emplace_back(rt.text(name), value);
  return rt.dict(std::move(entries));
}

Value raise_exception(Runtime& rt, const Value&, const Given& given) {
  throw Error(Errc::bad_input, to_text(rt, given[0]).text().utf8);
}

// %f is Python's own; %z and %Z are empty for a time without a zone. The rest is the C library's.
std::string time_format(std::string_view format) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char next = format[i] == '%' && i + 1 < format.size() ? format[i + 1] : '\0';
    if (next == 0) {
      out += format[i];
      continue;
    }
    ++i;
    if (next == 'f')
      out += "000000";
    else if (next != 'z' && next != 'Z')
      out.append({'%', next});
  }
  return out;
}

Value strftime_now(Runtime& rt, const Value&, const Given& given) {
  constexpr std::size_t kMostFormat = 1000, kMostTime = 8000;
  std::tm now{};
  if (rt.options().now) {
    now = *rt.options().now;
  } else {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    localtime_r(&seconds, &now);
  }
  const std::string_view wanted = given.text(0, "");
  if (wanted.find('\0') != std::string_view::npos) rt.fail("strftime_now: embedded null character");
  if (wanted.size() > kMostFormat) rt.fail(fmt::format("strftime_now: a format of more than {} bytes", kMostFormat));
  const std::string format = time_format(wanted) + '.';  // never empty, so that 0 means too long
  std::string out(kMostTime, '\0');
  const std::size_t size = std::strftime(out.data(), out.size(), format.c_str(), &now);
  if (size == 0) rt.fail(fmt::format("strftime_now: a time of more than {} bytes", kMostTime));
  return rt.text(out.substr(0, size - 1));
}

// cycler(a, b, ...): next() goes round, reset() starts again, current is where it stands.
class Cycler final : public Object {
 public:
  explicit Cycler(Value items) : items_(std::move(items)) {}
  std::string type_name() const override { return "jinja2.utils.Cycler"; }
  int depth() const override { return items_.depth() + 1; }
  std::optional<Value> attribute(Runtime& rt, const Value& self, std::string_view name) override {
    if (name == "current") return items_.sequence().items[at_];
    if (name != "next" && name != "reset") return std::nullopt;
    const bool forward = name == "next";
    return Value(std::shared_ptr<Object>(rt.object<Function>(
        "method", [self, this, forward](Runtime&, const Args&) { return forward ? step() : (at_ = 0, Value()); }, depth() + 1)));
  }

 private:
  Value step() {
    const Values& items = items_.sequence().items;
    Value current = items[at_];
    at_ = (at_ + 1) % items.size();
    return current;
  }

  Value items_;
  std::size_t at_ = 0;
};

Value cycler(Runtime& rt, const Value&, const Given& given) {
  if (given.all().values.empty()) rt.fail("at least one item has to be provided");
  return Value(std::shared_ptr<Object>(rt.object<Cycler>(rt.tuple(given.all().values))));
}

// joiner(separator): nothing at the first call, then the separator.
Value joiner(Runtime& rt, const Value&, const Given& given) {
  const Value separator = given.has(0) ? given[0] : rt.text(", ");
  return Value(std::shared_ptr<Object>(rt.object<Function>(
      "jinja2.utils.Joiner",
      [separator, used = false](Runtime& runtime, const Args&) mutable {
        return std::exchange(used, true) ? separator : runtime.text("");
      },
      separator.depth() + 1)));
}

Value lipsum(Runtime& rt, const Value&, const Given&) { rt.fail("lipsum makes random text; a prompt must not depend on chance"); }

constexpr std::array kGlobals = {
    Builtin{"cycler", "*", 0, cycler},
    Builtin{"dict", "*", 0, dict},
    Builtin{"joiner", "sep", 0, joiner},
    Builtin{"lipsum", "*", 0, lipsum},
    Builtin{"raise_exception", "message", 1, raise_exception},
    Builtin{"range", "start stop step", 1, range},
    Builtin{"strftime_now", "format", 1, strftime_now},
};

}  // namespace

std::span<const Builtin> globals() { return kGlobals; }

}  // namespace conclave::jinja
