#include "cache/resume.h"

#include <gtest/gtest.h>

#include <numeric>

namespace cairn {
namespace {

using Kind = ResumePoint::Kind;

// Tokens 0, 1, 2, …; those from `changed_at` on differ.
Tokens Counting(size_t n, size_t changed_at = SIZE_MAX) {
  Tokens tokens(n);
  std::iota(tokens.begin(), tokens.end(), 0);
  for (size_t i = changed_at; i < n; ++i) tokens[i] += 100000;
  return tokens;
}

Checkpoint At(size_t position, LineageId lineage = 0,
              CheckpointClass checkpoint_class = Checkpoint{}.checkpoint_class) {
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = checkpoint_class;
  checkpoint.id = position;
  checkpoint.position = position;
  checkpoint.lineage = lineage;
  return checkpoint;
}

class ResumeTest : public ::testing::Test {
 protected:
  ResumePoint Choose(const Tokens& prompt, const Tokens& slot) {
    Provenance provenance{clean, {}, answers};
    if (clean < slot.size()) provenance.runs = {{7, clean}};
    rules.cuts = PromptCuts(rules.mode == ReuseMode::kAny ? 1 : 64, prompt.size(), boundaries);
    return ChooseResume(rules, prompt, {slot, provenance}, match, [&](size_t position) {
      return position <= truncates_to || position == slot.size();
    });
  }
  void ExpectPoint(const ResumePoint& point, Kind kind, size_t position) {
    EXPECT_EQ(point.kind, kind);
    EXPECT_EQ(point.position, position);
  }

  ResumeRules rules;
  CheckpointCache::MatchResult match;
  size_t clean = 0;
  std::vector<TokenRange> answers;
  std::vector<size_t> boundaries;  // of the prompt
  size_t truncates_to = 0;         // truncates only to an empty slot, as recurrent memory does
};

TEST_F(ResumeTest, NothingGoesOnFromAnEndWhoseStateCannotBeHad) {
  clean = 128;
  const Tokens held = Counting(300);
  const Provenance provenance{128, {{7, 128}}, {}};
  ExpectPoint(ChooseResume({.cuts = {64, 400}}, Counting(400), {held, provenance}, match,
                           [](size_t) { return false; }),
              Kind::kNothing, 0);
}

TEST_F(ResumeTest, LiveGoesOnWhereTheConversationEnded) {
  clean = 128;
  ExpectPoint(Choose(Counting(400), Counting(300)), Kind::kContinue, 300);
}

TEST_F(ResumeTest, ExactDoesNotGoOnFromAnAnswer) {
  rules.mode = ReuseMode::kExact;
  clean = 128;
  match.checkpoints = {At(64), At(128)};
  ExpectPoint(Choose(Counting(400), Counting(300)), Kind::kRestore, 128);
}

TEST_F(ResumeTest, ExactCutsAnAttentionSlotWhereItIsClean) {
  rules.mode = ReuseMode::kExact;
  clean = 128;
  truncates_to = SIZE_MAX;
  ExpectPoint(Choose(Counting(400), Counting(300)), Kind::kTruncate, 128);
}

TEST_F(ResumeTest, WithoutSnapshotsACheckpointIsOfUseWhereTheSlotCanBeCut) {
  clean = 256;
  rules.needs_snapshots = false;
  match.checkpoints = {At(128)};
  match.checkpoints.back().logits_bytes = 4;
  const Tokens prompt = Counting(128);
  ExpectPoint(Choose(prompt, Counting(300)), Kind::kNothing, 0);
  truncates_to = 128;
  ExpectPoint(Choose(prompt, Counting(300)), Kind::kRestore, 128);
}

TEST_F(ResumeTest, ACutIsRoundedDownToTheGrid) {
  clean = 256;
  truncates_to = SIZE_MAX;
  ExpectPoint(Choose(Counting(400, 200), Counting(300)), Kind::kTruncate, 192);
  rules.mode = ReuseMode::kAny;
  ExpectPoint(Choose(Counting(400, 200), Counting(300)), Kind::kTruncate, 200);
}

TEST_F(ResumeTest, LiveIsNotCutInTheMiddleOfAnAnswer) {
  clean = 64;
  truncates_to = SIZE_MAX;
  answers = {{70, 100}, {200, 290}};
  ExpectPoint(Choose(Counting(400, 280), Counting(300)), Kind::kTruncate, 192);
  ExpectPoint(Choose(Counting(400, 195), Counting(300)), Kind::kTruncate, 192);
  rules.mode = ReuseMode::kAny;
  ExpectPoint(Choose(Counting(400, 280), Counting(300)), Kind::kTruncate, 280);
}

TEST_F(ResumeTest, LiveIsCutAtTheEndOfAnAnswer) {
  clean = 64;
  truncates_to = SIZE_MAX;
  answers = {{70, 100}, {200, 250}};
  ExpectPoint(Choose(Counting(400, 260), Counting(300)), Kind::kTruncate, 250);
  ExpectPoint(Choose(Counting(400, 120), Counting(300)), Kind::kTruncate, 100);
  rules.mode = ReuseMode::kExact;
  ExpectPoint(Choose(Counting(400, 260), Counting(300)), Kind::kTruncate, 64);
}

TEST_F(ResumeTest, LiveDoesNotCutAShortTurnThatIsOneChunk) {
  clean = 64;
  truncates_to = SIZE_MAX;
  answers = {{70, 100}};
  ExpectPoint(Choose(Counting(900, 180), Counting(250)), Kind::kTruncate, 128);
  rules.turn_tokens_max = 200;
  ExpectPoint(Choose(Counting(900, 180), Counting(250)), Kind::kTruncate, 100);
  ExpectPoint(Choose(Counting(900, 380), Counting(450)), Kind::kTruncate, 320);
  ExpectPoint(Choose(Counting(290, 200), Counting(450)), Kind::kTruncate, 100);
}

// Nothing is stored before a generation prompt that replies follow; an agent that wrote its calls
// in another way then prefilled the whole turn again.
TEST_F(ResumeTest, LiveResumesAtAPromptsEndWhereNothingIsStoredAtTheCutBefore) {
  rules.leave_grid = true;
  Checkpoint end = At(195, 7, CheckpointClass::kEnd);
  end.logits_bytes = 4;
  match.checkpoints = {At(100, 7, CheckpointClass::kReply), end};
  rules.snapshot_needs_slot = false;
  ExpectPoint(Choose(Counting(400), Counting(10)), Kind::kRestore, 195);
  match.checkpoints = {At(192), end};
  ExpectPoint(Choose(Counting(400), Counting(10)), Kind::kRestore, 192);
}

TEST_F(ResumeTest, LiveResumesAtAnEditInsideAMessage) {
  rules.leave_grid = true;
  clean = 128;
  truncates_to = SIZE_MAX;
  answers = {{130, 150}};
  ExpectPoint(Choose(Counting(400, 250), Counting(300)), Kind::kTruncate, 250);
  ExpectPoint(Choose(Counting(400, 100), Counting(300)), Kind::kTruncate, 100);
  ExpectPoint(Choose(Counting(400, 160), Counting(300)), Kind::kTruncate, 160);
  rules.mode = ReuseMode::kExact;
  ExpectPoint(Choose(Counting(400, 100), Counting(300)), Kind::kTruncate, 64);
}

TEST_F(ResumeTest, LiveStaysOnTheGridWhereAnEditSavesLittle) {
  rules.leave_grid = true;
  clean = 128;
  truncates_to = SIZE_MAX;
  answers = {{130, 140}};
  ExpectPoint(Choose(Counting(400, 71), Counting(300)), Kind::kTruncate, 64);
  ExpectPoint(Choose(Counting(400, 72), Counting(300)), Kind::kTruncate, 72);
  ExpectPoint(Choose(Counting(400, 147), Counting(300)), Kind::kTruncate, 140);
}

TEST_F(ResumeTest, LiveStaysOnTheGridInsideAnAnswerAndForTheSamePrompt) {
  rules.leave_grid = true;
  clean = 128;
  truncates_to = SIZE_MAX;
  answers = {{200, 250}};
  ExpectPoint(Choose(Counting(400, 240), Counting(300)), Kind::kTruncate, 192);
  answers = {};
  ExpectPoint(Choose(Counting(300), Counting(320)), Kind::kTruncate, 256);
}

TEST_F(ResumeTest, ALongRestOfACleanPromptStaysCleanForOthers) {
  rules.leave_grid = true;
  clean = 256;
  truncates_to = SIZE_MAX;
  ExpectPoint(Choose(Counting(2248, 200), Counting(300)), Kind::kTruncate, 200);
  ExpectPoint(Choose(Counting(2249, 200), Counting(300)), Kind::kTruncate, 192);
  clean = 64;
  ExpectPoint(Choose(Counting(9000, 200), Counting(300)), Kind::kTruncate, 200);
}

// Two conversations whose first tokens were the same: the second became a run from its 17th token
// on, of which nothing could be shared or restored at its messages.
TEST_F(ResumeTest, ALongPromptStaysCleanFromTheCutThoughTheSlotIsNotCleanAtItsEdit) {
  rules.leave_grid = true;
  truncates_to = SIZE_MAX;
  clean = 0;
  EXPECT_EQ(Choose(Counting(3000, 16), Counting(300)).position, 0u);
  clean = 192;
  ExpectPoint(Choose(Counting(9000, 200), Counting(300)), Kind::kTruncate, 192);
}

// An agent's next step after prefetch took its slot: nothing of the conversation was on the grid.
TEST_F(ResumeTest, WithoutSnapshotsAPromptResumesAtACutOfAStoredRun) {
  rules.needs_snapshots = false;
  rules.segments = true;
  clean = 0;
  match.shared = 250;
  rules.run.tokens = 250;
  rules.run.provenance.clean = 64;
  rules.run.provenance.runs = {{7, 64}};
  rules.run.provenance.answers = {{200, 210}};
  boundaries = {230};
  // A message may follow the answer's end.
  const ResumePoint point = Choose(Counting(400, 250), Counting(10));
  ExpectPoint(point, Kind::kAssemble, 210);
  EXPECT_EQ(point.checkpoint.lineage, 7u);
  rules.run.tokens = 300;
  ExpectPoint(Choose(Counting(400, 300), Counting(10)), Kind::kAssemble, 294);
  // A position inside an answer is none that an uninterrupted conversation continues from.
  rules.run.tokens = 205;
  ExpectPoint(Choose(Counting(400, 205), Counting(10)), Kind::kAssemble, 192);
  match.stored_on_grid = 192;
  EXPECT_EQ(Choose(Counting(400, 205), Counting(10)).checkpoint.lineage, 0u);
}

TEST_F(ResumeTest, LiveRestoresTheCheckpointOfAnEarlierEdit) {
  rules.leave_grid = true;
  clean = 128;
  match.checkpoints = {At(64), At(250, 7, CheckpointClass::kBranch)};
  ExpectPoint(Choose(Counting(400, 250), Counting(300)), Kind::kRestore, 250);
  match.checkpoints.back().lineage = 8;
  ExpectPoint(Choose(Counting(400, 250), Counting(300)), Kind::kRestore, 64);
  rules.mode = ReuseMode::kExact;
  match.checkpoints.back().lineage = 7;
  ExpectPoint(Choose(Counting(400, 250), Counting(300)), Kind::kRestore, 64);
}

// A client that writes the answer anew, such as an agent's tool calls, sends a prompt that goes on
// differently from the end of the one before.
TEST_F(ResumeTest, LiveRestoresTheEndOfAnEarlierPromptWhoseAnswerWasChanged) {
  rules.leave_grid = true;
  clean = 256;
  match.checkpoints = {At(256), At(266, 7, CheckpointClass::kEnd)};
  ExpectPoint(Choose(Counting(400, 266), Counting(300)), Kind::kRestore, 266);
  rules.leave_grid = false;
  ExpectPoint(Choose(Counting(400, 266), Counting(300)), Kind::kRestore, 256);
  rules.leave_grid = true;
  rules.mode = ReuseMode::kExact;
  ExpectPoint(Choose(Counting(400, 266), Counting(300)), Kind::kRestore, 256);
  rules.mode = ReuseMode::kLive;
  match.checkpoints.back().position = 263;
  ExpectPoint(Choose(Counting(400, 263), Counting(300)), Kind::kRestore, 256);
}

TEST_F(ResumeTest, ACutLiesAtTheBoundaryOfAMessageAndAtStepsOfTheGridBehindIt) {
  clean = 300;
  truncates_to = SIZE_MAX;
  boundaries = {100};
  ExpectPoint(Choose(Counting(400, 140), Counting(300)), Kind::kTruncate, 100);
  ExpectPoint(Choose(Counting(400, 170), Counting(300)), Kind::kTruncate, 164);
  truncates_to = 0;
  match.checkpoints = {At(64), At(100), At(128)};
  ExpectPoint(Choose(Counting(400, 140), Counting(300)), Kind::kRestore, 100);
}

TEST_F(ResumeTest, AnIdenticalPromptStillReadsItsLastPiece) {
  clean = 256;
  truncates_to = SIZE_MAX;
  ExpectPoint(Choose(Counting(256), Counting(256)), Kind::kTruncate, 192);
  ExpectPoint(Choose(Counting(257), Counting(300)), Kind::kTruncate, 256);
}

TEST_F(ResumeTest, ACheckpointPastWhatTheSlotSharesIsOfNoUse) {
  clean = 512;
  match.checkpoints = {At(128), At(256)};
  ExpectPoint(Choose(Counting(600, 200), Counting(512)), Kind::kRestore, 128);
}

TEST_F(ResumeTest, ARecurrentSnapshotNeedsNoSlot) {
  rules.snapshot_needs_slot = false;
  match.checkpoints = {At(128), At(256)};
  ExpectPoint(Choose(Counting(600), {}), Kind::kRestore, 256);
}

TEST_F(ResumeTest, AnOffGridCheckpointServesOnlyItsOwnRun) {
  clean = 64;
  match.checkpoints = {At(64), At(128, 7), At(192, 8)};
  ExpectPoint(Choose(Counting(400, 210), Counting(300)), Kind::kRestore, 128);
  rules.mode = ReuseMode::kExact;
  ExpectPoint(Choose(Counting(400, 210), Counting(300)), Kind::kRestore, 64);
  rules.mode = ReuseMode::kAny;
  ExpectPoint(Choose(Counting(400, 210), Counting(300)), Kind::kRestore, 192);
}

TEST_F(ResumeTest, AnOnGridSnapshotIsNotMixedWithAnAnswersBits) {
  clean = 64;
  match.checkpoints = {At(64), At(128)};
  ExpectPoint(Choose(Counting(400, 200), Counting(300)), Kind::kRestore, 64);
}

TEST_F(ResumeTest, NothingInCommonReadsAll) {
  truncates_to = SIZE_MAX;
  clean = 256;
  ExpectPoint(Choose(Counting(400, 0), Counting(300)), Kind::kNothing, 0);
}

TEST(ReuseMode, AnUnknownNameIsToldTheKnownOnes) {
  EXPECT_EQ(*ParseReuseMode("exact"), ReuseMode::kExact);
  EXPECT_NE(ParseReuseMode("some").error().message.find("live, exact, any"), std::string::npos);
}

}  // namespace
}  // namespace cairn
