#include "base/gguf/gguf_texts.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>

namespace cairn {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr int kArrayDepthMax = 4;

enum Type : uint32_t {
  kUint8 = 0,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64,
  kTypes
};
constexpr std::array<uint64_t, kTypes> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// Reads a file's head; everything fails once something did not fit.
class Reader {
 public:
  explicit Reader(const std::string& path) : in_(path, std::ios::binary) {
    in_.seekg(0, std::ios::end);
    const std::streamoff size = in_.tellg();
    left_ = size > 0 ? static_cast<uint64_t>(size) : 0;
    in_.seekg(0);
  }

  bool is_open() const { return in_.is_open() && left_ > 0; }
  bool failed() const { return failed_; }

  template <typename T>
  T Number() {
    T value = 0;
    Bytes(sizeof(T), reinterpret_cast<char*>(&value));
    return value;
  }

  std::string Text() {
    const auto size = Number<uint64_t>();
    if (failed_ || size > left_) {
      failed_ = true;
      return "";
    }
    std::string text(size, '\0');
    Bytes(size, text.data());
    return text;
  }

  void Skip(uint64_t count, uint64_t bytes_each) {
    if (failed_ || count > left_ / bytes_each) {
      failed_ = true;
      return;
    }
    in_.seekg(static_cast<std::streamoff>(count * bytes_each), std::ios::cur);
    left_ -= count * bytes_each;
  }

 private:
  void Bytes(uint64_t count, char* to) {
    if (failed_ || count > left_ || !in_.read(to, static_cast<std::streamsize>(count))) {
      failed_ = true;
      return;
    }
    left_ -= count;
  }

  std::ifstream in_;
  uint64_t left_ = 0;
  bool failed_ = false;
};

// A whole number; negative ones are as if they were very large.
uint64_t WholeNumber(Reader* reader, uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
      return reader->Number<uint8_t>();
    case kUint16:
    case kInt16:
      return reader->Number<uint16_t>();
    case kUint32:
    case kInt32:
      return reader->Number<uint32_t>();
    default:
      return reader->Number<uint64_t>();
  }
}

// Returns whether the array is one that a file may have.
bool ReadArray(Reader* reader, int depth, std::vector<std::string>* texts) {
  const auto type = reader->Number<uint32_t>();
  const auto count = reader->Number<uint64_t>();
  if (reader->failed() || type >= kTypes || depth > kArrayDepthMax) return false;
  if (type != kString && type != kArray) {
    reader->Skip(count, kBytes[type]);
    return !reader->failed();
  }
  for (uint64_t i = 0; i < count && !reader->failed(); ++i) {
    if (type == kArray) {
      if (!ReadArray(reader, depth + 1, nullptr)) return false;
      continue;
    }
    std::string text = reader->Text();
    if (texts != nullptr) texts->push_back(std::move(text));
  }
  return !reader->failed();
}

bool ReadValue(Reader* reader, const std::string& key, GgufTexts* all) {
  const auto type = reader->Number<uint32_t>();
  if (reader->failed() || type >= kTypes) return false;
  if (type == kArray) return ReadArray(reader, 0, key == kTokensKey ? &all->tokens : nullptr);
  if (type == kString) {
    all->texts[key] = reader->Text();
  } else if (type == kFloat32 || type == kFloat64 || type == kBool) {
    reader->Skip(1, kBytes[type]);
  } else {
    all->numbers[key] = WholeNumber(reader, type);
  }
  return !reader->failed();
}

tl::unexpected<Error> UnfitFile(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kInvalidArgument, "'" + path + "' " + why);
}

}  // namespace

std::string_view GgufTexts::TextOf(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : found->second;
}

std::string_view GgufTexts::TokenOf(std::string_view key) const {
  const auto found = numbers.find(key);
  if (found == numbers.end() || found->second >= tokens.size()) return {};
  return tokens[found->second];
}

Result<GgufTexts> ReadGgufTexts(const std::string& path) {
  Reader reader(path);
  if (!reader.is_open()) return Fail(ErrorCode::kNotFound, "'" + path + "' cannot be read");
  constexpr std::array<char, 4> kMagic = {'G', 'G', 'U', 'F'};
  const auto magic = std::bit_cast<std::array<char, 4>>(reader.Number<uint32_t>());
  if (reader.failed() || magic != kMagic) return UnfitFile(path, "is not a GGUF file");
  const auto version = reader.Number<uint32_t>();
  if (version < 2 || version > 3) {
    return UnfitFile(path, "is GGUF of version " + std::to_string(version) + "; 2 and 3 are read");
  }
  reader.Number<uint64_t>();  // tensors
  const auto values = reader.Number<uint64_t>();
  GgufTexts all;
  bool fits = !reader.failed();
  for (uint64_t i = 0; i < values && fits; ++i) {
    const std::string key = reader.Text();
    fits = !reader.failed() && ReadValue(&reader, key, &all);
  }
  if (!fits) return UnfitFile(path, "is damaged: its metadata ends too early");
  return all;
}

}  // namespace cairn
