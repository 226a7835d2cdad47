#pragma once
// One process at a time fetches a blob. The locks are those of Hugging Face's own programs (flock on
// .locks/<model>/<blob>.lock), so we wait for them and they for us.
#include <filesystem>

#include "hub/stop.h"

namespace conclave {

class FileLock {
 public:
  // Waits until the lock is free. Folders are made as needed. Throws Error: cancelled, device (the file cannot be made). Where the
  // file system has no locks it goes on without: the checksum shows bytes that two writers have mixed.
  FileLock(const std::filesystem::path&, const StopFlag&);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace conclave
