// The routes under /cairn/cache: contents of the cache as JSON, and actions on checkpoints. A
// client sees its own checkpoints only; totals are for all clients.
//
// Threads: any but the context thread. All but PrefetchBody wait for the context thread's next
// pause between steps.

#ifndef CAIRN_API_ADMIN_CACHE_API_H_
#define CAIRN_API_ADMIN_CACHE_API_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/service/chat_service.h"

namespace cairn {

// GET /cairn/cache.
ApiResult<std::string> CacheBody(const ChatService& service);

// GET /cairn/cache/tree: the client's checkpoints by id, `limit` of them (1 to 500; 100) after the
// one named `after`, each with the beginning of the text between it and its parent.
ApiResult<std::string> CacheTreeBody(const ChatService& service,
                                     const std::multimap<std::string, std::string>& params,
                                     NamespaceId name_space);

// GET, POST (`pinned`) and DELETE /cairn/cache/checkpoints/ID.
ApiResult<std::string> CheckpointBody(const ChatService& service, std::string_view id,
                                      NamespaceId name_space);
ApiResult<std::string> PinCheckpointBody(const ChatService& service, std::string_view id,
                                         std::string_view body, NamespaceId name_space);
ApiResult<std::string> DropCheckpointBody(const ChatService& service, std::string_view id,
                                          NamespaceId name_space);

// POST /cairn/cache/prefetch: prefills a conversation or a text like a request for an answer,
// without one; or restores the prompt of one of the client's checkpoints. Polls `gone` meanwhile;
// true cancels it.
ApiResult<std::string> PrefetchBody(const ChatService& service, std::string_view body,
                                    NamespaceId name_space, const std::function<bool()>& gone);

// POST /cairn/cache/flush: saves the objects that are worth saving, and waits until they are
// written, for ten seconds at most.
ApiResult<std::string> FlushBody(const ChatService& service);

// POST /cairn/cache/limit, of a router's child: replaces the budget of `--cache-ram` by the `bytes`
// of the body, if it has any, and says how much memory weights and context need. `beside_bytes`:
// the part of that budget that is not the prefix cache's.
ApiResult<std::string> CacheLimitBody(const ChatService& service, std::string_view body,
                                      size_t beside_bytes);
}  // namespace cairn

#endif  // CAIRN_API_ADMIN_CACHE_API_H_
