// Talker: somebody who talks to a model, in any API, about nothing: conversations that grow, part,
// go back, are asked again, and lose their reasoning. Sampled from a seed and from what is
// answered.
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
  std::vector<TalkTurn> turns;  // the last one has no answer yet when it is asked

  size_t bytes() const;
};

// The conversation as its API takes it, without limits and sampling.
Json BodyOf(const Talk& talk);

struct TalkerOptions {
  uint64_t seed = 0;
  std::string name;          // another one draws other things
  uint64_t header_seed = 0;  // one for all, so that they have headers in common
  size_t bytes_max = 1500;   // conversations that outgrow this are mostly left
};

class Talker {
 public:
  explicit Talker(TalkerOptions options);

  // The next question, and how it is put.
  Question Next();
  Manner NextManner();
  // The answer to the last question; without it the same talk goes on without one.
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
