// Export files: written objects are read back unchanged; arbitrary bytes are read to their end or
// to an error, and everything read from them is written again as the same bytes.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fuzz/input.h"
#include "store/export_file.h"
#include "testing/base/memory_fs.h"

namespace cairn {
namespace {

constexpr char kPath[] = "/e/file";

// Returns false if reading ended in an error.
bool ReadAll(const Fs& fs, std::vector<Bytes>* objects) {
  auto reader = ExportReader::Open(&fs, kPath, "file");
  if (!reader) return false;
  for (;;) {
    auto object = reader->Next();
    if (!object) return false;
    if (object->empty()) return true;
    objects->push_back(*std::move(object));
  }
}

Bytes WriteAll(const std::vector<Bytes>& objects) {
  MemoryFs fs;
  CHECK(fs.MakeFolders("/e").has_value());
  auto writer = ExportWriter::Create(&fs, "/e/temp", kPath);
  CHECK(writer.has_value());
  for (const Bytes& object : objects) CHECK((*writer)->Add(object).has_value());
  const auto written = (*writer)->Finish();
  CHECK(written.has_value());
  auto file = fs.Read(kPath, 0, *written + 1);
  CHECK(file.has_value() && file->size() == *written);
  return *std::move(file);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  Bytes file;
  if (input.Flag()) {
    std::vector<Bytes> objects;
    for (size_t i = input.Below(5); i > 0; --i) {
      const ByteSpan object = input.Take(1 + input.Below(600));
      if (!object.empty()) objects.emplace_back(object.begin(), object.end());
    }
    file = WriteAll(objects);
    MemoryFs fs;
    fs.Put(kPath, file);
    std::vector<Bytes> read;
    CHECK(ReadAll(fs, &read));
    CHECK(read == objects);
    const ByteSpan damage = input.Rest();
    for (size_t i = 0; i + 2 < damage.size(); i += 3) {
      file[(damage[i] + 256U * damage[i + 1]) % file.size()] ^= damage[i + 2];
    }
  } else {
    constexpr std::string_view kBegin = "cairn export 1\n";
    file.assign(kBegin.begin(), kBegin.end());
    if (input.Flag()) file.clear();
    const ByteSpan rest = input.Rest();
    file.insert(file.end(), rest.begin(), rest.end());
  }
  MemoryFs fs;
  fs.Put(kPath, file);
  std::vector<Bytes> read;
  if (ReadAll(fs, &read)) CHECK(WriteAll(read) == file);
  return 0;
}
