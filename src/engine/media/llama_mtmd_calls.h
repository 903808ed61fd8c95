// Calls of libmtmd whose arguments, or whose structs' fields, differ between its versions: its
// interface is experimental. The compiler decides by the headers it is given, never by a version's
// number, so that a newer libllama needs no change here until a call means something else.
//
// For src/engine/media/ only. Functions that keep their arguments are called as they are.

#ifndef CAIRN_ENGINE_MEDIA_LLAMA_MTMD_CALLS_H_
#define CAIRN_ENGINE_MEDIA_LLAMA_MTMD_CALLS_H_

#include <mtmd.h>

#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

namespace cairn {

// Calls a function of a C library with these arguments; parameters that a newer header has added
// behind them are zero, false or null. Does not compile if there are fewer parameters, or others.
template <typename Value, typename... Parameters, typename... Arguments>
Value CallWithDefaults(Value (*function)(Parameters...), Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= sizeof...(Parameters),
                "the library's function has lost a parameter");
  std::tuple<Parameters...> all{};
  [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    ((std::get<kIndex>(all) = std::get<kIndex>(std::tie(arguments...))), ...);
  }(std::index_sequence_for<Arguments...>());
  return std::apply(function, all);
}

// Sets the text, and its length where the struct has one. Special tokens are parsed, none is added.
template <typename Text>
void SetInputText(const char* text, Text* input) {
  input->text = text;
  if constexpr (requires { input->text_len; }) input->text_len = std::strlen(text);
  input->add_special = false;
  input->parse_special = true;
}

// See mtmd_tokenize: the chunks of `text`, which names the bitmaps.
inline int32_t TokenizeMedia(mtmd_context* context, mtmd_input_chunks* chunks, const char* text,
                             const mtmd_bitmap** bitmaps, size_t count) {
  mtmd_input_text input = {};
  SetInputText(text, &input);
  return CallWithDefaults(mtmd_tokenize, context, chunks, &input, bitmaps, count);
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_MEDIA_LLAMA_MTMD_CALLS_H_
