// API keys: how a client shows one and how it is compared.

#ifndef CAIRN_HTTP_KEYS_H_
#define CAIRN_HTTP_KEYS_H_

#include <span>
#include <string>
#include <string_view>

namespace cairn {

// Whether `a` and `b` are the same bytes. The time taken depends on their lengths only, so that
// nobody can find a key byte by byte with a stopwatch.
bool ConstantTimeEquals(std::string_view a, std::string_view b);

// The index of `given` in `keys`, or -1. Always looks at every key.
int MatchKey(std::span<const std::string> keys, std::string_view given);

// What follows "Bearer " in an Authorization header; empty when it is of another kind.
std::string_view BearerToken(std::string_view authorization);

}  // namespace cairn

#endif  // CAIRN_HTTP_KEYS_H_
