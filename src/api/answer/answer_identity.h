// AnswerIdentity: id, model and time in every answer and every event of a stream.

#ifndef CAIRN_API_ANSWER_ANSWER_IDENTITY_H_
#define CAIRN_API_ANSWER_ANSWER_IDENTITY_H_

#include <cstdint>
#include <string>

namespace cairn {

struct AnswerIdentity {
  std::string id;  // with the prefix of its API: "chatcmpl-…", "msg_…", "resp_…"
  std::string model;
  int64_t created_unix_s = 0;
  std::string fingerprint = {};  // OpenAI's system_fingerprint: names the server's build
};

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_ANSWER_IDENTITY_H_
