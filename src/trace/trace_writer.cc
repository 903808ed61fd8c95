#include "trace/trace_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "base/process/threads.h"

namespace cairn {
namespace {

// Mooncake's block size, which readers of its traces assume. token_ids are exact.
constexpr size_t kHashBlockTokens = 512;

const char* EndName(EndedBy end) {
  switch (end) {
    case EndedBy::kModel:
      return "model";
    case EndedBy::kStopText:
      return "stop_text";
    case EndedBy::kLength:
      return "length";
    case EndedBy::kCancelled:
      return "cancelled";
    case EndedBy::kFailed:
      return "failed";
  }
  return "";
}

uint64_t Rounded(double ms) {
  return static_cast<uint64_t>(std::llround(std::max(ms, 0.0)));
}

// Returns the ids of the prompt's blocks. If the prompt ends within the last block, that block has
// an id of its own.
Json HashIds(const std::vector<BlockRange>& numbers, size_t prompt_tokens) {
  Json ids = Json::array();
  size_t begin = 0;
  for (const BlockRange& range : numbers) {
    const size_t end = begin + (range.last - range.first + 1);
    while (ids.size() * kHashBlockTokens < prompt_tokens) {
      const size_t block_end = std::min((ids.size() + 1) * kHashBlockTokens, prompt_tokens);
      if (block_end > end) break;
      ids.push_back(range.first + (block_end - 1 - begin));
    }
    begin = end;
  }
  return ids;
}

Json Ranges(const std::vector<BlockRange>& numbers) {
  Json ranges = Json::array();
  for (const BlockRange& range : numbers) ranges.push_back({range.first, range.last});
  return ranges;
}

void AddShape(const PromptShape& shape, Json* line) {
  Json& to = *line;
  if (shape.header_end > 0) to["header_end"] = shape.header_end;
  if (shape.messages_end > 0) to["messages_end"] = shape.messages_end;
  if (shape.query_end > 0) to["query_end"] = shape.query_end;
  for (const Turn& turn : shape.turns) {
    to["turns"].push_back({turn.position, turn.by_user ? 1 : 0});
  }
  if (!shape.eog_ends.empty()) to["eog_ends"] = shape.eog_ends;
  for (const ReasoningRange& range : shape.reasoning) {
    to["reasoning"].push_back({range.begin, range.end});
  }
  for (const ClientMark& mark : shape.marks) {
    to["marks"].push_back({mark.position, Rounded(mark.keep_ms)});
  }
}

// Returns the number of the token at `position`.
uint32_t NumberAt(const std::vector<BlockRange>& numbers, size_t position) {
  for (const BlockRange& range : numbers) {
    const size_t count = range.last - range.first + 1;
    if (position < count) return static_cast<uint32_t>(range.first + position);
    position -= count;
  }
  return 0;
}

}  // namespace

Result<TraceWriter::Found> TraceWriter::ReadFound(const std::string& path) {
  Found found;
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  std::ifstream in(path);
  std::string text;
  while (std::getline(in, text)) {
    found.torn = in.eof();
    const auto line = Json::parse(text, nullptr, false);
    if (line.is_discarded() || text.empty()) continue;
    if (!line.is_object() || !line.contains("token_ids")) {
      return Fail(ErrorCode::kInvalidArgument,
                  "'" + path + "' holds something else than a trace of this server; name another");
    }
    found.next_ms = std::max(found.next_ms, line.value("timestamp", uint64_t{0}) + 1);
    found.next_conversation =
        std::max(found.next_conversation, line.value("conversation", uint64_t{0}) + 1);
    found.next_number = std::max(found.next_number, line.value("token_ids_end", uint64_t{0}));
  }
  return found;
}

Result<std::unique_ptr<TraceWriter>> TraceWriter::Open(const std::string& path,
                                                       TraceWriterOptions options) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const auto unavailable = [&](const std::string& why) {
    return Fail(ErrorCode::kUnavailable, "'" + path + "' " + why);
  };
  if (fd < 0) return unavailable(std::string("cannot be written: ") + std::strerror(errno));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    close(fd);
    return unavailable("is being written by another server");
  }
  auto found = ReadFound(path);
  if (!found) {
    close(fd);
    return tl::unexpected(found.error());
  }
  return std::unique_ptr<TraceWriter>(new TraceWriter(fd, path, *found, std::move(options)));
}

TraceWriter::TraceWriter(int fd, const std::string& path, const Found& found,
                         TraceWriterOptions options)
    : fd_(fd),
      path_(path),
      options_(std::move(options)),
      numbers_(found.next_number, options_.tokens_max),
      next_conversation_(found.next_conversation),
      begin_ms_(found.next_ms),
      torn_(found.torn),
      thread_([this] { Run(); }) {}

TraceWriter::~TraceWriter() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
  close(fd_);
}

void TraceWriter::OnAnswerEnd(const EndedAnswer& answer) {
  Ended ended;
  ended.request = answer.request;
  ended.answer = answer.answer;
  ended.answers = answer.answers;
  ended.name_space = answer.name_space;
  ended.shape = answer.shape;
  ended.tokens.reserve(answer.prompt.size() + answer.tokens.size());
  ended.tokens.assign(answer.prompt.begin(), answer.prompt.end());
  ended.tokens.insert(ended.tokens.end(), answer.tokens.begin(), answer.tokens.end());
  ended.prompt_tokens = answer.prompt.size();
  ended.ended_by = answer.ended_by;
  ended.reuse = answer.reuse;
  ended.slot = answer.slot;
  ended.processed_tokens = answer.processed_tokens;
  ended.submitted_ms = answer.submitted_ms;
  ended.cost = answer.cost;
  {
    const MutexLock lock(mutex_);
    // The writer needs to learn of every answer; one that finds the queue full is passed without
    // tokens.
    if (queue_.size() >= options_.queue_max) ended.tokens.clear();
    queue_.push_back(std::move(ended));
  }
  changed_.NotifyAll();
}

void TraceWriter::Flush() {
  const MutexLock lock(mutex_);
  changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return queue_.empty() && !writing_; });
}

TraceWriter::Stats TraceWriter::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void TraceWriter::Run() {
  while (true) {
    Ended ended;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      ended = std::move(queue_.front());
      queue_.pop_front();
      writing_ = true;
    }
    const Status taken = TryWork([&] { Take(std::move(ended)); });
    if (!taken) static_cast<void>(TryWork([&] { Lose(taken.error().message); }));
    {
      const MutexLock lock(mutex_);
      writing_ = false;
    }
    changed_.NotifyAll();
  }
}

void TraceWriter::Take(Ended ended) {
  const uint64_t number = ended.request;
  std::vector<Ended>& request = unfinished_[number];
  request.push_back(std::move(ended));
  if (request.size() < request.front().answers) return;
  std::vector<Ended> whole = std::move(request);
  unfinished_.erase(number);
  Write(std::move(whole));
}

void TraceWriter::Write(std::vector<Ended> request) {
  std::sort(request.begin(), request.end(),
            [](const Ended& a, const Ended& b) { return a.answer < b.answer; });
  const bool late = std::any_of(request.begin(), request.end(),
                                [](const Ended& ended) { return ended.tokens.empty(); });
  if (late) return Lose("the disk is too slow");
  const std::string line = ToLine(request);
  if (line.empty()) return Lose("it has as many tokens as a trace can have; begin another");
  if (!Append(line)) return Lose(std::strerror(errno));
  const MutexLock lock(mutex_);
  ++stats_.written;
}

// A conversation is identified by the end of the messages that it began with. Requests that pass
// through that point belong to it, whatever else they changed.
uint64_t TraceWriter::ConversationOf(const Ended& ended, const std::vector<BlockRange>& numbers) {
  for (auto range = numbers.rbegin(); range != numbers.rend(); ++range) {
    const auto after = conversations_.upper_bound(range->last);
    if (after == conversations_.begin()) continue;
    const auto found = std::prev(after);
    if (found->first >= range->first) return found->second;
  }
  const size_t end = ended.shape.messages_end > 0 ? ended.shape.messages_end : ended.prompt_tokens;
  conversations_[NumberAt(numbers, std::min(end, ended.prompt_tokens) - 1)] = next_conversation_;
  return next_conversation_++;
}

std::string TraceWriter::ToLine(const std::vector<Ended>& request) {
  const Ended& first = request.front();
  if (!first_submitted_ms_) first_submitted_ms_ = first.submitted_ms;
  Json line;
  const auto add_answer = [this](const Ended& ended, Json* to) {
    const auto numbers = numbers_.Add(ended.name_space, ended.tokens);
    if (!numbers) return false;
    (*to)["output_length"] = ended.tokens.size() - ended.prompt_tokens;
    if (ended.answer == 0) (*to)["hash_ids"] = HashIds(*numbers, ended.prompt_tokens);
    (*to)["token_ids"] = Ranges(*numbers);
    (*to)["end"] = EndName(ended.ended_by);
    (*to)["processed"] = ended.processed_tokens;
    (*to)["reused"] = ended.cost.reused_tokens;
    if (ended.slot) (*to)["slot"] = *ended.slot;
    (*to)["queue_ms"] = Rounded(ended.cost.queue_ms);
    (*to)["prompt_ms"] = Rounded(ended.cost.prompt_ms);
    (*to)["answer_ms"] = Rounded(ended.cost.generated_ms);
    if (ended.answer == 0) (*to)["conversation"] = ConversationOf(ended, *numbers);
    return true;
  };
  line["timestamp"] = begin_ms_ + Rounded(first.submitted_ms - *first_submitted_ms_);
  line["input_length"] = first.prompt_tokens;
  if (!add_answer(first, &line)) return "";
  line["namespace"] = name_spaces_.try_emplace(first.name_space, name_spaces_.size()).first->second;
  if (!first.reuse) line["reuse"] = false;
  AddShape(first.shape, &line);
  for (size_t i = 1; i < request.size(); ++i) {
    Json more;
    if (!add_answer(request[i], &more)) return "";
    line["more_answers"].push_back(std::move(more));
  }
  line["token_ids_end"] = numbers_.next();
  return line.dump();
}

bool TraceWriter::Append(const std::string& line) {
  const std::string text = (torn_ ? "\n" : "") + line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      torn_ = torn_ || done > 0;
      if (n == 0) errno = ENOSPC;
      return false;
    }
    done += static_cast<size_t>(n);
  }
  torn_ = false;
  return true;
}

void TraceWriter::Lose(const std::string& why) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    first = stats_.lost++ == 0;
  }
  if (first && options_.log) {
    options_.log(LogLevel::kWarning, "--trace-out " + path_ + ": a request is missing: " + why +
                                         "; others may be, and this is said once");
  }
}

}  // namespace cairn
