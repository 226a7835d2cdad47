#include "models/preparation.h"

#include <algorithm>
#include <atomic>

#include "device/for_each_throwing.h"
#include "io/mapped_file.h"
#include "quant/scales.h"

namespace conclave {
namespace {

using Bytes = std::span<const std::byte>;

// Large enough to be read in one go, small enough that threads share one large matrix and that progress is seen.
constexpr std::size_t kPiece = std::size_t{16} << 20;

// From the first to the last element of a view.
Bytes extent_of(const ConstTensorView& view) {
  if (!view || view.shape.elements() == 0) return {};
  std::int64_t last = 0;
  for (int i = 0; i < view.shape.rank(); ++i) last += (view.shape[i] - 1) * view.stride[static_cast<std::size_t>(i)];
  return {view.data, static_cast<std::size_t>((last + 1) * size_of(view.dtype))};
}

std::int64_t bytes_of(const ConstTensorView& view) { return view ? view.bytes() : 0; }

// The scales of one matrix to be checked, or other bytes to be read.
struct Piece {
  Bytes bytes;
  std::int64_t counted;  // less than its bytes where those of other matrices lie between
  const QuantMatrix* scales = nullptr;
};

void add_pieces(const ConstTensorView& view, std::vector<Piece>& pieces) {
  const Bytes all = extent_of(view);
  if (std::cmp_not_equal(all.size(), bytes_of(view))) return pieces.push_back({all, bytes_of(view)});
  for (std::size_t at = 0; at < all.size(); at += kPiece) {
    const Bytes piece = all.subspan(at, std::min(kPiece, all.size() - at));
    pieces.push_back({piece, std::ssize(piece)});
  }
}

}  // namespace

class Preparation::Run {
 public:
  Run(std::vector<Step>& steps, const Work& work, std::vector<std::string>& problems)
      : steps_(steps), work_(work), problems_(problems) {
    for (const Step& step : steps)
      for (const Piece& piece : pieces_of(step)) total_ += piece.counted;
  }

  void operator()() {
    tell();
    for (Step& step : steps_) {
      read(step);
      if (making()) make(step);
      step = {};
    }
  }

 private:
  bool making() const { return problems_.empty() && !work_.scales_only; }

  std::vector<Piece> pieces_of(const Step& step) const {
    std::vector<Piece> pieces;
    const auto add = [&](const QuantMatrix& m) {
      if (m.scales) pieces.push_back({{}, m.scales.bytes(), &m});
      if (!making()) return;
      add_pieces(m.codes, pieces);
      add_pieces(m.zeros, pieces);
    };
    each_matrix(step, add);
    return pieces;
  }

  template <class Use>
  static void each_matrix(const Step& step, const Use& use) {
    for (const Matrix& m : step.matrices) use(m.weights);
    for (const Experts& layer : step.experts)
      for (const moe::Expert& e : layer.weights->experts)
        for (const QuantMatrix* m : {&e.gate, &e.up, &e.down}) use(*m);
  }

  void read(const Step& step) {
    const std::vector<Piece> pieces = pieces_of(step);
    std::vector<std::string> bad(pieces.size());
    for_each_throwing(work_.pool, std::ssize(pieces), [&](std::int64_t i, int worker) {
      if (stopped_.load(std::memory_order_relaxed)) return;
      const Piece& piece = pieces[static_cast<std::size_t>(i)];
      if (piece.scales != nullptr)
        bad[static_cast<std::size_t>(i)] = describe_bad_scales(*piece.scales);
      else
        touch_pages(piece.bytes);
      done_.fetch_add(piece.counted, std::memory_order_relaxed);
      if (worker == 0) tell();
    });
    for (std::string& words : bad)
      if (!words.empty()) problems_.push_back(std::move(words));
    tell();
  }

  void make(const Step& step) {
    for_each_throwing(work_.pool, std::ssize(step.matrices), [&](std::int64_t i, int worker) {
      const Matrix& m = step.matrices[static_cast<std::size_t>(i)];
      if (stopped_.load(std::memory_order_relaxed) || !m.make) return;
      if (!m.make()) give_back(m.weights);
      if (worker == 0) tell();
    });
    for (const Experts& layer : step.experts) {
      if (!layer.make())
        for (const moe::Expert& e : layer.weights->experts)
          for (const QuantMatrix* m : {&e.gate, &e.up, &e.down}) give_back(*m);
      tell();
    }
  }

  void give_back(const QuantMatrix& m) const {
    for (const ConstTensorView* view : {&m.codes, &m.scales, &m.zeros}) work_.checkpoint.give_back(extent_of(*view));
  }

  // By the thread that called, which is worker 0 of its pool.
  void tell() {
    if (!work_.progress) return;
    try {
      work_.progress(done_.load(std::memory_order_relaxed), total_);
    } catch (...) {
      stopped_.store(true, std::memory_order_relaxed);
      throw;
    }
  }

  std::vector<Step>& steps_;
  const Work& work_;
  std::vector<std::string>& problems_;
  std::int64_t total_ = 0;
  std::atomic<std::int64_t> done_{0};
  std::atomic<bool> stopped_{false};
};

void Preparation::matrix(const QuantMatrix& weights, Make make) { steps_.back().matrices.push_back({weights, std::move(make)}); }

void Preparation::experts(std::shared_ptr<const moe::ExpertWeights> weights, Make make) {
  steps_.back().experts.push_back({std::move(weights), std::move(make)});
}

void Preparation::end_step() { steps_.emplace_back(); }

void Preparation::run(const Work& work, std::vector<std::string>& problems) { Run(steps_, work, problems)(); }

}  // namespace conclave
