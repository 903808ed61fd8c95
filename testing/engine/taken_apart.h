// For tests of segments: a prompt's state in pieces.

#ifndef CAIRN_TESTING_ENGINE_TAKEN_APART_H_
#define CAIRN_TESTING_ENGINE_TAKEN_APART_H_

#include <gtest/gtest.h>

#include <vector>

#include "testing/engine/llama_fixture.h"

namespace cairn::test {

inline Bytes SnapshotOf(Engine* engine, SeqId seq) {
  return engine->traits().NeedsSnapshots() ? *engine->TakeSnapshot(seq) : Bytes();
}

// A prompt's state at kPosition in segments and a snapshot, and the logits of its end.
struct TakenApart {
  static constexpr size_t kPosition = 640;

  Tokens prompt;
  Bytes front;  // [0, 320)
  Bytes back;   // [320, kPosition + 64): more than is used of it
  Bytes snapshot;
  std::vector<float> end;

  TakenApart(Engine* engine, SeqId seq, uint64_t seed) : prompt(RandomPrompt(800, seed)) {
    engine->Clear(seq);
    PrefillInto(seq, engine, prompt, 0, kPosition);
    snapshot = SnapshotOf(engine, seq);
    end = PrefillInto(seq, engine, prompt, kPosition, prompt.size());
    front = *engine->TakeSegment(seq, 0, 320);
    back = *engine->TakeSegment(seq, 320, kPosition + 64);
  }
  std::vector<SegmentPart> All() const { return {{0, 320, front}, {320, kPosition, back}}; }
  void ExpectSameEnd(Engine* engine, SeqId seq) const {
    EXPECT_EQ(PrefillInto(seq, engine, prompt, kPosition, prompt.size()), end);
  }
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_ENGINE_TAKEN_APART_H_
