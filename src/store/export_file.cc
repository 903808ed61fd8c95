#include "store/export_file.h"

#include <array>
#include <string_view>
#include <utility>

#include "store/object.h"

namespace cairn {
namespace {

constexpr std::string_view kMagicLine = "cairn export 1\n";
// A file that begins with this and continues differently is of another version.
constexpr std::string_view kMagicWord = "cairn export ";
constexpr size_t kSizeBytes = 8;

std::array<uint8_t, kSizeBytes> EncodeSize(uint64_t size) {
  std::array<uint8_t, kSizeBytes> bytes{};
  for (size_t i = 0; i < kSizeBytes; ++i) bytes[i] = static_cast<uint8_t>(size >> (8 * i));
  return bytes;
}

uint64_t DecodeSize(ByteSpan bytes) {
  uint64_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) size |= uint64_t{bytes[i]} << (8 * i);
  return size;
}

}  // namespace

Result<std::unique_ptr<ExportWriter>> ExportWriter::Create(Fs* fs, std::string temp,
                                                           std::string path) {
  auto writer = fs->Create(temp);
  if (!writer) return tl::unexpected(writer.error());
  std::unique_ptr<ExportWriter> file(
      new ExportWriter(fs, std::move(temp), std::move(path), std::move(*writer)));
  if (Status begun = file->Append(BytesOf(kMagicLine)); !begun) {
    return tl::unexpected(begun.error());
  }
  return file;
}

ExportWriter::ExportWriter(Fs* fs, std::string temp, std::string path,
                           std::unique_ptr<FileWriter> writer)
    : fs_(fs), temp_(std::move(temp)), path_(std::move(path)), writer_(std::move(writer)) {}

ExportWriter::~ExportWriter() {
  if (writer_ == nullptr) return;
  writer_ = nullptr;
  static_cast<void>(fs_->Remove(temp_));
}

Status ExportWriter::Append(ByteSpan bytes) {
  bytes_ += bytes.size();
  return writer_->Append(bytes);
}

Status ExportWriter::Add(ByteSpan front, ByteSpan payload) {
  Status added = Append(EncodeSize(front.size() + payload.size()));
  if (added) added = Append(front);
  if (added && !payload.empty()) added = Append(payload);
  return added;
}

Result<uint64_t> ExportWriter::Finish() {
  Status written = Append(EncodeSize(0));
  if (written) written = writer_->Sync();
  if (written) written = writer_->Close();
  if (written) written = fs_->Rename(temp_, path_);
  if (!written) return tl::unexpected(written.error());
  writer_ = nullptr;
  return bytes_;
}

ExportReader::ExportReader(const Fs* fs, std::string path, std::string name, uint64_t file_bytes)
    : fs_(fs), path_(std::move(path)), name_(std::move(name)), file_bytes_(file_bytes) {}

Result<ExportReader> ExportReader::Open(const Fs* fs, std::string path, std::string name) {
  const auto stat = fs->Stat(path);
  if (!stat) return tl::unexpected(stat.error());
  ExportReader reader(fs, std::move(path), std::move(name), stat->bytes);
  if (Status begun = reader.ReadMagic(); !begun) return tl::unexpected(begun.error());
  return reader;
}

Status ExportReader::ReadMagic() {
  const auto line = fs_->Read(path_, 0, kMagicLine.size());
  if (!line) return tl::unexpected(line.error());
  const std::string_view text(reinterpret_cast<const char*>(line->data()), line->size());
  at_ = kMagicLine.size();
  if (text == kMagicLine) return {};
  if (StartsWith(*line, TextView(kSealedFileMagic))) {
    return Fail(ErrorCode::kUnsupported,
                "\"" + name_ + "\" is sealed; --cache-key-file names the file of its key");
  }
  if (!text.starts_with(kMagicWord)) {
    return Fail(ErrorCode::kCorrupt, "\"" + name_ +
                                         "\" is no file that cairn exported or saved: it does not "
                                         "begin with \"cairn export\"");
  }
  return Fail(ErrorCode::kUnsupported,
              "\"" + name_ +
                  "\" was written by another version of cairn; this one reads \"cairn export 1\"");
}

Result<Bytes> ExportReader::Next() {
  const auto size_bytes = fs_->Read(path_, at_, kSizeBytes);
  if (!size_bytes) return tl::unexpected(size_bytes.error());
  if (size_bytes->size() < kSizeBytes) return EndsEarly();
  const uint64_t size = DecodeSize(*size_bytes);
  at_ += kSizeBytes;
  // Checked before anything is allocated. The file may have been truncated since it was opened.
  if (at_ > file_bytes_ || size > file_bytes_ - at_) return EndsEarly();
  if (size == 0) {
    if (at_ == file_bytes_) return Bytes();
    return Fail(ErrorCode::kCorrupt, "\"" + name_ + "\" goes on behind its end");
  }
  auto object = fs_->Read(path_, at_, size);
  if (object && object->size() < size) return EndsEarly();
  at_ += size;
  return object;
}

tl::unexpected<Error> ExportReader::EndsEarly() const {
  return Fail(ErrorCode::kCorrupt, "\"" + name_ + "\" ends early, after " +
                                       std::to_string(file_bytes_) +
                                       " bytes; copy it again from where it was written");
}

}  // namespace cairn
