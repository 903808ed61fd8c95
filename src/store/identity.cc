#include "store/identity.h"

#include <unistd.h>

#include <memory>

#include "base/hash.h"
#include "store/disk_files.h"

namespace cairn {
namespace {

// Far longer than any; what is longer is none of ours.
constexpr uint64_t kBytesMax = uint64_t{1} << 20;

Status WriteAndSync(Fs* fs, const std::string& path, ByteSpan bytes) {
  auto writer = fs->Create(path);
  if (!writer) return tl::unexpected(writer.error());
  if (Status written = (*writer)->Append(bytes); !written) return written;
  if (Status synced = (*writer)->Sync(); !synced) return synced;
  return (*writer)->Close();
}

}  // namespace

Fingerprint FingerprintOf(std::string_view identity) {
  const Bits128 hash = Hash128(identity.data(), identity.size());
  return {hash.high, hash.low};
}

Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity) {
  const std::string model = folder + "/" + ToText(FingerprintOf(identity));
  const std::string path = model + "/" + std::string(kIdentityFile);
  if (fs->Stat(path)) return {};
  if (Status made = fs->MakeFolders(model); !made) return made;
  const std::string temp =
      model + "/" + std::string(kTempPrefix) + "identity-" + std::to_string(getpid());
  const ByteSpan bytes(reinterpret_cast<const uint8_t*>(identity.data()), identity.size());
  Status written = WriteAndSync(fs, temp, bytes);
  if (written) written = fs->Rename(temp, path);
  if (!written) static_cast<void>(fs->Remove(temp));
  return written;
}

Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder,
                                 const std::string& model) {
  const std::string path = folder + "/" + model + "/" + std::string(kIdentityFile);
  const Result<Bytes> bytes = fs.Read(path, 0, kBytesMax);
  if (!bytes) return tl::unexpected(bytes.error());
  std::string identity(bytes->begin(), bytes->end());
  if (ToText(FingerprintOf(identity)) == model) return identity;
  return Fail(ErrorCode::kCorrupt,
              "\"" + path + "\": it is not the text that the folder's name is the hash of");
}

}  // namespace cairn
