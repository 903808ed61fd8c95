// Files of stored objects. Arbitrary bytes are refused, or the decoded object encodes to the same
// bytes again.

#include <array>

#include "base/check.h"
#include "fuzz/made_object.h"
#include "store/folder/object_folder.h"

namespace cairn {
namespace {

bool Same(ByteSpan a, ByteSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void CheckFile(const Bytes& file) {
  const auto front_bytes = FrontBytes(file);
  const auto header = DecodeHeader(file);
  if (header) {
    CHECK(front_bytes.has_value());
    CHECK(*front_bytes <= file.size());
    CHECK(Same(EncodeHeader(*header), ByteSpan(file).first(*front_bytes)));
  }
  const auto checked = CheckObject(file);
  const auto loaded = LoadObject(file);
  CHECK(checked.has_value() == loaded.has_value());
  if (!loaded) return;
  CHECK(header.has_value());
  CHECK(loaded->header == *header);
  CHECK(*checked == *header);
  CHECK(loaded->payload.size() == header->raw_bytes);
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  const bool repaired = input.Flag();
  const cairn::ByteSpan rest = input.Rest();
  cairn::Bytes file(rest.begin(), rest.end());
  if (repaired) cairn::fuzz::RepairChecksums(&file);
  cairn::CheckFile(file);
  return 0;
}
