#pragma once
// What is left to do with weights that are bound, in the order of the model and by all threads of a device: read them, check their
// scales, pack them, and give back the pages of those that were copied. It goes step by step, a block of a layer each, so beside
// the packed weights no more than the published ones of one step are held.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/thread_pool.h"
#include "moe/weights.h"
#include "quant/matrix.h"

namespace conclave {

class Preparation {
 public:
  // Makes what runs, and says whether that looks at the published weights, which then stay. May throw.
  using Make = std::function<bool()>;
  // Bytes read so far, of all. Called by the thread that called run(); what it throws ends that.
  using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

  // These add to the current step. `make` is called by any thread, beside others of the step; the matrix may be empty, and without
  // `make` it is only read.
  void matrix(const QuantMatrix&, Make make = {});
  // Called by the thread that called run(), alone, after all matrices of the step: it may use the pool itself.
  void experts(std::shared_ptr<const moe::ExpertWeights>, Make make);
  void end_step();

  struct Work {
    ThreadPool& pool;
    const Checkpoint& checkpoint;
    bool scales_only = false;  // check scales, make nothing
    const Progress& progress;  // may be empty
  };
  // Adds to `problems` one entry for each tensor with bad scales, in the order of the model. Once there is any problem, from before
  // or found on the way, only scales are checked. Throws what a Make throws, of those of one step what the first added one did.
  void run(const Work&, std::vector<std::string>& problems);

 private:
  struct Matrix {
    QuantMatrix weights;
    Make make;
  };
  struct Experts {
    std::shared_ptr<const moe::ExpertWeights> weights;
    Make make;
  };
  struct Step {
    std::vector<Matrix> matrices;
    std::vector<Experts> experts;
  };
  class Run;
  std::vector<Step> steps_ = std::vector<Step>(1);
};

}  // namespace conclave
