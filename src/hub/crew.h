#pragma once
// Many small waits at once: threads for downloads, which spend their time in the network.
#include <cstddef>
#include <functional>

#include "hub/stop.h"

namespace conclave {

// Runs task(worker, i) for every i < count on min(workers, count) threads; a worker index is used by one thread only. `tick` is
// called on this thread about ten times a second. The first exception, of a task or of tick, sets `stop`, and is thrown here once
// all threads have ended.
void run_together(std::size_t count, int workers, StopFlag& stop, const std::function<void(int worker, std::size_t i)>& task,
                  const std::function<void()>& tick);

}  // namespace conclave
