// How a server that is not Cairn uses its heart, libcairn.
//
//   c++ -std=c++20 other_server.cc $(pkg-config --cflags --libs cairn) -o other_server
//
// The server brings a model and a sequence; libcairn says where along a prompt to take a copy of
// the model's state, keeps the copies within a budget, and finds the best one to come back to. To
// it a state is bytes. Here the "model" is a hash of all tokens so far: a state that, as a
// recurrent model's, cannot be cut back to an earlier token. With a real one, Read would decode and
// Save and Restore would be llama_state_seq_get_data_ext and llama_state_seq_set_data_ext.
//
// All calls come from the one thread that owns the model.

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "cache/checkpoint_cache.h"

namespace {

class Model {
 public:
  void Read(cairn::TokenSpan tokens) {
    for (const cairn::Token token : tokens) {
      state_ = (state_ ^ static_cast<uint64_t>(token)) * 0x100000001b3;
    }
    tokens_read_ += tokens.size();
  }
  cairn::Bytes Save() const {
    cairn::Bytes bytes(sizeof(state_));
    std::memcpy(bytes.data(), &state_, sizeof(state_));
    return bytes;
  }
  void Restore(cairn::ByteSpan bytes) { std::memcpy(&state_, bytes.data(), sizeof(state_)); }
  void Clear() { state_ = kEmpty; }
  uint64_t state() const { return state_; }
  size_t tokens_read() const { return tokens_read_; }

 private:
  static constexpr uint64_t kEmpty = 0xcbf29ce484222325;
  uint64_t state_ = kEmpty;
  size_t tokens_read_ = 0;
};

// Clients that may not see each other's prompts get namespaces of their own.
constexpr cairn::NamespaceId kClient = 1;

cairn::CheckpointCache MakeCache() {
  cairn::CacheOptions options;
  options.ram_bytes_max = size_t{1} << 20;
  // Names as on Cairn's command line; a wrong name is an error that lists the right ones.
  auto placement = cairn::MakePlacement("user-turns,near-end");
  auto eviction = cairn::MakeEviction("value");
  return {options, std::move(*placement), std::move(*eviction), cairn::MakeRamStore()};
}

// Brings the model to the deepest checkpoint on the prompt's way. Returns its position; 0: none.
size_t ComeBack(const cairn::CheckpointCache::MatchResult& match, cairn::CheckpointCache* cache,
                Model* model) {
  model->Clear();
  if (match.checkpoints.empty()) return 0;
  const cairn::Checkpoint& deepest = match.checkpoints.back();
  // Pinned, it is not evicted while it is read.
  const auto bytes = cache->Pin(deepest.id);
  if (!bytes) return 0;
  model->Restore(*bytes);
  cache->Unpin(deepest.id);
  return deepest.position;
}

// Reads a prompt, from the best checkpoint on, and leaves new ones where the policy wants them.
void ReadPrompt(const std::string& text, const cairn::PromptShape& shape,
                cairn::CheckpointCache* cache, Model* model) {
  const cairn::Tokens prompt(text.begin(), text.end());
  const auto match = cache->Match(kClient, prompt);
  const size_t reused = ComeBack(match, cache, model);

  cairn::CheckpointCache::PlanInput input;
  input.resumed_tokens = reused;
  const size_t read_before = model->tokens_read();
  size_t position = reused;
  for (const cairn::Placement& stop : cache->Plan(shape, match, input)) {
    model->Read(cairn::TokenSpan(prompt).subspan(position, stop.position - position));
    position = stop.position;
    cairn::Checkpoint what;
    what.checkpoint_class = stop.checkpoint_class;
    // A full budget is no reason to fail a request: the result may be ignored.
    (void)cache->Insert(kClient, cairn::TokenSpan(prompt).first(position), what, model->Save());
  }
  model->Read(cairn::TokenSpan(prompt).subspan(position));
  cache->Learn(shape, match);

  Model cold;
  cold.Read(prompt);
  std::printf("%zu tokens: %zu reused, %zu read, the state is %s\n", prompt.size(), reused,
              model->tokens_read() - read_before,
              model->state() == cold.state() ? "a cold run's" : "WRONG");
}

// Where the messages of a chat of "[...]" pieces begin and end. A real server knows it from its
// template.
cairn::PromptShape ShapeOf(const std::string& text) {
  cairn::PromptShape shape;
  shape.tokens = text.size();
  shape.header_end = text.find(']') + 1;
  for (size_t at = text.find("[user"); at != std::string::npos; at = text.find("[user", at + 1)) {
    shape.turns.push_back({at, true});
  }
  shape.messages_end = text.rfind(']') + 1;
  return shape;
}

}  // namespace

int main() {
  cairn::CheckpointCache cache = MakeCache();
  Model model;
  const std::string header = "[system: You are a stone mason. Be brief.]";
  for (const std::string& text : {
           header + "[user: What is a cairn?]",
           // The next turn.
           header + "[user: What is a cairn?][a pile of stones][user: Who builds them?]",
           // The first question, edited.
           header + "[user: What is a menhir?]",
           // The same again.
           header + "[user: What is a menhir?]",
       }) {
    ReadPrompt(text, ShapeOf(text), &cache, &model);
  }
}
