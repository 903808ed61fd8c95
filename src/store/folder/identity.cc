#include "store/folder/identity.h"

#include "base/hash.h"
#include "store/folder/put_file.h"

namespace cairn {
namespace {

// Far longer than any identity; a longer file is not ours.
constexpr uint64_t kIdentityBytesMax = uint64_t{1} << 20;

}  // namespace

Fingerprint FingerprintOf(std::string_view identity) {
  const Bits128 hash = Hash128(identity.data(), identity.size());
  return {hash.high, hash.low};
}

Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity) {
  const std::string model = folder + "/" + ToText(FingerprintOf(identity));
  if (fs->Stat(model + "/" + std::string(kIdentityFile))) return {};
  return PutFile(fs, model, std::string(kIdentityFile), BytesOf(identity));
}

Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder,
                                 const std::string& model) {
  const std::string path = folder + "/" + model + "/" + std::string(kIdentityFile);
  const Result<Bytes> bytes = fs.Read(path, 0, kIdentityBytesMax);
  if (!bytes) return tl::unexpected(bytes.error());
  std::string identity(bytes->begin(), bytes->end());
  if (ToText(FingerprintOf(identity)) == model) return identity;
  return Fail(ErrorCode::kCorrupt,
              "\"" + path + "\": it is not the text that the folder's name is the hash of");
}

}  // namespace cairn
