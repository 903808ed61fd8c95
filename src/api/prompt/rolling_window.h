// RollingWindows: predicts which messages a client will send next if it drops its oldest messages
// itself. Such a turn diverges from every cached prompt right after the system prefix, so all of it
// is prefilled unless it was predicted and prefetched.
//
//   asked before   [header] u1 a1 u2 a2 u3
//   asked now      [header]       u2 a2 u3 a3 u4          it rolled: two dropped, two added
//   comes next     [header]             u3 a3 u4 a4 u5    expected as soon as a4 is there
//                  '- equal -'
//
// The model of a client: it drops messages by the conversation's length. A conversation that would
// be longer than a limit is sent from a later message on, so that a fixed length is left. The
// length is measured both in messages and in turns (a user's message with all after it), because
// the client's measure is unknown. Each measure has two values, learned from the requests:
//
//   keeps      the length that was left at the last roll
//   drops_at   the smallest length that it did not send completely
//
//   window of 5 messages     1 3 5 (7) 5 (7) 5 (7) 5          keeps 5, drops_at 7
//   in batches, of 9 to 5    1 3 5 7 9 (11) 5 7 9 (11) 5      keeps 5, drops_at 11
//
// The first roll is trusted, so a window of constant length is known at once. A measure that
// predicted wrongly (another length was left, or a conversation was sent completely although a roll
// was predicted) is not trusted until two successive rolls agree with it. If both measures are
// trusted and differ, the one that agreed with more rolls decides; at a tie there is no prediction.
// So a client that drops by tokens, or by hand, is predicted as long as its messages make it do the
// same each time.
//
// Conversations are compared by the messages sent, in canonical form, without reasoning and call
// ids: clients drop the former and change the latter. The answer itself is not compared, because
// clients rewrite calls; an assistant message must be in its place. Only hashes are kept: a
// collision costs a useless prefetch.
//
// Namespaces are separate.
//
// Threads: one at a time. The chat service calls it only on its job thread.

#ifndef CAIRN_API_PROMPT_ROLLING_WINDOW_H_
#define CAIRN_API_PROMPT_ROLLING_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "chat/text/message.h"

namespace cairn {

class RollingWindows {
 public:
  // Limits for the number of conversations, in LRU order: per namespace, so that none displaces all
  // others, and in total. At 8 bytes per message that is 16 MiB at most.
  static constexpr size_t kOfNamespaceMax = 64;
  static constexpr size_t kConversationsMax = 1024;
  // Longer conversations are ignored.
  static constexpr size_t kMessagesMax = 2048;

  // Records that `asked` was answered with `answer`. Returns the part of `asked` that the client is
  // predicted to send with its next message or with the results of the answer's calls. Nullopt if
  // it is predicted to send all of it. REQUIRES: `asked` is canonical.
  std::optional<Conversation> Expect(NamespaceId name_space, const Conversation& asked,
                                     const Message& answer);

  size_t conversations() const { return remembered_.size(); }

 private:
  // The window of a client in one measure.
  struct Limit {
    size_t keeps = 0;
    size_t drops_at = 0;  // 0 if it has never dropped anything
    size_t agreed = 0;    // successive rolls that agreed; 0 if not trusted

    void OnWhole(size_t length);
    void OnRoll(size_t length, size_t left);
    // The predicted length after a roll of a conversation of this length. Nullopt if unknown.
    std::optional<size_t> Dropped(size_t length) const;
  };
  // The messages after the system prefix.
  struct Sent {
    std::vector<uint64_t> hashes;
    std::vector<size_t> turns;  // positions of the users' messages
  };
  struct Remembered {
    NamespaceId name_space = 0;
    uint64_t header = 0;
    Sent sent = {};
    Limit messages = {};
    Limit turns = {};
    bool cuts_turns = false;  // a window began within a turn, so the client does not count turns
  };

  // Returns the entry of the conversation that `asked` continues, or a new one, moved to the front.
  Remembered& Recall(NamespaceId name_space, uint64_t header, const Conversation& asked, Sent sent);
  static void Learn(Sent sent, size_t overlap, Remembered* remembered);
  static size_t DroppedNext(const Remembered& remembered, const Message& answer);
  void Forget(NamespaceId name_space);

  std::list<Remembered> remembered_;  // most recently used first
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ROLLING_WINDOW_H_
