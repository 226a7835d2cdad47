#pragma once
// A hub of its own for one test: a repository of small files, a server (fake_hub.py) that misbehaves as told, a cache to fill.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hub/options.h"
#include "tests/io/temporary_folder.h"

namespace conclave {

inline constexpr std::string_view kRepository = "org/tiny-model";
inline constexpr std::string_view kCommit = "0123456789abcdef0123456789abcdef01234567";

class FakeHub {
 public:
  FakeHub() : FakeHub("gated", "null") {}
  // With one more member of the scenario (see fake_hub.py), its value as JSON.
  FakeHub(const std::string& member, const std::string& value);
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  // The server ends; its address leads nowhere from now on.
  void stop();
  // Small pauses and few seconds of patience, into cache().
  HubOptions options() const;

  // What a repository holds: names and bytes. Two shards of 3 MiB and 70 000 bytes.
  const std::map<std::string, std::string>& files() const { return files_; }
  std::filesystem::path cache() const { return folder_.path() / "cache"; }
  std::filesystem::path model_cache() const { return cache() / "models--org--tiny-model"; }
  std::filesystem::path snapshot() const { return model_cache() / "snapshots" / std::string(kCommit); }
  std::filesystem::path folder() const { return folder_.path(); }

  std::vector<std::string> requests() const;           // lines of the server's log
  int count(std::string_view part) const;              // of those lines, how many hold it
  std::string blob_of(const std::string& file) const;  // the name its link leads to

 private:
  TemporaryFolder folder_;
  std::map<std::string, std::string> files_;
  int port_ = 0;
  bool running_ = true;
};

std::string bytes_of(const std::filesystem::path&);

}  // namespace conclave
