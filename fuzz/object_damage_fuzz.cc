// Objects as a server writes them, then damaged. Undamaged they are read back unchanged; damaged
// they are refused: a miss, never another state.

#include <array>

#include "base/check.h"
#include "fuzz/made_object.h"
#include "store/folder/object_folder.h"

namespace cairn {
namespace {

// Returns the damaged file, which may equal the original.
Bytes Damaged(Bytes file, fuzz::FuzzInput* input) {
  for (size_t i = 1 + input->Below(4); i > 0; --i) {
    const size_t at = file.empty() ? 0 : static_cast<size_t>(input->Number(4)) % file.size();
    const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
    switch (input->Below(5)) {
      case 0:
        if (!file.empty()) *place ^= static_cast<uint8_t>(1U << input->Below(8));
        break;
      case 1:
        file.erase(place, file.end());
        break;
      case 2:
        file.insert(place, input->Byte());
        break;
      case 3:
        if (!file.empty()) file.erase(place);
        break;
      default: {
        const ByteSpan torn = input->Take(16);  // another file's bytes, or garbage
        for (size_t j = 0; j < torn.size() && at + j < file.size(); ++j) file[at + j] = torn[j];
      }
    }
  }
  return file;
}

void CheckWritten(const fuzz::MadeObject& made) {
  const auto loaded = LoadObject(made.file);
  CHECK(loaded.has_value());
  CHECK(loaded->header == made.header);
  CHECK(loaded->payload == made.payload);
  CHECK(NameOf(loaded->header) == NameOf(made.header));
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  fuzz::FuzzInput damage = [&] {
    const ByteSpan bytes = input.Take(80);
    return fuzz::FuzzInput(bytes.data(), bytes.size());
  }();
  const fuzz::MadeObject made = fuzz::MakeObject(&input);
  CheckWritten(made);
  const Bytes damaged = Damaged(made.file, &damage);
  if (damaged == made.file) return 0;
  CHECK(!LoadObject(damaged).has_value());
  CHECK(!CheckObject(damaged).has_value());
  // The front alone may still be valid; its header is then unchanged.
  if (const auto header = DecodeHeader(damaged)) CHECK(*header == made.header);
  return 0;
}
