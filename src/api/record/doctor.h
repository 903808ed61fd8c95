// Doctor: what a client's requests cost over hours and days, and why: tokens sent, reused and
// prefilled, how many of these were avoidable, the minutes that they took, and the causes with
// their cures. GET /cairn/doctor.
//
// A client is an API key, a user agent and a model. Excerpts of prompts are told to the key that
// sent them alone. Memory is bounded: the last prompts of each client are kept as sketches, sums by
// the hour, one example a cause.
//
// Threads: any.

#ifndef CAIRN_API_RECORD_DOCTOR_H_
#define CAIRN_API_RECORD_DOCTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <string>

#include "api/json.h"
#include "api/record/diagnosis.h"
#include "api/record/prompt_sketch.h"
#include "base/mutex.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

class Doctor {
 public:
  static constexpr size_t kClientsMax = 64;
  static constexpr size_t kPromptsMax = 8;
  static constexpr size_t kHoursMax = 72;
  static constexpr size_t kAgentBytesMax = 80;

  struct Client {
    NamespaceId name_space = 0;
    std::string agent = {};  // as the client calls itself
    std::string model = {};
  };
  // A request that has ended.
  struct Ended {
    std::string id = {};
    int64_t begun_unix_s = 0;
    size_t prompt_tokens = 0;
    size_t reused_tokens = 0;
    double prompt_ms = 0;
    Diagnosis diagnosis = {};
    // It explains the prompt; null if nobody knows.
    const Explanation* explanation = nullptr;
  };

  // Compares a prompt with the client's last ones, and keeps it as the newest. Call in the order in
  // which prompts get their slots.
  Diagnosis Look(const Client& client, PromptSketch sketch, const DiagnosedRequest& request);
  void Note(const Client& client, const Ended& ended);
  // Returns what is known of the key's clients in the last `hours`, those who waited longest for
  // nothing first.
  Json Report(NamespaceId name_space, size_t hours, int64_t now_unix_s) const;

 private:
  struct Sum {
    size_t requests = 0;
    size_t tokens = 0;
    double ms = 0;
  };
  struct Hour {
    size_t requests = 0;
    size_t prompt_tokens = 0;
    size_t reused_tokens = 0;
    double prompt_ms = 0;
    std::array<Sum, kCauses> causes = {};
  };
  struct Example {
    int64_t since_unix_s = 0;
    int64_t last_unix_s = 0;
    std::string cure;
    Json told;  // the last request with the cause, and the place in it
  };
  struct Known {
    Client client;
    std::deque<PromptSketch> prompts = {};  // newest first
    std::map<int64_t, Hour> hours = {};     // since 1970
    std::array<Example, kCauses> examples = {};
  };

  // The client counts as the last one seen.
  Known& Find(const Client& client) REQUIRES(mutex_);
  static Json ReportOf(const Known& known, int64_t first_hour);
  static Json CausesOf(const Known& known, const Hour& sum);

  mutable Mutex mutex_;
  std::list<Known> clients_ GUARDED_BY(mutex_);  // last seen first
};

}  // namespace cairn

#endif  // CAIRN_API_RECORD_DOCTOR_H_
