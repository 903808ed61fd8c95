// ExportFile: several objects (store/object.h) in one file, to move a conversation to another
// machine. docs/format.md specifies the file.
//
//   | "cairn export 1\n" | size, object | size, object | … | 0 |
//
// Threads: one caller per object.

#ifndef CAIRN_STORE_EXPORT_FILE_H_
#define CAIRN_STORE_EXPORT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/result.h"

namespace cairn {

// Writes an export file under a temporary name and renames it when it is complete. If the writer is
// destroyed before that, the temporary file is removed and an existing file at the path is
// unchanged.
class ExportWriter {
 public:
  // `fs` outlives the writer; `temp` is in the folder of `path`. Returns the errors of Fs.
  static Result<std::unique_ptr<ExportWriter>> Create(Fs* fs, std::string temp, std::string path);
  ~ExportWriter();
  ExportWriter(const ExportWriter&) = delete;
  ExportWriter& operator=(const ExportWriter&) = delete;

  // Appends an object's file, optionally given in two parts. After an error the writer can only be
  // destroyed.
  Status Add(ByteSpan front, ByteSpan payload = {});
  // Returns the size of the file in bytes. The content is on the device then; the name is once the
  // folder is synced.
  Result<uint64_t> Finish();

 private:
  ExportWriter(Fs* fs, std::string temp, std::string path, std::unique_ptr<FileWriter> writer);
  Status Append(ByteSpan bytes);

  Fs* const fs_;
  const std::string temp_;
  const std::string path_;
  std::unique_ptr<FileWriter> writer_;  // null after Finish
  uint64_t bytes_ = 0;
};

// Reads an export file from its beginning to its end.
class ExportReader {
 public:
  // Reads the first line. `fs` outlives the reader; error messages call the file `name`. Returns
  // the errors of Fs, kCorrupt if it is not an export file, and kUnsupported if another version
  // wrote it.
  static Result<ExportReader> Open(const Fs* fs, std::string path, std::string name);

  // Returns the next object's file, unchecked, or empty bytes at the end. Returns kCorrupt if the
  // file ends early or continues past its end mark.
  Result<Bytes> Next();
  const std::string& name() const { return name_; }
  uint64_t file_bytes() const { return file_bytes_; }
  // The share of the file that has been read, in [0, 1].
  float share() const { return static_cast<float>(at_) / static_cast<float>(file_bytes_); }

 private:
  ExportReader(const Fs* fs, std::string path, std::string name, uint64_t file_bytes);
  Status ReadMagic();
  tl::unexpected<Error> EndsEarly() const;

  const Fs* fs_;
  std::string path_;
  std::string name_;
  uint64_t file_bytes_;
  uint64_t at_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_EXPORT_FILE_H_
