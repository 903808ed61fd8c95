// FuzzInput: parses the bytes of one run of a fuzz target from the front into small numbers,
// choices and texts. After the end everything is zero and empty. libFuzzer has a class like it, but
// the plain programs that replay saved cases are built by compilers without libFuzzer.
//
// Not thread-safe; the bytes outlive it.

#ifndef CAIRN_FUZZ_INPUT_H_
#define CAIRN_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/utf8.h"

namespace cairn::fuzz {

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  size_t size() const { return left_.size(); }

  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  bool Flag() { return (Byte() & 1U) != 0; }
  // Returns a little-endian number of that many bytes.
  uint64_t Number(size_t bytes) {
    uint64_t value = 0;
    const ByteSpan taken = Take(bytes);
    for (size_t i = 0; i < taken.size(); ++i) value |= uint64_t{taken[i]} << (8 * i);
    return value;
  }
  // Returns a number in [0, end). REQUIRES: 0 < end <= 65536.
  size_t Below(size_t end) { return static_cast<size_t>(Number(end > 256 ? 2 : 1)) % end; }
  // Returns `most` bytes, or all that remain.
  ByteSpan Take(size_t most) {
    const ByteSpan taken = left_.first(std::min(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  std::string_view Text(size_t most) { return AsText(Take(most)); }
  // Returns the text up to the next line end, which is consumed. Mutations can grow such texts.
  std::string_view Line() {
    const std::string_view all = AsText(left_);
    const std::string_view line = all.substr(0, all.find('\n'));
    left_ = left_.subspan(std::min(line.size() + 1, left_.size()));
    return line;
  }
  // Returns a line as a client could send it; backslash and n stand for a line feed in it.
  std::string ClientText() {
    std::string text;
    const std::string valid = ToValidUtf8(Line());
    for (size_t i = 0; i < valid.size(); ++i) {
      const bool line_end = valid[i] == '\\' && i + 1 < valid.size() && valid[i + 1] == 'n';
      text += line_end ? '\n' : valid[i];
      if (line_end) ++i;
    }
    return text;
  }
  ByteSpan Rest() { return Take(left_.size()); }
  std::string_view RestText() { return AsText(Rest()); }

 private:
  static std::string_view AsText(ByteSpan bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  ByteSpan left_;
};

}  // namespace cairn::fuzz

// The entry point that libFuzzer, or play_files.cc, calls. A violated property fails a CHECK.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#endif  // CAIRN_FUZZ_INPUT_H_
