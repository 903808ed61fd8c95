// Talker: a simulated user of any API, with meaningless conversations that grow, diverge, lose
// turns, are repeated, and lose their reasoning. Everything is sampled from a seed and from the
// server's answers.
//
// One thread.

#ifndef CAIRN_TESTS_SOAK_TALK_H_
#define CAIRN_TESTS_SOAK_TALK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "lab/client/seeded_text.h"
#include "soak/asking.h"

namespace cairn::soak {

struct TalkTurn {
  std::string asked;
  std::string answer;
  std::string reasoning;
};

struct Talk {
  Api api = Api::kChat;
  std::string header;
  bool keeps_reasoning = false;
  bool has_tools = false;
  std::vector<TalkTurn> turns;  // the last one has no answer yet when it is sent

  size_t bytes() const;
};

// Returns the conversation in its API's form, without limits and sampling.
Json BodyOf(const Talk& talk);

struct TalkerOptions {
  uint64_t seed = 0;
  std::string name;          // seeds the talker's random choices
  uint64_t header_seed = 0;  // the same for all, so that they share system prefixes
  size_t bytes_max = 1500;   // conversations longer than this are usually abandoned
};

class Talker {
 public:
  explicit Talker(TalkerOptions options);

  // Returns the next question and how it is sent.
  Question Next();
  Manner NextManner();
  // Adds the answer to the last question; without a call the conversation has none.
  void Heard(const Choice& choice);

  const Talk& talk() const { return talks_[current_]; }
  SeededText& dice() { return dice_; }

 private:
  void BeginTalk();
  void Step();
  void AddLimits(Json* body);
  void AddSampling(Json* body);
  void AddExtras(Json* body);

  const TalkerOptions options_;
  SeededText dice_;
  std::vector<Talk> talks_;
  size_t current_ = 0;
  Question last_;
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_TALK_H_
