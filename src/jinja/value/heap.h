// Heap: everything that one rendering allocates, counted against its limits.
//
// Objects live until the heap is gone, so that no cycle leaks and no destructor recurses. Texts are
// freed as soon as nothing refers to them, because templates that collect their output in a
// variable would hold the square of it. One thread; must outlive its values.

#ifndef CAIRN_JINJA_VALUE_HEAP_H_
#define CAIRN_JINJA_VALUE_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value/text.h"

namespace cairn::jinja {

struct Limits {
  // For the template.
  size_t source_bytes_max = 512 * 1024;
  size_t nesting_max = 100;
  // For one rendering. A step is the evaluation of one node, or 64 bytes that an operation reads.
  uint64_t steps_max = 20'000'000;
  size_t depth_max = 800;
  size_t memory_bytes_max = 512U * 1024 * 1024;
  size_t output_bytes_max = 256U * 1024 * 1024;
  // Lists have `append`, which the sandbox of jinja2 forbids.
  bool append_to_lists = false;
};

// An error of the template or its input. Thrown and caught inside this library.
class Failure {
 public:
  explicit Failure(std::string message) : message_(std::move(message)) {}
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};
[[noreturn]] void Raise(std::string message);

// A value other than a number or a text.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap();

  const Limits& limits() const { return limits_; }

  template <typename T, typename... Args>
  T* New(Args&&... args) {
    Charge(sizeof(T) + 32);
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T* const object = made.get();
    objects_.push_back(std::move(made));
    return object;
  }
  TextData* NewText(std::string bytes, std::vector<Run> runs = {});
  void Free(TextData* data);
  // Takes the contents out of a text that is about to be freed.
  std::pair<std::string, std::vector<Run>> TakeContents(TextData* data);
  Text MakeText(std::string_view bytes, int32_t source = kNoSource, size_t offset = 0);

  // Counts bytes that stay until the end. Raises a Failure above the limit.
  void Charge(size_t bytes);
  // Raises a Failure when a text of this size would be too much.
  void CheckTextBytes(size_t bytes, size_t runs = 0) const;
  void Step(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ > limits_.steps_max) TooManySteps();
  }
  uint64_t steps() const { return steps_; }
  // For operations that are linear in a number of bytes.
  void StepOverBytes(size_t bytes) { Step(bytes / 64); }

 private:
  [[noreturn]] static void TooManySteps();

  const Limits limits_;
  std::vector<std::unique_ptr<Object>> objects_;
  size_t bytes_ = 0;
  size_t texts_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_HEAP_H_
