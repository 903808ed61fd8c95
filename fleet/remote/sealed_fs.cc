#include "fleet/remote/sealed_fs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "fleet/remote/seal.h"
#include "store/object.h"

namespace cairn {
namespace {

constexpr uint32_t kSealedFormat = 1;
constexpr size_t kHeaderBytes = 64;
constexpr size_t kSealedSaltAt = 32;
constexpr size_t kFrameBytes = size_t{64} << 10;
constexpr size_t kFrameTagBytes = FrameCipher::kTagBytes;
constexpr size_t kStoredFrameBytes = kFrameBytes + kFrameTagBytes;
// Frames that are read at once.
constexpr uint64_t kFramesAtOnce = 64;
// How often a file is read again because another process replaced it meanwhile.
constexpr int kReplacedMax = 3;

using SealedHeader = std::array<uint8_t, kHeaderBytes>;

SealedHeader MakeHeader(const RemoteKey& key) {
  SealedHeader header = {};
  std::copy(kSealedFileMagic.begin(), kSealedFileMagic.end(), header.begin());
  WriteNumber(kSealedFormat, 4, &header[8]);
  WriteNumber(kFrameBytes, 4, &header[12]);
  WriteNumber(key.id, 8, &header[16]);
  FrameCipher::MakeSalt(&header[kSealedSaltAt]);
  return header;
}

ByteSpan SaltOf(const SealedHeader& header) {
  return ByteSpan(header).subspan(kSealedSaltAt, FrameCipher::kSaltBytes);
}

// The frames of a file and the plain bytes in them.
struct Extent {
  uint64_t frames = 0;
  uint64_t bytes = 0;
};

// Returns nullopt if no sealed file is that long.
std::optional<Extent> ExtentOf(uint64_t stored_bytes) {
  if (stored_bytes < kHeaderBytes + kFrameTagBytes) return std::nullopt;
  const uint64_t body = stored_bytes - kHeaderBytes;
  const uint64_t frames = (body + kStoredFrameBytes - 1) / kStoredFrameBytes;
  const uint64_t last = body - (frames - 1) * kStoredFrameBytes;
  // Only an empty file ends with an empty frame.
  if (last < kFrameTagBytes || (last == kFrameTagBytes && frames > 1)) return std::nullopt;
  return Extent{frames, body - frames * kFrameTagBytes};
}

tl::unexpected<Error> FailAt(const std::string& path, ErrorCode code, const std::string& why) {
  return Fail(code, "\"" + path + "\": " + why);
}

// Holds back the end of what was appended, as the last frame is marked.
class SealedWriter final : public FileWriter {
 public:
  SealedWriter(std::unique_ptr<FileWriter> file, const RemoteKey& key)
      : file_(std::move(file)),
        header_(MakeHeader(key)),
        cipher_(key, header_, SaltOf(header_), "", true),
        sealed_(header_.begin(), header_.end()) {}

  Status Append(ByteSpan bytes) override {
    if (ended_) return Fail(ErrorCode::kInternal, "a sealed file ends when it is synced");
    while (!bytes.empty()) {
      if (plain_.size() == kFrameBytes) SealFrame(false);
      const ByteSpan next = bytes.first(std::min(bytes.size(), kFrameBytes - plain_.size()));
      plain_.insert(plain_.end(), next.begin(), next.end());
      bytes = bytes.subspan(next.size());
    }
    return WriteOut();
  }
  Status Sync() override {
    if (Status ended = End(); !ended) return ended;
    return file_->Sync();
  }
  Status Close() override {
    const Status ended = End();
    const Status closed = file_->Close();
    return ended ? closed : ended;
  }

 private:
  void SealFrame(bool last) {
    const size_t at = sealed_.size();
    sealed_.resize(at + plain_.size() + kFrameTagBytes);
    cipher_.Encrypt({frames_++, last}, plain_, &sealed_[at], &sealed_[at + plain_.size()]);
    plain_.clear();
  }
  Status WriteOut() {
    if (sealed_.empty()) return {};
    const Bytes sealed = std::exchange(sealed_, {});
    return file_->Append(sealed);
  }
  Status End() {
    if (std::exchange(ended_, true)) return {};
    SealFrame(true);
    return WriteOut();
  }

  const std::unique_ptr<FileWriter> file_;
  const SealedHeader header_;
  FrameCipher cipher_;
  Bytes plain_;   // of the next frame
  Bytes sealed_;  // not written yet
  uint64_t frames_ = 0;
  bool ended_ = false;
};

// A sealed file as it was when it was looked at.
struct SealedFile {
  SealedHeader header = {};
  const RemoteKey* key = nullptr;
  FileStat stored;
};

class SealedFs final : public Fs {
 public:
  SealedFs(std::unique_ptr<Fs> fs, RemoteKeys keys, PlainFiles plain)
      : fs_(std::move(fs)), keys_(std::move(keys)), plain_(std::move(plain)) {
    CHECK(keys_.seals());
  }

  Result<FileStat> Stat(const std::string& path) const override {
    Result<FileStat> stat = fs_->Stat(path);
    if (!stat) return stat;
    const auto sealed = LookAt(path);
    if (!sealed || !*sealed) return stat;
    if (const auto extent = ExtentOf(stat->bytes)) stat->bytes = extent->bytes;
    return stat;
  }
  Result<std::unique_ptr<FileWriter>> Create(const std::string& path) override {
    auto file = fs_->Create(path);
    if (!file) return file;
    return std::make_unique<SealedWriter>(*std::move(file), keys_.keys().front());
  }
  Result<Bytes> Read(const std::string& path, uint64_t offset, uint64_t size) const override {
    for (int i = 0;; ++i) {
      const auto sealed = LookAt(path);
      if (!sealed) return tl::unexpected(sealed.error());
      if (!*sealed) return ReadPlain(path, offset, size);
      Result<Bytes> bytes = ReadSealed(path, **sealed, offset, size);
      if (bytes || bytes.error().code != ErrorCode::kCorrupt || i == kReplacedMax) return bytes;
      const auto now = fs_->Stat(path);
      if (now && now->bytes == (*sealed)->stored.bytes &&
          now->time_ns == (*sealed)->stored.time_ns) {
        return bytes;
      }
    }
  }

  Result<std::vector<std::string>> List(const std::string& folder) const override {
    return fs_->List(folder);
  }
  Status MakeFolders(const std::string& folder) override { return fs_->MakeFolders(folder); }
  Status Rename(const std::string& from, const std::string& to) override {
    return fs_->Rename(from, to);
  }
  Status Remove(const std::string& path) override { return fs_->Remove(path); }
  Status SetTime(const std::string& path, int64_t time_ns) override {
    return fs_->SetTime(path, time_ns);
  }
  Status SyncFolder(const std::string& folder) override { return fs_->SyncFolder(folder); }
  Result<DeviceSpace> SpaceOf(const std::string& folder) const override {
    return fs_->SpaceOf(folder);
  }
  Result<std::unique_ptr<FileLock>> TryLock(const std::string& path) override {
    return fs_->TryLock(path);
  }

 private:
  // Returns nullopt if the file is not sealed; kUnsupported if it cannot be opened.
  Result<std::optional<SealedFile>> LookAt(const std::string& path) const {
    SealedFile file;
    const auto stored = fs_->Stat(path);
    if (!stored) return tl::unexpected(stored.error());
    file.stored = *stored;
    const auto begin = fs_->Read(path, 0, kHeaderBytes);
    if (!begin) return tl::unexpected(begin.error());
    if (!StartsWith(*begin, TextView(kSealedFileMagic))) return std::optional<SealedFile>();
    if (begin->size() < kHeaderBytes) {
      return FailAt(path, ErrorCode::kCorrupt, "it ends within its header");
    }
    std::copy(begin->begin(), begin->end(), file.header.begin());
    if (NumberIn(&file.header[8], 4) != kSealedFormat ||
        NumberIn(&file.header[12], 4) != kFrameBytes) {
      return FailAt(path, ErrorCode::kUnsupported, "another version of cairn sealed it");
    }
    file.key = keys_.Find(NumberIn(&file.header[16], 8));
    if (file.key == nullptr) {
      return FailAt(path, ErrorCode::kUnsupported,
                    "it is sealed with a key that is not in --cache-key-file");
    }
    return file;
  }

  Result<Bytes> ReadPlain(const std::string& path, uint64_t offset, uint64_t size) const {
    if (plain_.read) return fs_->Read(path, offset, size);
    const bool replaced = !plain_.replaced_in.empty() && path.starts_with(plain_.replaced_in + "/");
    return FailAt(path, replaced ? ErrorCode::kCorrupt : ErrorCode::kUnsupported,
                  "it is not sealed, and --cache-key-file demands it");
  }

  // Reads the frames that hold the bytes from `offset` on.
  Result<Bytes> ReadSealed(const std::string& path, const SealedFile& file, uint64_t offset,
                           uint64_t size) const {
    const auto extent = ExtentOf(file.stored.bytes);
    if (!extent) return FailAt(path, ErrorCode::kCorrupt, "no sealed file has this size");
    Bytes plain;
    // The only frame of an empty file says that it was not cut.
    const bool is_empty = extent->bytes == 0;
    if (!is_empty && (offset >= extent->bytes || size == 0)) return plain;
    if (!is_empty) plain.resize(std::min(size, extent->bytes - offset));
    const uint64_t begin = is_empty ? 0 : offset;
    const uint64_t frames_end = is_empty ? 1 : (begin + plain.size() - 1) / kFrameBytes + 1;
    FrameCipher cipher(*file.key, file.header, SaltOf(file.header), "", false);
    for (uint64_t first = begin / kFrameBytes; first < frames_end; first += kFramesAtOnce) {
      const uint64_t count = std::min(kFramesAtOnce, frames_end - first);
      const auto stored =
          fs_->Read(path, kHeaderBytes + first * kStoredFrameBytes, count * kStoredFrameBytes);
      if (!stored) return tl::unexpected(stored.error());
      for (uint64_t i = 0; i < count; ++i) {
        const FrameCipher::Place place = {first + i, first + i + 1 == extent->frames};
        if (Open(&cipher, place, FrameOf(*stored, i), begin, &plain)) continue;
        return FailAt(path, ErrorCode::kCorrupt,
                      "its seal is broken at byte " + std::to_string(place.number * kFrameBytes));
      }
    }
    return plain;
  }

  // Returns what there is of a frame.
  static ByteSpan FrameOf(ByteSpan stored, uint64_t index) {
    const uint64_t at = std::min<uint64_t>(index * kStoredFrameBytes, stored.size());
    return stored.subspan(at, std::min<uint64_t>(kStoredFrameBytes, stored.size() - at));
  }

  // Puts what a frame holds of the bytes from `offset` on where it belongs in `plain`.
  static bool Open(FrameCipher* cipher, const FrameCipher::Place& place, ByteSpan stored,
                   uint64_t offset, Bytes* plain) {
    if (stored.size() < kFrameTagBytes) return false;
    const ByteSpan frame = stored.first(stored.size() - kFrameTagBytes);
    const uint8_t* const tag = stored.data() + frame.size();
    const uint64_t begin = place.number * kFrameBytes;
    const uint64_t end = offset + plain->size();
    if (begin >= offset && begin + frame.size() <= end) {
      return cipher->Decrypt(place, frame, tag, plain->data() + (begin - offset));
    }
    Bytes whole(frame.size());
    if (!cipher->Decrypt(place, frame, tag, whole.data())) return false;
    const uint64_t from = std::max(begin, offset);
    const uint64_t to = std::min(begin + frame.size(), end);
    if (from >= to) return frame.empty();
    std::memcpy(plain->data() + (from - offset), whole.data() + (from - begin), to - from);
    return true;
  }

  const std::unique_ptr<Fs> fs_;
  const RemoteKeys keys_;
  const PlainFiles plain_;
};

}  // namespace

std::unique_ptr<Fs> MakeSealedFs(std::unique_ptr<Fs> fs, RemoteKeys keys, PlainFiles plain) {
  return std::make_unique<SealedFs>(std::move(fs), std::move(keys), std::move(plain));
}

}  // namespace cairn
