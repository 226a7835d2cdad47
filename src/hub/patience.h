#pragma once
// When to try a request again, and how long to wait before: pauses double, the server's Retry-After is obeyed, and attempts in a
// row without progress are counted.
#include <string>

#include "hub/http.h"
#include "hub/options.h"
#include "hub/stop.h"

namespace conclave {

// A cut connection, a busy or broken server, or a storage host whose address has expired: another attempt may succeed.
bool worth_retrying(const HttpReply&) noexcept;

class Patience {
 public:
  // `what` for messages: "fetching 'config.json' of model 'org/name'".
  Patience(const HubOptions&, const StopFlag&, std::string what);
  // Sleeps before the next attempt. Throws Error: busy (attempts used up, or too long a wait asked for), cancelled.
  void wait_after(const HttpReply&);
  // Something was received: the count begins anew, and a server that has gone may come back.
  void progress() noexcept {
    failures_ = 0;
    progressed_ = true;
  }

 private:
  const HubOptions& options_;
  const StopFlag& stop_;
  std::string what_;
  int failures_ = 0;
  bool progressed_ = false;
};

// "status 503" or the reason of the failed connection.
std::string outcome_of(const HttpReply&);

}  // namespace conclave
