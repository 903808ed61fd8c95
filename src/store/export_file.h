// ExportFile: several objects (store/object.h) in one file, for a conversation that is carried
// elsewhere. docs/format.md specifies it.
//
//   | "cairn export 1\n" | size, object | size, object | … | 0 |
//
// Threads: one caller each.

#ifndef CAIRN_STORE_EXPORT_FILE_H_
#define CAIRN_STORE_EXPORT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/fs.h"
#include "base/result.h"

namespace cairn {

// Writes such a file under another name; it takes its own when it is whole. Given up before that,
// nothing of it stays, and what had the name before does.
class ExportWriter {
 public:
  // `fs` outlives it; `temp` is in the folder of `path`. Errors of Fs.
  static Result<std::unique_ptr<ExportWriter>> Create(Fs* fs, std::string temp, std::string path);
  ~ExportWriter();
  ExportWriter(const ExportWriter&) = delete;
  ExportWriter& operator=(const ExportWriter&) = delete;

  // An object's file, which may come in two parts. After an error it can only be given up.
  Status Add(ByteSpan front, ByteSpan payload = {});
  // Returns the bytes of the file, which is on the device then; its name is, too, once the folder
  // is synced.
  Result<uint64_t> Finish();

 private:
  ExportWriter(Fs* fs, std::string temp, std::string path, std::unique_ptr<FileWriter> writer);
  Status Append(ByteSpan bytes);

  Fs* const fs_;
  const std::string temp_;
  const std::string path_;
  std::unique_ptr<FileWriter> writer_;  // null: finished
  uint64_t bytes_ = 0;
};

// Reads one from its begin to its end.
class ExportReader {
 public:
  // Reads the first line. `fs` outlives it; `name` is what errors call the file.
  // Errors of Fs; kCorrupt: it is no such file; kUnsupported: another version wrote it.
  static Result<ExportReader> Open(const Fs* fs, std::string path, std::string name);

  // The next object's file, not looked at; empty at the end. kCorrupt: the file ends early, or goes
  // on behind its end.
  Result<Bytes> Next();
  const std::string& name() const { return name_; }
  uint64_t file_bytes() const { return file_bytes_; }
  // The share that is read.
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
