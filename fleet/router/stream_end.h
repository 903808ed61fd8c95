// StreamEnd: passes a model's stream on to the client, and ends it properly if the model's process
// dies in the middle: with an error event in the form of the API, instead of a cut connection.
//
// Only complete events are passed on, so that the error never follows half an event. Our processes
// send events whole, so nothing waits for that. In Ollama's streams a line is an event.
//
// Used by one thread.

#ifndef CAIRN_FLEET_ROUTER_STREAM_END_H_
#define CAIRN_FLEET_ROUTER_STREAM_END_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

class StreamEnd {
 public:
  // `path` is the request's, and says which API it is.
  explicit StreamEnd(std::string_view path);

  // Appends what came, as far as it can be passed on, to `chunk`.
  void Pass(std::string_view bytes, std::string* chunk);
  // Appends the rest of a complete stream.
  void Complete(std::string* chunk);
  // Appends the event that says that the stream ended too early.
  void Break(const std::string& message, std::string* chunk);

 private:
  enum class Api { kOpenAi, kMessages, kResponses, kOllama };
  // Returns the text behind each event.
  std::string_view event_end() const { return api_ == Api::kOllama ? "\n" : "\n\n"; }
  void Look(std::string_view events);

  Api api_;
  std::string held_;        // the beginning of an event
  int64_t events_ = 0;      // passed on, without comments
  std::string first_data_;  // of the Responses API: the data of the first event
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_STREAM_END_H_
