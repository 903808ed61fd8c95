#include "fleet/remote/valkey/valkey_store.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <random>
#include <utility>

namespace cairn {
namespace {

using Type = ValkeyReply::Type;

// A key may hold a few more entries than a reader takes before the oldest are removed.
constexpr int64_t kEntriesBeforePruning = static_cast<int64_t>(kEntriesPerKeyMax) * 3 / 2;
// The chunks that are on the way at a time.
constexpr size_t kChunksAtOnce = 4;
// The size in a head is what somebody wrote there. More than this is allocated as it arrives.
constexpr uint64_t kReservedBytesMax = uint64_t{64} << 20;

// Commands with the texts that they refer to.
class Batch {
 public:
  // Begins a command.
  Batch& Do(std::string_view name) {
    commands_.emplace_back();
    return Text(name);
  }
  Batch& Text(std::string_view argument) {
    texts_.emplace_back(argument);
    return Raw(BytesOf(texts_.back()));
  }
  // The bytes stay the caller's.
  Batch& Raw(ByteSpan bytes) {
    commands_.back().push_back(bytes);
    return *this;
  }
  const std::vector<ValkeyClient::Command>& commands() const { return commands_; }

 private:
  std::deque<std::string> texts_;
  std::vector<ValkeyClient::Command> commands_;
};

std::string TextOf(const Bytes& bytes) {
  return std::string(TextView(bytes));
}

Status StatusOf(const Result<std::vector<ValkeyReply>>& replies) {
  return replies ? Status{} : Status(tl::unexpected(replies.error()));
}

class ValkeyIndex final : public RemoteIndex {
 public:
  explicit ValkeyIndex(ValkeyClient* client) : client_(client) {}

  Result<std::vector<std::vector<RemoteEntry>>> Find(const std::vector<std::string>& keys,
                                                     Deadline deadline) override {
    Batch batch;
    for (const std::string& key : keys) batch.Do("HVALS").Text(key);
    const auto replies = client_->Run(batch.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    std::vector<std::vector<RemoteEntry>> all(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      for (const ValkeyReply& value : (*replies)[i].list) {
        if (const auto entry = DecodeEntry(value.text)) all[i].push_back(*entry);
      }
      KeepNewest(&all[i]);
    }
    return all;
  }

  Status Add(const std::vector<Row>& rows, int64_t ttl_s, Deadline deadline) override {
    Batch batch;
    const std::string ttl = std::to_string(ttl_s);
    for (const Row& row : rows) {
      batch.Do("HSET").Text(row.key).Text(ToText(row.entry.id)).Text(EncodeEntry(row.entry));
      batch.Do("EXPIRE").Text(row.key).Text(ttl);
      batch.Do("HLEN").Text(row.key);
    }
    const auto replies = client_->Run(batch.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    for (size_t i = 0; i < rows.size(); ++i) {
      if ((*replies)[3 * i + 2].number <= kEntriesBeforePruning) continue;
      if (Status pruned = Prune(rows[i].key, deadline); !pruned) return pruned;
    }
    return {};
  }

  Status Remove(const std::string& key, const RemoteId& id, Deadline deadline) override {
    Batch batch;
    batch.Do("HDEL").Text(key).Text(ToText(id));
    return StatusOf(client_->Run(batch.commands(), deadline));
  }

  void Cancel() override { client_->Cancel(); }

 private:
  // Removes all but the newest entries.
  Status Prune(const std::string& key, Deadline deadline) {
    Batch all;
    all.Do("HGETALL").Text(key);
    const auto replies = client_->Run(all.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    const std::vector<ValkeyReply>& fields = replies->front().list;
    std::vector<std::pair<int64_t, std::string>> by_age;
    for (size_t i = 0; i + 1 < fields.size(); i += 2) {
      const auto entry = DecodeEntry(fields[i + 1].text);
      by_age.emplace_back(entry ? -entry->written_s : 0, TextOf(fields[i].text));
    }
    if (by_age.size() <= kEntriesPerKeyMax) return {};
    std::sort(by_age.begin(), by_age.end());
    Batch removal;
    removal.Do("HDEL").Text(key);
    for (size_t i = kEntriesPerKeyMax; i < by_age.size(); ++i) removal.Text(by_age[i].second);
    return StatusOf(client_->Run(removal.commands(), deadline));
  }

  ValkeyClient* const client_;
};

// The value of an object's key.
struct Head {
  uint64_t bytes = 0;
  std::string upload;

  size_t chunks() const { return (bytes + kValkeyChunkBytes - 1) / kValkeyChunkBytes; }
};

std::optional<Head> ParseHead(const std::string& text) {
  Head head;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, head.bytes);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ' ') return std::nullopt;
  head.upload.assign(parsed.ptr + 1, end);
  if (head.bytes > kRemoteObjectBytesMax || head.upload.empty()) return std::nullopt;
  return head;
}

constexpr std::string_view kHeadPrefix = "c1o:";

std::string HeadKey(const std::string& path) {
  return std::string(kHeadPrefix) + path;
}

std::string ChunkKey(const std::string& path, const Head& head, size_t number) {
  return "c1c:" + path + ":" + head.upload + ":" + std::to_string(number);
}

class ValkeyObjects final : public RemoteObjects {
 public:
  ValkeyObjects(ValkeyClient* client, int64_t ttl_s)
      : client_(client), ttl_(std::to_string(ttl_s)) {}

  Result<bool> Has(const std::string& path, Deadline deadline) override {
    const auto head = FindHead(path, deadline);
    if (!head) return tl::unexpected(head.error());
    if (!*head) return false;
    return Refresh(path, **head, deadline);
  }

  Status Put(const std::string& path, ByteSpan bytes, Deadline deadline) override {
    auto there = FindHead(path, deadline);
    if (!there) return tl::unexpected(there.error());
    if (*there) {
      const auto whole = Refresh(path, **there, deadline);
      if (!whole) return tl::unexpected(whole.error());
      if (*whole) return {};
    }
    Head head;
    head.bytes = bytes.size();
    head.upload = NewUpload();
    for (size_t at = 0; at < head.chunks(); at += kChunksAtOnce) {
      Batch batch;
      for (size_t i = at; i < std::min(head.chunks(), at + kChunksAtOnce); ++i) {
        const size_t begin = i * kValkeyChunkBytes;
        batch.Do("SET").Text(ChunkKey(path, head, i));
        batch.Raw(bytes.subspan(begin, std::min(kValkeyChunkBytes, bytes.size() - begin)));
        batch.Text("EX").Text(ttl_);
      }
      if (Status sent = StatusOf(client_->Run(batch.commands(), deadline)); !sent) {
        Drop(path, head);
        return sent;
      }
    }
    Batch batch;
    batch.Do("SET").Text(HeadKey(path)).Text(std::to_string(head.bytes) + " " + head.upload);
    batch.Text("EX").Text(ttl_);
    // A head whose chunks are gone is replaced.
    if (!*there) batch.Text("NX");
    const auto replies = client_->Run(batch.commands(), deadline);
    // Another server was first.
    if (replies && replies->front().type == Type::kNil) Drop(path, head);
    return StatusOf(replies);
  }

  Result<Bytes> Get(const std::string& path, uint64_t bytes_max, Deadline deadline) override {
    const auto head = FindHead(path, deadline);
    if (!head) return tl::unexpected(head.error());
    if (!*head) return Fail(ErrorCode::kNotFound, "there is no such object");
    const uint64_t wanted = std::min((*head)->bytes, bytes_max);
    Bytes bytes;
    bytes.reserve(std::min(wanted, kReservedBytesMax));
    for (size_t at = 0; bytes.size() < wanted; at += kChunksAtOnce) {
      Batch batch;
      for (size_t i = at; i < std::min((*head)->chunks(), at + kChunksAtOnce); ++i) {
        batch.Do("GETEX").Text(ChunkKey(path, **head, i)).Text("EX").Text(ttl_);
      }
      const auto replies = client_->Run(batch.commands(), deadline);
      if (!replies) return tl::unexpected(replies.error());
      for (const ValkeyReply& chunk : *replies) {
        const size_t size = std::min<size_t>(kValkeyChunkBytes, (*head)->bytes - bytes.size());
        if (chunk.type != Type::kText || chunk.text.size() != size) {
          // The server has evicted it; whoever has the object may upload it again.
          Drop(path, **head);
          return Fail(ErrorCode::kNotFound, "a part of the object is gone");
        }
        bytes.insert(bytes.end(), chunk.text.begin(), chunk.text.end());
      }
    }
    if (bytes.size() > wanted) bytes.resize(wanted);
    return bytes;
  }

  Status Remove(const std::string& path, Deadline deadline) override {
    const auto head = FindHead(path, deadline);
    if (!head) return tl::unexpected(head.error());
    if (!*head) return {};
    return StatusOf(client_->Run(Removal(path, **head).commands(), deadline));
  }

  Status List(const std::string& prefix,
              const std::function<void(const std::string&, uint64_t)>& visit,
              Deadline deadline) override {
    std::string cursor = "0";
    do {
      Batch scan;
      scan.Do("SCAN").Text(cursor).Text("MATCH").Text(HeadKey(prefix) + "*");
      scan.Text("COUNT").Text("1000");
      const auto replies = client_->Run(scan.commands(), deadline);
      if (!replies) return tl::unexpected(replies.error());
      const std::vector<ValkeyReply>& page = replies->front().list;
      if (page.size() != 2) return Fail(ErrorCode::kCorrupt, "SCAN answers something else");
      cursor = TextOf(page[0].text);
      if (Status visited = Visit(page[1].list, visit, deadline); !visited) return visited;
    } while (cursor != "0");
    return {};
  }

  void Cancel() override { client_->Cancel(); }

 private:
  Status Visit(const std::vector<ValkeyReply>& keys,
               const std::function<void(const std::string&, uint64_t)>& visit, Deadline deadline) {
    Batch batch;
    for (const ValkeyReply& key : keys) batch.Do("GET").Raw(key.text);
    const auto replies = client_->Run(batch.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto head = ParseHead(TextOf((*replies)[i].text));
      if (head) visit(TextOf(keys[i].text).substr(kHeadPrefix.size()), head->bytes);
    }
    return {};
  }

  Result<std::optional<Head>> FindHead(const std::string& path, Deadline deadline) {
    Batch batch;
    batch.Do("GETEX").Text(HeadKey(path)).Text("EX").Text(ttl_);
    const auto replies = client_->Run(batch.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    if (replies->front().type != Type::kText) return std::optional<Head>{};
    return ParseHead(TextOf(replies->front().text));
  }

  // Returns whether all chunks are there, and lets them live longer.
  Result<bool> Refresh(const std::string& path, const Head& head, Deadline deadline) {
    Batch batch;
    for (size_t i = 0; i < head.chunks(); ++i) {
      batch.Do("EXPIRE").Text(ChunkKey(path, head, i)).Text(ttl_);
    }
    const auto replies = client_->Run(batch.commands(), deadline);
    if (!replies) return tl::unexpected(replies.error());
    return std::all_of(replies->begin(), replies->end(),
                       [](const ValkeyReply& reply) { return reply.number == 1; });
  }

  static Batch Removal(const std::string& path, const Head& head) {
    Batch batch;
    batch.Do("DEL").Text(HeadKey(path));
    for (size_t i = 0; i < head.chunks(); ++i) batch.Do("DEL").Text(ChunkKey(path, head, i));
    return batch;
  }

  // Removes the chunks of an upload, and the head if it is that upload's. If it fails, they expire.
  void Drop(const std::string& path, const Head& head) {
    constexpr double kDropMsMax = 1000;
    const Deadline deadline = DeadlineIn(kDropMsMax);
    const auto there = FindHead(path, deadline);
    if (!there) return;
    Batch batch;
    if (*there && (*there)->upload == head.upload) batch.Do("DEL").Text(HeadKey(path));
    for (size_t i = 0; i < head.chunks(); ++i) batch.Do("DEL").Text(ChunkKey(path, head, i));
    static_cast<void>(client_->Run(batch.commands(), deadline));
  }

  static std::string NewUpload() {
    std::random_device random;
    return std::to_string(uint64_t{random()} << 32 | random());
  }

  ValkeyClient* const client_;
  const std::string ttl_;
};

}  // namespace

std::unique_ptr<RemoteIndex> MakeValkeyIndex(ValkeyClient* client) {
  return std::make_unique<ValkeyIndex>(client);
}

std::unique_ptr<RemoteObjects> MakeValkeyObjects(ValkeyClient* client, int64_t ttl_s) {
  return std::make_unique<ValkeyObjects>(client, ttl_s);
}

}  // namespace cairn
