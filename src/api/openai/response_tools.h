// Reads `tools` of POST /v1/responses, and those that a search of the client's found.
//
//   function            a function of chat completions' form
//   custom              a function with one argument, `input`, a text; its calls are items of the
//                       type custom_tool_call. The grammar of its `format` is told to the model and
//                       not enforced
//   namespace           the functions and custom tools in it; a call names the namespace
//   tool_search         run by the client: a function, whose calls are items of the type
//                       tool_search_call; deferred tools are then in the prompt only where the
//                       client's tool_search_output shows them. Run by the service: nothing is
//                       searched, and deferred tools are in the prompt from the beginning
//   web_search, …       left out, because clients offer it with every request; the log and the
//                       answer say so
//   any other           a 400: it is OpenAI's service that runs it, or its models that know it

#ifndef CAIRN_API_OPENAI_RESPONSE_TOOLS_H_
#define CAIRN_API_OPENAI_RESPONSE_TOOLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/grammar/json_schema.h"
#include "api/json.h"

namespace cairn {

inline constexpr const char* kToolSearch = "tool_search";

// How the calls of a tool are written.
struct ResponseTool {
  enum class Kind : uint8_t { kFunction, kCustom, kSearch };

  Kind kind = Kind::kFunction;
  std::string name_space = {};  // that it was declared in; empty if in none

  friend bool operator==(const ResponseTool&, const ResponseTool&) = default;
};
using ResponseTools = std::map<std::string, ResponseTool>;  // by name

// The tools of a request, in order: of two with the same name the first is shown, because a call
// could not distinguish them.
class ResponseToolReader {
 public:
  // `known` gets every tool. It and `loosened` outlive the reader.
  ResponseToolReader(ResponseTools* known, Loosened* loosened)
      : known_(known), loosened_(loosened) {}

  // Reads the list of a request, in which deferred tools may be left to a search.
  ApiResult<void> AddOffered(const Json& tools, const std::string& place);
  // Reads the list of a tool_search_output, tools that are known already too.
  ApiResult<void> AddFound(const Json& tools, const std::string& place);

  // Returns those that were read, in chat completions' form.
  Json Take() { return std::move(read_); }
  // The types of those that are left out.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  ApiResult<void> AddList(const Json& tools, const std::string& place,
                          const std::string& name_space);
  ApiResult<void> AddOne(const Json& tool, const std::string& place, const std::string& name_space);
  // Adds a function whose parameters are `parameters`, null for none.
  void AddFunction(const std::string& name, const Json& tool, const Json& parameters,
                   const ResponseTool& as, const std::string& addition = "");
  ApiResult<void> AddCustom(const std::string& name, const Json& tool, const std::string& place,
                            const std::string& name_space);

  ResponseTools* const known_;
  Loosened* const loosened_;
  Json read_ = Json::array();
  bool hides_deferred_ = false;
  bool shows_again_ = false;
  std::vector<std::string> left_out_;
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_RESPONSE_TOOLS_H_
