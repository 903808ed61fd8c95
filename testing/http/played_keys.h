// For tests: records what each API key has sent and received, and finds what another key got to see
// of it.
//
// A prompt may be reused only as far as an earlier prompt of the same key, or the answer to one,
// has the same tokens. No key may see another key's secret, or the id of another key's request or
// checkpoint. Any violation is a crossing.
//
// Thread-safe.

#ifndef CAIRN_TESTING_HTTP_PLAYED_KEYS_H_
#define CAIRN_TESTING_HTTP_PLAYED_KEYS_H_

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/text.h"
#include "base/tokens.h"

namespace cairn::test {

struct HeardReply {
  int status = 0;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Returns the body, or the data of all its events, or all its lines.
inline std::vector<Json> JsonsOf(const std::string& body) {
  std::vector<Json> jsons;
  const auto add = [&jsons](std::string_view text) {
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_discarded()) jsons.push_back(std::move(json));
  };
  add(body);
  constexpr std::string_view kData = "data: ";
  for (size_t at = body.find(kData); at != std::string::npos; at = body.find(kData, at + 1)) {
    const size_t begin = at + kData.size();
    add(std::string_view(body).substr(begin, body.find('\n', begin) - begin));
  }
  if (body.find("\n{") != std::string::npos && body.starts_with('{')) {
    for (size_t at = 0; at < body.size(); at = body.find('\n', at) + 1) {
      add(std::string_view(body).substr(at, body.find('\n', at) - at));
      if (body.find('\n', at) == std::string::npos) break;
    }
  }
  return jsons;
}

// The kinds of crossings.
enum class Crossing : uint8_t {
  kReused,   // more of a prompt was reused than the key ever sent
  kSecret,   // text that another key wrote
  kListed,   // another key's request
  kReached,  // an answer to a request for another key's object
};

class PlayedKeys {
 public:
  explicit PlayedKeys(size_t keys)
      : said_(keys), answered_(keys), told_(keys), checkpoints_(keys) {}

  // A text that only key `key` ever sends; short, so that any excerpt contains it.
  static std::string Secret(size_t key) { return "~K" + std::to_string(key) + "~"; }

  // Records a prompt that is about to be sent. Returns its number.
  size_t Send(size_t key, Tokens prompt) {
    const std::lock_guard lock(mutex_);
    said_[key].push_back(std::move(prompt));
    return said_[key].size() - 1;
  }
  // Records the sequences that the answer and prefetching may have stored.
  void Answered(size_t key, size_t prompt, std::vector<Tokens> known) {
    const std::lock_guard lock(mutex_);
    for (Tokens& tokens : known) answered_[key].push_back({prompt, std::move(tokens)});
  }

  // Checks an answer. `prompt` is the number of the prompt, if there is one. `named` is another
  // key's id in the question itself, which an answer may repeat.
  void Hear(size_t key, const std::string& question, const HeardReply& reply,
            std::optional<size_t> prompt, const std::string& named = "") {
    const std::lock_guard lock(mutex_);
    std::string all = reply.body;
    for (const auto& [name, value] : reply.headers) all += "\n" + name + ": " + value;
    for (size_t other = 0; other < said_.size(); ++other) {
      if (other != key && all.find(Secret(other)) != std::string::npos) {
        Note(Crossing::kSecret, key, question, all);
      }
    }
    size_t reused = HeaderNumber(reply, "x-cairn-reused-tokens");
    for (const Json& json : JsonsOf(reply.body)) {
      Collect(json, key, named);
      if (prompt) reused = std::max(reused, MostReused(json));
    }
    if (!prompt) return;
    reused_ += reused;
    const Reuse reuse{key, *prompt, said_[key].size(), reused, question + ": " + all};
    if (reused > Known(reuse)) doubtful_.push_back(reuse);
  }
  void MustBeMissing(size_t key, const std::string& question, const HeardReply& reply) {
    const std::lock_guard lock(mutex_);
    ++asked_for_others_;
    // A 401 means that the key itself was removed.
    if (reply.status != 404 && reply.status != 401) {
      Note(Crossing::kReached, key, question, std::to_string(reply.status) + ": " + reply.body);
    }
  }
  void SeeLog(const std::string& log) {
    const std::lock_guard lock(mutex_);
    for (size_t key = 0; key < said_.size(); ++key) {
      if (log.find(Secret(key)) != std::string::npos) Note(Crossing::kSecret, key, "log", log);
    }
  }

  // Return the `random`-th request or checkpoint whose id `key` received; empty if there is none.
  std::string RequestOf(size_t key, uint64_t random) const { return Pick(told_[key], random); }
  std::string CheckpointOf(size_t key, uint64_t random) const {
    return Pick(checkpoints_[key], random);
  }
  // The server has ended, and its ids are no longer valid.
  void EndLife() {
    const std::lock_guard lock(mutex_);
    // An answer may have been reusable before its client received all of it.
    for (const Reuse& reuse : doubtful_) {
      const size_t known = Known(reuse);
      if (reuse.tokens <= known) continue;
      Note(Crossing::kReused, reuse.key, std::to_string(known) + " known",
           std::to_string(reuse.tokens) + " reused by " + reuse.what);
    }
    doubtful_.clear();
    for (size_t key = 0; key < told_.size(); ++key) {
      for (size_t other = 0; other < key; ++other) {
        for (const std::string& id : told_[key]) {
          if (told_[other].contains(id)) Note(Crossing::kListed, key, id, std::to_string(other));
        }
        for (const std::string& id : checkpoints_[key]) {
          if (checkpoints_[other].contains(id)) Note(Crossing::kListed, key, "checkpoint", id);
        }
      }
    }
    for (auto& told : told_) told.clear();
    for (auto& checkpoints : checkpoints_) checkpoints.clear();
  }

  const std::map<Crossing, std::vector<std::string>>& crossings() const { return crossings_; }
  size_t reused() const { return reused_; }
  size_t asked_for_others() const { return asked_for_others_; }

 private:
  using Ids = std::set<std::string>;
  struct Reuse {
    size_t key = 0;
    size_t prompt = 0;
    size_t said = 0;  // prompts recorded for the key when the answer arrived
    size_t tokens = 0;
    std::string what;
  };

  static size_t HeaderNumber(const HeardReply& reply, std::string_view name) {
    const std::string value(FindIgnoringCase(reply.headers, name));
    return value.empty() ? 0 : std::stoul(value);
  }

  // All names under which the APIs report the reused tokens of a prompt.
  static size_t MostReused(const Json& json) {
    static const std::set<std::string> names = {"cached_tokens",     "cache_read_input_tokens",
                                                "cache_n",           "cache",
                                                "reused_tokens",     "live_tokens",
                                                "ram_tokens",        "disk_tokens",
                                                "prefetched_tokens", "shared_tokens"};
    size_t most = 0;
    if (!json.is_structured()) return most;
    for (const auto& [name, value] : json.items()) {
      most = std::max(most, MostReused(value));
      if (json.is_object() && value.is_number_unsigned() && names.contains(name)) {
        most = std::max(most, value.get<size_t>());
      }
    }
    return most;
  }

  void Collect(const Json& json, size_t key, const std::string& named) {
    if (!json.is_structured()) return;
    for (const auto& [name, value] : json.items()) {
      Collect(value, key, named);
      if (name != "id" || !value.is_string()) continue;
      const auto& id = value.text();
      if (id == named || id.find("item") != std::string::npos) continue;
      const bool number =
          std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (number) {
        checkpoints_[key].insert(id);
      } else if (id.starts_with("chatcmpl-") || id.starts_with("cmpl-") ||
                 id.starts_with("resp_") || id.starts_with("msg_")) {
        told_[key].insert(id);
      }
    }
  }

  size_t Known(const Reuse& reuse) const {
    const Tokens& asked = said_[reuse.key][reuse.prompt];
    size_t known = 0;
    const auto compare = [&](const Tokens& other) {
      const auto diverged = std::mismatch(asked.begin(), asked.end(), other.begin(), other.end());
      known = std::max(known, static_cast<size_t>(diverged.first - asked.begin()));
    };
    for (size_t i = 0; i < reuse.said; ++i) {
      if (i != reuse.prompt) compare(said_[reuse.key][i]);
    }
    for (const auto& [prompt, other] : answered_[reuse.key]) {
      if (prompt < reuse.said && prompt != reuse.prompt) compare(other);
    }
    return known;
  }

  std::string Pick(const Ids& ids, uint64_t random) const {
    const std::lock_guard lock(mutex_);
    if (ids.empty()) return "";
    return *std::next(ids.begin(), static_cast<std::ptrdiff_t>(random % ids.size()));
  }

  void Note(Crossing crossing, size_t key, const std::string& question, const std::string& what) {
    crossings_[crossing].push_back("key " + std::to_string(key) + ", " + question.substr(0, 2000) +
                                   ": " + what.substr(0, 2000));
  }

  mutable std::mutex mutex_;
  std::vector<std::vector<Tokens>> said_;  // prompts of each key
  // The sequences known after an answer, with the index of its prompt.
  std::vector<std::vector<std::pair<size_t, Tokens>>> answered_;
  std::vector<Reuse> doubtful_;
  std::vector<Ids> told_;         // ids of this life's requests that each key received
  std::vector<Ids> checkpoints_;  // ids of this life's checkpoints that each key received
  std::map<Crossing, std::vector<std::string>> crossings_;
  size_t reused_ = 0;
  size_t asked_for_others_ = 0;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_PLAYED_KEYS_H_
