// ContentSum: the checksum that a hub states for a file, and its computation.

#ifndef CAIRN_DOWNLOAD_WEB_CONTENT_SUM_H_
#define CAIRN_DOWNLOAD_WEB_CONTENT_SUM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace cairn {

// The SHA-256 of the content (64 digits), or git's SHA-1 of a blob (40 digits), as small files have
// it, which begins with the length. In lower case; empty if it is not known.
struct ContentSum {
  std::string digits;

  bool known() const { return !digits.empty(); }
  const char* kind() const { return digits.size() == 40 ? "git blob SHA-1" : "SHA-256"; }
};

// Returns the sum if `digits` has the form of one, else an unknown one.
ContentSum ParseContentSum(std::string_view digits);

// Computes the sum of bytes that come in order. Not thread-safe.
class ContentHash {
 public:
  // `like` says which kind; `bytes` is the length of the whole content, which git's needs.
  ContentHash(const ContentSum& like, uint64_t bytes);
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void Add(ByteSpan bytes);
  // Returns the digits. Nothing may be added afterwards.
  std::string Finish();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// Adds the first `bytes` bytes of a file to `hash`; `progress`, if any, gets the bytes so far.
// kNotFound: the file cannot be opened. kCorrupt: it ends before.
Status AddFile(const std::string& path, uint64_t bytes, ContentHash* hash,
               const std::function<void(uint64_t)>& progress);

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_WEB_CONTENT_SUM_H_
