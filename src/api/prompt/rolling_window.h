// RollingWindows: clients that leave out their oldest messages themselves, and what they will leave
// of a conversation the next time. Such a turn parts from everything read before right behind the
// header, so it is read whole, unless it is expected.
//
//   asked before   [header] u1 a1 u2 a2 u3
//   asked now      [header]       u2 a2 u3 a3 u4          it rolled: two dropped, two added
//   comes next     [header]             u3 a3 u4 a4 u5    expected as soon as a4 is there
//                  '- equal -'
//
// A client is taken to drop by its conversation's length: one that would be longer than what it
// sends is sent from a later message on, so that so much is left. The length is measured in
// messages and in turns (a user's message and all behind it), as nobody says which the client
// counts. For each measure is known from what was sent:
//
//   keeps      what was left at the last roll
//   drops_at   the least that it did not send whole
//
//   window of 5 messages     1 3 5 (7) 5 (7) 5 (7) 5          keeps 5, drops_at 7
//   in batches, of 9 to 5    1 3 5 7 9 (11) 5 7 9 (11) 5      keeps 5, drops_at 11
//
// The first roll is believed, so a window of one length is known at once. A measure that says
// something else than what comes (another length left; a conversation sent whole that was to be
// dropped from) is not believed until two rolls in succession agree in it. Where both are believed
// and expect different things, that one holds which agreed with more rolls, and at a tie none. So
// a client that drops by tokens, or by hand, is expected to roll as long as its messages make it do
// the same each time.
//
// Conversations are compared by what was sent, in canonical form, without reasoning and ids of
// calls: clients leave out the one and change the other. The answer itself is not compared, as
// clients write calls anew; an assistant's message must stand in its place. Hashes alone are kept:
// two that are equal by chance cost something read ahead in vain.
//
// Nothing of one namespace is looked at for another.
//
// Threads: one at a time. The chat service calls it on its job thread alone.

#ifndef CAIRN_API_PROMPT_ROLLING_WINDOW_H_
#define CAIRN_API_PROMPT_ROLLING_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "cache/checkpoint_cache.h"
#include "chat/message.h"

namespace cairn {

class RollingWindows {
 public:
  // Conversations that are remembered, those unused for longest forgotten: of one namespace, so
  // that none displaces all others', and in all. At 8 bytes a message, 16 MiB at the very most.
  static constexpr size_t kOfNamespaceMax = 64;
  static constexpr size_t kConversationsMax = 1024;
  // Longer ones are not looked at.
  static constexpr size_t kMessagesMax = 2048;

  // `asked` has been answered with `answer`. What the client will leave of `asked` when it comes
  // back with one more message, or the results of the answer's calls; nothing when, as far as is
  // known, that is all of it.
  // REQUIRES: `asked` is canonical.
  std::optional<Conversation> Expect(NamespaceId name_space, const Conversation& asked,
                                     const Message& answer);

  size_t conversations() const { return remembered_.size(); }

 private:
  // How far a client lets a conversation grow, in one measure.
  struct Limit {
    size_t keeps = 0;
    size_t drops_at = 0;  // 0: it has never dropped anything
    size_t agreed = 0;    // rolls in succession; 0: not believed

    void OnWhole(size_t length);
    void OnRoll(size_t length, size_t left);
    // Of a conversation of this length; nothing: not known.
    std::optional<size_t> Dropped(size_t length) const;
  };
  // What is behind the header.
  struct Sent {
    std::vector<uint64_t> hashes;
    std::vector<size_t> turns;  // where the users' messages are
  };
  struct Remembered {
    NamespaceId name_space = 0;
    uint64_t header = 0;
    Sent sent = {};
    Limit messages = {};
    Limit turns = {};
    bool cuts_turns = false;  // a window of it began within a turn, so turns are not what it counts
  };

  // Of the one that `asked` goes on from, or a new one; the first in the list.
  Remembered& Recall(NamespaceId name_space, uint64_t header, const Conversation& asked, Sent sent);
  static void Learn(Sent sent, size_t overlap, Remembered* remembered);
  static size_t DroppedNext(const Remembered& remembered, const Message& answer);
  void Forget(NamespaceId name_space);

  std::list<Remembered> remembered_;  // last used first
};

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_ROLLING_WINDOW_H_
