#include "download/file_download.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/text.h"
#include "download/hub/hub_files.h"
#include "download/part_file.h"

namespace cairn {
namespace {

constexpr double kLockPollMs = 200;
constexpr double kRetryAfterSMax = 120;
constexpr std::string_view kMagic = "GGUF";
// How often it is asked whether there is room for more of a file of unknown length.
constexpr uint64_t kRoomStepBytes = uint64_t{16} << 20U;

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Parses all of `text` as a number without a sign.
std::optional<uint64_t> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The header "Content-Range: bytes 100-199/200".
struct Range {
  uint64_t begin = 0;
  uint64_t total = 0;  // 0 if it is not told
};

std::optional<Range> ParseRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || dash == text.npos || slash == text.npos || slash < dash)
    return std::nullopt;
  const auto begin = NumberIn(text.substr(kUnit.size(), dash - kUnit.size()));
  if (!begin) return std::nullopt;
  return Range{*begin, NumberIn(text.substr(slash + 1)).value_or(0)};
}

// Identifies the content of a file as far as a look at it can: its length and its time.
std::string StampOf(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return "";
  return std::to_string(found.st_size) + " " + std::to_string(found.st_mtim.tv_sec) + "." +
         std::to_string(found.st_mtim.tv_nsec);
}

std::string MarkPath(const std::string& path) {
  return path + ".cairn-checked";
}

bool IsMarked(const std::string& path, const ContentSum& sum) {
  std::string line;
  std::getline(std::ifstream(MarkPath(path)), line);
  return line == sum.digits + " " + StampOf(path);
}

// A folder that cannot be written has its files checked at each start.
void Mark(const std::string& path, const ContentSum& sum) {
  const std::string made = MarkPath(path) + "." + std::to_string(getpid());
  std::ofstream file(made);
  file << sum.digits << " " << StampOf(path) << "\n";
  file.close();
  if (!file || std::rename(made.c_str(), MarkPath(path).c_str()) != 0) std::remove(made.c_str());
}

std::string EtagPath(const std::string& path) {
  return path + ".etag";
}

void NoteEtag(const std::string& path, const std::string& etag) {
  if (etag.empty()) {
    std::remove(EtagPath(path).c_str());
  } else {
    std::ofstream(EtagPath(path), std::ios::trunc) << etag << "\n";
  }
}

}  // namespace

std::string NotedEtag(const std::string& path) {
  std::string etag;
  std::getline(std::ifstream(EtagPath(path)), etag);
  return etag;
}

std::string SizeText(uint64_t bytes) {
  std::array<char, 32> text{};
  const auto number = static_cast<double>(bytes);
  if (bytes >= uint64_t{1} << 30U) {
    std::snprintf(text.data(), text.size(), "%.1f GiB", number / (1 << 30));
  } else if (bytes >= uint64_t{1} << 20U) {
    std::snprintf(text.data(), text.size(), "%.1f MiB", number / (1 << 20));
  } else {
    return std::to_string(bytes) + " bytes";
  }
  return text.data();
}

Status CheckRoom(const std::string& what, uint64_t bytes, const std::string& folder,
                 const DownloadHooks& hooks, const DownloadRules& rules) {
  std::string existing = folder;
  std::error_code error;
  while (!std::filesystem::exists(existing, error) && existing.size() > 1) {
    existing = std::filesystem::path(existing).parent_path().string();
  }
  uint64_t free = 0;
  if (hooks.free_bytes) {
    const auto told = hooks.free_bytes(existing);
    if (!told) return {};
    free = *told;
  } else {
    const auto space = std::filesystem::space(existing, error);
    if (error) return {};  // writing will tell
    free = space.available;
  }
  if (free >= bytes && free - bytes >= rules.bytes_kept_free) return {};
  return Fail(ErrorCode::kNoSpace, what + " needs " + SizeText(bytes) + " more, and " + folder +
                                       " has " + SizeText(free) +
                                       " free: remove something, or name a folder on another disk "
                                       "with the environment variable LLAMA_CACHE");
}

// One request for the rest of a file.
class FileDownload::Attempt {
 public:
  Attempt(const FileDownload& owner, const FileWanted& file, PartFile* part)
      : owner_(owner), file_(file), part_(part), expected_(file.bytes) {}

  // An error that is final() will not go away by trying again.
  Status Run() {
    TransferRequest request{file_.url, {{"Accept-Encoding", "identity"}}, false};
    if (part_->bytes() > 0 && !MayContinue()) {
      if (Status restarted = part_->Restart(""); !restarted) return Final(restarted.error());
    }
    // A process may have been killed between the last byte and the rename.
    const bool is_version_known = file_.sum.known() || !file_.etag.empty();
    if (IsComplete() && is_version_known) return {};
    if (part_->bytes() > 0) {
      request.headers.emplace_back("Range", "bytes=" + std::to_string(part_->bytes()) + "-");
      if (!part_->etag().empty()) request.headers.emplace_back("If-Range", part_->etag());
    }
    TransferSink sink;
    sink.head = [this](const TransferHead& head) { return TakeHead(head); };
    sink.body = [this](ByteSpan bytes) { return TakeBody(bytes); };
    Status run = owner_.web_->Run(request, sink);
    if (!run && run.error().code == ErrorCode::kInvalidArgument) return Final(run.error());
    if (failed_) return tl::unexpected(*failed_);
    // A connection may be cut right behind the last byte.
    if (accepted_ && IsComplete()) return {};
    if (!run) return run;
    if (expected_ == 0) return {};
    return Fail(ErrorCode::kUnavailable, "the connection ended early");
  }

  bool is_final() const { return final_; }
  double retry_after_ms() const { return retry_after_ms_; }

 private:
  // Without a checksum only an unchanged ETag tells that the rest belongs to the beginning.
  bool MayContinue() const {
    if (file_.sum.known()) return true;
    return part_->certain() && (file_.etag.empty() || file_.etag == part_->etag());
  }
  bool IsComplete() const { return expected_ > 0 && part_->bytes() == expected_; }

  Status Note(Error error) {
    failed_ = error;
    return tl::unexpected(std::move(error));
  }
  Status Final(Error error) {
    final_ = true;
    return Note(std::move(error));
  }
  // For an answer that contradicts what is known: the next attempt starts from the first byte.
  Status Contradiction(const std::string& why) {
    if (Status restarted = part_->Restart(""); !restarted) return Final(restarted.error());
    return Note({ErrorCode::kUnavailable, why});
  }

  Status TakeHead(const TransferHead& head) {
    const std::string coding = head.Header("Content-Encoding");
    if (!coding.empty() && !SameIgnoringCase(coding, "identity")) {
      return Contradiction("the server compresses the file (" + coding + ")");
    }
    if (head.status == 206) return TakePart(head);
    if (head.status == 416) return Contradiction("the server has no bytes behind those here");
    if (head.status != 200) return TakeRefusal(head);
    const uint64_t length = NumberIn(head.Header("Content-Length")).value_or(0);
    if (length > 0 && expected_ > 0 && length != expected_) {
      // A page, perhaps, of something between here and the server: the bytes here stay.
      return Note({ErrorCode::kUnavailable, OtherLength(length)});
    }
    if (Status restarted = part_->Restart(head.Header("ETag")); !restarted)
      return Final(restarted.error());
    return Expect(length);
  }

  Status TakePart(const TransferHead& head) {
    const auto range = ParseRange(head.Header("Content-Range"));
    if (!range || range->begin != part_->bytes()) {
      return Contradiction("the server sent another range than the one asked for");
    }
    const std::string etag = head.Header("ETag");
    if (!etag.empty() && !part_->etag().empty() && etag != part_->etag()) {
      return Contradiction("the file has changed on the server meanwhile");
    }
    return Expect(range->total);
  }

  // `total` is the length of the whole file as the server tells it, 0 if it does not.
  Status Expect(uint64_t total) {
    if (total > 0 && expected_ > 0 && total != expected_) return Contradiction(OtherLength(total));
    if (total > 0 && total < part_->bytes()) {
      return Contradiction("the server says that the file has " + std::to_string(total) +
                           " bytes, and more of it are here");
    }
    if (total > 0) expected_ = total;
    accepted_ = true;
    if (expected_ == 0) return {};
    const uint64_t missing = expected_ - part_->bytes();
    const Status room =
        CheckRoom(file_.name, missing, FolderOf(file_.path), owner_.hooks_, owner_.rules_);
    if (!room) return Final(room.error());
    return {};
  }

  std::string OtherLength(uint64_t offered) const {
    return "the server offers " + std::to_string(offered) + " bytes instead of " +
           std::to_string(expected_);
  }

  Status TakeRefusal(const TransferHead& head) {
    const std::string& what = owner_.hub_.empty() ? file_.url : file_.name;
    Error error = RefusalOf(head, what, owner_.hub_);
    const bool passes =
        head.status >= 500 || head.status == 408 || head.status == 425 || head.status == 429;
    if (!passes) return Final(std::move(error));
    const uint64_t after_s = NumberIn(head.Header("Retry-After")).value_or(0);
    retry_after_ms_ = std::min(static_cast<double>(after_s), kRetryAfterSMax) * 1000;
    return Note(std::move(error));
  }

  // A server that tells no length could go on until the device is full.
  Status CheckUnannounced(uint64_t bytes) {
    const uint64_t before = part_->bytes();
    if (before + bytes > owner_.rules_.unannounced_bytes_max) {
      if (Status restarted = part_->Restart(""); !restarted) return Final(restarted.error());
      return Final({ErrorCode::kUnavailable,
                    file_.name + ": the server does not say how long it is, and has sent " +
                        SizeText(owner_.rules_.unannounced_bytes_max) +
                        "; name a server that says so, or download it by other means"});
    }
    if (before > 0 && before / kRoomStepBytes == (before + bytes) / kRoomStepBytes) return {};
    const Status room = CheckRoom(file_.name, std::max(bytes, kRoomStepBytes), FolderOf(file_.path),
                                  owner_.hooks_, owner_.rules_);
    return room ? room : Final(room.error());
  }

  Status TakeBody(ByteSpan bytes) {
    if (expected_ > 0 && part_->bytes() + bytes.size() > expected_) {
      return Contradiction("the server sent more than " + std::to_string(expected_) + " bytes");
    }
    if (expected_ == 0) {
      if (Status kept = CheckUnannounced(bytes.size()); !kept) return kept;
    }
    if (Status added = part_->Append(bytes); !added) return Final(added.error());
    if (owner_.hooks_.progress && expected_ > 0) {
      owner_.hooks_.progress("Downloading " + file_.name,
                             static_cast<double>(part_->bytes()) / static_cast<double>(expected_));
    }
    return {};
  }

  const FileDownload& owner_;
  const FileWanted& file_;
  PartFile* const part_;
  uint64_t expected_;
  bool accepted_ = false;  // the response carries bytes of the file
  bool final_ = false;
  std::optional<Error> failed_;
  double retry_after_ms_ = 0;
};

FileDownload::FileDownload(WebGet* web, std::string hub, DownloadHooks hooks, DownloadRules rules)
    : web_(web), hub_(std::move(hub)), hooks_(std::move(hooks)), rules_(rules) {}

void FileDownload::Say(LogLevel level, const std::string& line) const {
  if (hooks_.log) hooks_.log(level, line);
}

void FileDownload::Sleep(double ms) const {
  if (hooks_.sleep) {
    hooks_.sleep(ms);
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  }
}

Status FileDownload::Get(const FileWanted& file) {
  const std::string before = StampOf(file.path);
  if (!file.replaces) {
    const auto there = IsThere(file.path, file.sum, file.name);
    if (!there) return tl::unexpected(there.error());
    if (*there) return {};
  }
  std::error_code error;
  std::filesystem::create_directories(FolderOf(file.path), error);
  if (error) {
    return Fail(ErrorCode::kUnavailable, "\"" + FolderOf(file.path) + "\": " + error.message());
  }
  const auto lock = WaitForLock(file);
  if (!lock) return tl::unexpected(lock.error());
  // Another process may have brought it meanwhile, or another version of it.
  const bool may_be_it = file.sum.known() || NotedEtag(file.path) == file.etag;
  if (StampOf(file.path) != before && may_be_it) {
    const auto there = IsThere(file.path, file.sum, file.name);
    if (!there) return tl::unexpected(there.error());
    if (*there) return {};
  }
  return Fetch(file);
}

Result<std::unique_ptr<DownloadLock>> FileDownload::WaitForLock(const FileWanted& file) {
  bool told = false;
  while (true) {
    auto lock = DownloadLock::Try(file.lock_path);
    if (!lock || *lock != nullptr) return lock;
    if (!std::exchange(told, true)) {
      Say(LogLevel::kInfo, "another process downloads " + file.name + ": waiting for it");
    }
    Sleep(kLockPollMs);
  }
}

Status FileDownload::Fetch(const FileWanted& file) {
  for (bool again = false;; again = true) {
    auto part = PartFile::Open(file.path);
    if (!part) return tl::unexpected(part.error());
    if ((*part)->bytes() > 0) {
      Say(LogLevel::kInfo, file.name + ": going on behind " + SizeText((*part)->bytes()));
    }
    if (Status received = Receive(file, part->get()); !received) return received;
    if (Status magic = CheckMagic(file, part->get()); !magic) return magic;
    const auto right = IsRight(file, **part);
    if (!right) return tl::unexpected(right.error());
    if (*right) {
      // Whenever the process is killed, no version is noted for the bytes of another one.
      NoteEtag(file.path, "");
      if (Status finished = (*part)->Finish(); !finished) return finished;
      NoteEtag(file.path, file.etag);
      if (file.sum.known()) Mark(file.path, file.sum);
      return {};
    }
    (*part)->Discard();
    const std::string wrong = file.name + ": the " + file.sum.kind() +
                              " of the bytes received is not the one that the server states, " +
                              file.sum.digits;
    if (again) {
      return Fail(ErrorCode::kCorrupt,
                  wrong +
                      ", the second time too; the file was deleted. Something between here and "
                      "the server changes it, or the server has a damaged copy");
    }
    Say(LogLevel::kWarning, wrong + "; the file was deleted and is downloaded once more");
  }
}

Status FileDownload::Receive(const FileWanted& file, PartFile* part) {
  // A part from before that is too long cannot be a beginning.
  if (file.bytes > 0 && part->bytes() > file.bytes) {
    if (Status restarted = part->Restart(""); !restarted) return restarted;
  }
  double pause_ms = rules_.pause_ms;
  for (int failures = 0;;) {
    const uint64_t before = part->bytes();
    Attempt attempt(*this, file, part);
    Status run = attempt.Run();
    if (run) return {};
    if (attempt.is_final()) return run;
    if (part->bytes() >= before + rules_.progress_bytes) {
      failures = 0;
      pause_ms = rules_.pause_ms;
    }
    if (++failures >= rules_.attempts_max) {
      return Fail(run.error().code, file.name + " could not be downloaded: " + run.error().message +
                                        "; " + SizeText(part->bytes()) +
                                        " are kept, and the next start goes on behind them");
    }
    const double wait_ms = std::max(pause_ms, attempt.retry_after_ms());
    Say(LogLevel::kWarning, file.name + ": " + run.error().message + "; trying again in " +
                                std::to_string(static_cast<int>(wait_ms / 1000)) + " s, behind " +
                                SizeText(part->bytes()));
    Sleep(wait_ms);
    pause_ms = std::min(2 * pause_ms, rules_.pause_ms_max);
  }
}

Status FileDownload::CheckMagic(const FileWanted& file, PartFile* part) {
  if (file.sum.known()) return {};
  std::string begin(kMagic.size(), ' ');
  std::ifstream(part->path(), std::ios::binary).read(begin.data(), std::ssize(begin));
  if (begin == kMagic) return {};
  part->Discard();
  return Fail(ErrorCode::kCorrupt, file.name +
                                       ": what the server sent is no GGUF file, perhaps a "
                                       "page; the URL of a file on Hugging Face has "
                                       "/resolve/ in it, not /blob/");
}

Result<bool> FileDownload::IsRight(const FileWanted& file, const PartFile& part) {
  if (!file.sum.known()) return true;
  if (file.bytes > 0 && part.bytes() != file.bytes) return false;
  const auto sum = SumOf(part.path(), part.bytes(), file.sum, file.name);
  if (!sum) return tl::unexpected(sum.error());
  return *sum == file.sum.digits;
}

Result<bool> FileDownload::IsThere(const std::string& path, const ContentSum& sum,
                                   const std::string& name) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) return false;
  if (!sum.known() || IsMarked(path, sum)) return true;
  const auto found = SumOf(path, bytes, sum, name);
  if (!found) return tl::unexpected(found.error());
  if (*found == sum.digits) {
    Mark(path, sum);
    return true;
  }
  Say(LogLevel::kWarning, path + " is damaged or another version: its " + sum.kind() + " is " +
                              *found + " instead of " + sum.digits);
  return false;
}

Result<std::string> FileDownload::SumOf(const std::string& path, uint64_t bytes,
                                        const ContentSum& like, const std::string& name) {
  ContentHash hash(like, bytes);
  const Status added = AddFile(path, bytes, &hash, [&](uint64_t done) {
    if (hooks_.progress) {
      hooks_.progress("Checking " + name, static_cast<double>(done) /
                                              static_cast<double>(std::max<uint64_t>(bytes, 1)));
    }
  });
  if (!added) return tl::unexpected(added.error());
  return hash.Finish();
}

}  // namespace cairn
