#include "store/folder/put_file.h"

#include <unistd.h>

#include <memory>

#include "store/disk/disk_files.h"

namespace cairn {
namespace {

Status WriteAndSync(Fs* fs, const std::string& path, ByteSpan bytes) {
  auto writer = fs->Create(path);
  if (!writer) return tl::unexpected(writer.error());
  if (Status written = (*writer)->Append(bytes); !written) return written;
  if (Status synced = (*writer)->Sync(); !synced) return synced;
  return (*writer)->Close();
}

}  // namespace

Status PutFile(Fs* fs, const std::string& folder, const std::string& name, ByteSpan bytes) {
  if (Status made = fs->MakeFolders(folder); !made) return made;
  const std::string temp =
      folder + "/" + std::string(kTempPrefix) + name + "-" + std::to_string(getpid());
  Status written = WriteAndSync(fs, temp, bytes);
  if (written) written = fs->Rename(temp, folder + "/" + name);
  if (!written) static_cast<void>(fs->Remove(temp));
  return written;
}

}  // namespace cairn
