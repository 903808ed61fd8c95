#include "jinja/value/heap.h"

#include "base/check.h"

namespace cairn::jinja {

void Raise(std::string message) {
  throw Failure(std::move(message));
}

Heap::~Heap() {
  objects_.clear();
  CHECK(texts_ == 0);
}

void Heap::TooManySteps() {
  Raise("it takes too many steps");
}

void Heap::Charge(size_t bytes) {
  if (bytes > limits_.memory_bytes_max - bytes_) Raise("it takes too much memory");
  bytes_ += bytes;
}

void Heap::CheckTextBytes(size_t bytes, size_t runs) const {
  if (bytes > limits_.output_bytes_max) Raise("it makes a text that is too long");
  if (bytes + runs * sizeof(Run) > limits_.memory_bytes_max - bytes_) {
    Raise("it takes too much memory");
  }
}

TextData* Heap::NewText(std::string bytes, std::vector<Run> runs) {
  CheckTextBytes(bytes.size(), runs.size());
  Charge(sizeof(TextData) + bytes.size() + runs.size() * sizeof(Run));
  StepOverBytes(bytes.size() + runs.size() * sizeof(Run));
  auto* const data = new TextData;
  data->heap = this;
  data->bytes = std::move(bytes);
  data->runs = std::move(runs);
  ++texts_;
  return data;
}

void Heap::Free(TextData* data) {
  bytes_ -= sizeof(TextData) + data->bytes.size() + data->runs.size() * sizeof(Run);
  --texts_;
  delete data;
}

std::pair<std::string, std::vector<Run>> Heap::TakeContents(TextData* data) {
  bytes_ -= data->bytes.size() + data->runs.size() * sizeof(Run);
  std::vector<Run> runs = std::exchange(data->runs, {});
  const bool told = !data->bytes.empty() || data->only.source > kTemplateSource;
  if (runs.empty() && told) runs.push_back(data->only);
  return {std::exchange(data->bytes, {}), std::move(runs)};
}

Text Heap::MakeText(std::string_view bytes, int32_t source, size_t offset) {
  TextData* const data = NewText(std::string(bytes));
  data->only = {0, source == kNoSource ? 0 : static_cast<uint32_t>(offset), source, false};
  return Text(data);
}

}  // namespace cairn::jinja
