#include "base/process/trace_events.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/process/threads.h"
#include "base/utf8.h"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kGatherTime(200);
// This many waiting bytes are written before the interval has passed.
constexpr size_t kGatherBytes = size_t{64} << 10;
// The beginning of every file that this class writes.
constexpr std::string_view kOpening = "[\n{\"name\":\"process_name\",";
constexpr std::string_view kBetween = "\n,";
constexpr std::string_view kEnding = "\n]\n";

void AppendNumber(uint64_t value, std::string* to) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  to->append(text.data(), end.ptr);
}

// Appends the time in microseconds.
void AppendTime(int64_t ns, std::string* to) {
  const auto positive = static_cast<uint64_t>(std::max<int64_t>(ns, 0));
  AppendNumber(positive / 1000, to);
  const std::string thousandths = std::to_string(1000 + positive % 1000);
  to->append(".").append(thousandths, 1);
}

void AppendText(std::string_view text, std::string* to) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  to->push_back('"');
  for (const char c : ToValidUtf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      to->append("\\u00");
      to->push_back(kHexDigits[byte >> 4U]);
      to->push_back(kHexDigits[byte & 0xFU]);
      continue;
    }
    if (c == '"' || c == '\\') to->push_back('\\');
    to->push_back(c);
  }
  to->push_back('"');
}

void AppendTrack(const TraceTrack& track, std::string* to) {
  to->append(",\"pid\":");
  AppendNumber(track.process, to);
  to->append(",\"tid\":");
  AppendNumber(track.thread, to);
}

std::string NameLine(std::string_view what, const TraceTrack& track, std::string_view name) {
  std::string line = "{\"name\":\"";
  line.append(what).append("\",\"ph\":\"M\"");
  AppendTrack(track, &line);
  line.append(",\"args\":{\"name\":");
  AppendText(name, &line);
  return line.append("}}");
}

// Returns an error if writing the file anew would destroy something else.
Status MakeWay(Fs* fs, const std::string& path) {
  const Result<FileStat> stat = fs->Stat(path);
  if (!stat && stat.error().code != ErrorCode::kNotFound) return tl::unexpected(stat.error());
  // There is no file, or it is empty or not a regular file.
  if (!stat || stat->bytes == 0) return {};
  const Result<Bytes> begin = fs->Read(path, 0, kOpening.size());
  if (!begin) return tl::unexpected(begin.error());
  const ByteSpan expected = BytesOf(kOpening);
  if (!std::equal(begin->begin(), begin->end(), expected.begin(), expected.end())) {
    return Fail(ErrorCode::kInvalidArgument,
                "\"" + path + "\": it holds something else than trace events; name another file");
  }
  // A server that still writes there keeps its file, which then has no name.
  return fs->Remove(path);
}

}  // namespace

void TraceArgs::AddKey(std::string_view key) {
  if (!json_.empty()) json_.push_back(',');
  AppendText(key, &json_);
  json_.push_back(':');
}

TraceArgs& TraceArgs::Add(std::string_view key, uint64_t value) {
  AddKey(key);
  AppendNumber(value, &json_);
  return *this;
}

TraceArgs& TraceArgs::Add(std::string_view key, std::string_view value) {
  AddKey(key);
  AppendText(value, &json_);
  return *this;
}

TraceArgs& TraceArgs::Add(std::string_view key, std::span<const size_t> values) {
  AddKey(key);
  json_.push_back('[');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) json_.push_back(',');
    AppendNumber(values[i], &json_);
  }
  json_.push_back(']');
  return *this;
}

TraceArgs& TraceArgs::Add(const TraceArgs& more) {
  if (!json_.empty() && !more.json_.empty()) json_.push_back(',');
  json_ += more.json_;
  return *this;
}

Result<std::unique_ptr<TraceEvents>> TraceEvents::Open(Fs* fs, const std::string& path,
                                                       const Clock* clock,
                                                       TraceEventsOptions options) {
  if (Status free = MakeWay(fs, path); !free) return tl::unexpected(free.error());
  auto file = fs->Create(path);
  if (!file) return tl::unexpected(file.error());
  const auto process = static_cast<uint32_t>(getpid());
  std::string begin = "[\n" + NameLine("process_name", {process, process}, options.process_name);
  // This way a full disk is reported now and not at the end.
  if (Status begun = (*file)->Append(BytesOf(begin)); !begun) return tl::unexpected(begun.error());
  return std::unique_ptr<TraceEvents>(
      new TraceEvents(std::move(*file), path, clock, begin.size(), std::move(options)));
}

TraceEvents::TraceEvents(std::unique_ptr<FileWriter> file, std::string path, const Clock* clock,
                         uint64_t file_bytes, TraceEventsOptions options)
    : file_(std::move(file)),
      path_(std::move(path)),
      clock_(clock),
      begin_ms_(clock->NowMs()),
      process_(static_cast<uint32_t>(getpid())),
      options_(std::move(options)),
      file_bytes_(file_bytes),
      thread_([this] { Run(); }) {}

TraceEvents::~TraceEvents() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  if (loss_ != Loss::kBroken) static_cast<void>(file_->Append(BytesOf(kEnding)));
  static_cast<void>(file_->Close());
}

TraceTrack TraceEvents::OwnTrack() const {
  thread_local const auto thread = static_cast<uint32_t>(syscall(SYS_gettid));
  return {process_, thread};
}

void TraceEvents::NameThread(std::string_view name) {
  Put(NameLine("thread_name", OwnTrack(), name), begin_ms_);
}

void TraceEvents::NameTrack(const TraceTrack& track, std::string_view process,
                            std::string_view thread) {
  Put(NameLine("process_name", track, process), begin_ms_);
  Put(NameLine("thread_name", track, thread), begin_ms_);
}

int64_t TraceEvents::SinceBeginNs(double ms) const {
  return std::llround((ms - begin_ms_) * kNsPerMs);
}

void TraceEvents::Event(char phase, const TraceTrack& track, std::string_view name, double ms,
                        std::string_view end, const TraceArgs& args) {
  std::string line = "{\"name\":";
  AppendText(name, &line);
  line.append(",\"ph\":\"").append(1, phase).append("\",\"ts\":");
  AppendTime(SinceBeginNs(ms), &line);
  line.append(end);
  AppendTrack(track, &line);
  if (!args.json().empty()) line.append(",\"args\":{").append(args.json()).append("}");
  line.append("}");
  Put(line, ms);
}

void TraceEvents::Span(const TraceTrack& track, std::string_view name, double begin_ms,
                       double end_ms, const TraceArgs& args) {
  std::string end = ",\"dur\":";
  // Computed from the rounded times, so that spans that end together also do so in the file.
  AppendTime(SinceBeginNs(end_ms) - std::max<int64_t>(0, SinceBeginNs(begin_ms)), &end);
  Event('X', track, name, begin_ms, end, args);
}

void TraceEvents::LooseSpan(uint32_t process, std::string_view name, uint64_t id, double begin_ms,
                            double end_ms, const TraceArgs& args) {
  std::string end = ",\"cat\":\"request\",\"id\":";
  AppendNumber(id, &end);
  const TraceTrack track{process, process};
  Event('b', track, name, begin_ms, end, args);
  Event('e', track, name, std::max(begin_ms, end_ms), end, {});
}

void TraceEvents::Instant(std::string_view name, const TraceArgs& args) {
  Event('i', OwnTrack(), name, NowMs(), ",\"s\":\"t\"", args);
}

void TraceEvents::Counter(std::string_view name, const TraceArgs& values) {
  Event('C', {process_, process_}, name, NowMs(), "", values);
}

void TraceEvents::Put(std::string_view line, double ms) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    const size_t before = waiting_.size();
    const size_t after = before + kBetween.size() + line.size();
    Loss loss = loss_ > Loss::kSlow ? loss_ : Loss::kNone;
    if (after > options_.waiting_bytes_max) loss = std::max(loss, Loss::kSlow);
    if (file_bytes_ + after - before > options_.file_bytes_max) loss = std::max(loss, Loss::kFull);
    if (loss != Loss::kNone) {
      wake = loss > loss_;
      loss_ = std::max(loss_, loss);
      ++stats_.lost;
      ++unmarked_;
      lost_ns_ = SinceBeginNs(ms);
    } else {
      waiting_.append(kBetween).append(line);
      ++waiting_events_;
      file_bytes_ += after - before;
      // The thread waits for the first line, then for enough lines.
      wake = before == 0 || (before < kGatherBytes && after >= kGatherBytes);
    }
  }
  if (wake) changed_.NotifyAll();
}

void TraceEvents::Flush() {
  const MutexLock lock(mutex_);
  flushing_ = true;
  changed_.NotifyAll();
  changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return waiting_.empty() && !writing_; });
  flushing_ = false;
}

TraceEvents::Stats TraceEvents::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void TraceEvents::Take(std::string* lines) {
  lines->clear();
  lines->swap(waiting_);
  waiting_events_ = 0;
  if (unmarked_ == 0 || lines->empty()) return;
  lines->append(kBetween).append("{\"name\":\"events lost\",\"ph\":\"i\",\"ts\":");
  AppendTime(lost_ns_, lines);
  lines->append(",\"s\":\"p\"");
  AppendTrack({process_, process_}, lines);
  lines->append(",\"args\":{\"count\":");
  AppendNumber(std::exchange(unmarked_, 0), lines);
  lines->append("}}");
}

Status TraceEvents::TryAppend(const std::string& lines) const {
  Status written;
  const Status tried = TryWork([&] { written = file_->Append(BytesOf(lines)); });
  return tried ? written : tried;
}

void TraceEvents::Run() {
  Loss said = Loss::kNone;
  std::string lines;
  const MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(
        mutex_, [&]() REQUIRES(mutex_) { return stopping_ || !waiting_.empty() || loss_ > said; });
    if (stopping_ && waiting_.empty()) return;
    changed_.WaitFor(mutex_, kGatherTime, [this]() REQUIRES(mutex_) {
      return stopping_ || flushing_ || waiting_.size() >= kGatherBytes;
    });
    const uint64_t events = waiting_events_;
    Status written = TryWork([&]() REQUIRES(mutex_) { Take(&lines); });
    if (loss_ == Loss::kBroken && said == loss_) {
      // These events arrived while the write failed.
      stats_.lost += events;
      changed_.NotifyAll();
      continue;
    }
    writing_ = true;
    if (written) {
      const MutexUnlock unlocked(mutex_);
      written = TryAppend(lines);
    }
    writing_ = false;
    if (!written) loss_ = Loss::kBroken;
    (written ? stats_.written : stats_.lost) += events;
    changed_.NotifyAll();
    if (loss_ <= said) continue;
    said = loss_;
    const MutexUnlock unlocked(mutex_);
    static_cast<void>(TryWork([&] { Say(said, written ? "" : written.error().message); }));
  }
}

void TraceEvents::Say(Loss loss, const std::string& why) const {
  if (!options_.log) return;
  std::string line = "trace events are missing from \"" + path_ + "\": the disk is too slow";
  if (loss == Loss::kFull) line = "\"" + path_ + "\" is full: no more trace events are written";
  if (loss == Loss::kBroken) line = "no more trace events are written: " + why;
  options_.log(LogLevel::kWarning, line);
}

}  // namespace cairn
