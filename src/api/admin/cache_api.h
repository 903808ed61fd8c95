// What the cache holds, as JSON, and what people do with it: /cairn/cache and what is under it.
// Checkpoints are a client's own; only sums are of all.
//
// Threads: any but the context's, for which all but PrefetchBody wait between two of its steps.

#ifndef CAIRN_API_ADMIN_CACHE_API_H_
#define CAIRN_API_ADMIN_CACHE_API_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/chat_service.h"

namespace cairn {

// GET /cairn/cache. `disk_bytes_max`: 0: nothing is kept on disk.
ApiResult<std::string> CacheBody(const ChatService& service, uint64_t disk_bytes_max);

// GET /cairn/cache/tree: the client's checkpoints by their ids, `limit` of them (1 to 500; 100)
// behind the one named `after`, each with the beginning of what stands between it and its parent.
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

// POST /cairn/cache/warm: reads a conversation or a text, as a request for an answer would, and
// gives none; or brings back what stands before one of the client's checkpoints. `gone` is asked
// meanwhile: true ends it.
ApiResult<std::string> PrefetchBody(const ChatService& service, std::string_view body,
                                    NamespaceId name_space, const std::function<bool()>& gone);

// POST /cairn/cache/flush: saves what is worth it, and waits until all is on its way to the disk,
// for ten seconds at most.
ApiResult<std::string> FlushBody(const ChatService& service);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_CACHE_API_H_
