#include "soak/judge.h"

#include <gtest/gtest.h>

namespace cairn::soak {
namespace {

using Kind = Verdict::Kind;

Reply WholeReply(const std::string& text) {
  Reply reply;
  reply.kind = Reply::Kind::kWhole;
  reply.status = 200;
  reply.answer.ended = true;
  reply.answer.choices.push_back({.text = text, .finish = "stop"});
  return reply;
}

Reply BegunReply(Reply::Kind kind, const std::string& text) {
  Reply reply = WholeReply(text);
  reply.kind = kind;
  reply.answer.ended = false;
  return reply;
}

Reply Refusal(int status, bool retry_after) {
  Reply reply;
  reply.kind = Reply::Kind::kRefused;
  reply.status = status;
  reply.retry_after = retry_after;
  return reply;
}

Kind KindOf(const Reply& reply, const Reply& right, bool may_fail = false, bool impatient = false) {
  return JudgeReply(reply, may_fail, impatient, [&] { return right; }).kind;
}

TEST(Judge, AWrongAnswerIsWrongAlsoWhileTheServerEnds) {
  const Reply right = WholeReply("right");
  EXPECT_EQ(KindOf(WholeReply("right"), right), Kind::kRight);
  EXPECT_EQ(KindOf(WholeReply("wrong"), right), Kind::kWrong);
  EXPECT_EQ(KindOf(WholeReply("wrong"), right, true, true), Kind::kWrong);
  EXPECT_EQ(KindOf(WholeReply("rig"), right, true), Kind::kWrong) << "it says that it is whole";
}

TEST(Judge, WhatCameOfAnAnswerMustBeABeginning) {
  const Reply right = WholeReply("right");
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kLeft, "rig"), right), Kind::kBegun);
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kLeft, "wr"), right), Kind::kWrong);
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kLeft, ""), right), Kind::kNothing);
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kCut, "wr"), right, true), Kind::kWrong);
}

TEST(Judge, AnAnswerMayBreakOffOnlyWhereTheServerIsBeingEnded) {
  const Reply right = WholeReply("right");
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kCut, "rig"), right), Kind::kFault);
  EXPECT_EQ(KindOf(BegunReply(Reply::Kind::kCut, "rig"), right, true), Kind::kBegun);
  EXPECT_EQ(KindOf(Reply(), right), Kind::kFault);
  EXPECT_EQ(KindOf(Reply(), right, true), Kind::kNothing);
  EXPECT_EQ(KindOf(Reply(), right, false, true), Kind::kNothing) << "the asker left";
}

TEST(Judge, RefusalsSayWhenToComeBack) {
  const Reply right = WholeReply("right");
  EXPECT_EQ(KindOf(Refusal(503, true), right), Kind::kRefused);
  EXPECT_EQ(KindOf(Refusal(503, false), right), Kind::kFault);
  EXPECT_EQ(KindOf(Refusal(503, false), right, true), Kind::kRefused);
  EXPECT_EQ(KindOf(Refusal(429, true), right), Kind::kRefused);
}

TEST(Judge, AFullQueueMayRefuseInAStreamThatSaidNothingYet) {
  const Reply right = WholeReply("right");
  Reply late = BegunReply(Reply::Kind::kCut, "");
  late.detail = R"({"code":503,"message":"the queue is full, and other clients have fewer"})";
  EXPECT_EQ(KindOf(late, right), Kind::kRefused);
  late.answer.choices[0].text = "rig";
  EXPECT_EQ(KindOf(late, right), Kind::kFault) << "an answer that began is not taken away";
  late.answer.choices[0].text = "";
  late.detail = R"({"code":503,"message":"something else"})";
  EXPECT_EQ(KindOf(late, right), Kind::kFault);
}

TEST(Judge, WhatIsRefusedForGoodIsRefusedWithoutACacheToo) {
  EXPECT_EQ(KindOf(Refusal(400, false), Refusal(400, false)), Kind::kRefused);
  EXPECT_EQ(KindOf(Refusal(400, false), WholeReply("right")), Kind::kFault);
  EXPECT_EQ(KindOf(WholeReply("right"), Refusal(400, false)), Kind::kWrong);
  EXPECT_EQ(KindOf(Refusal(401, false), WholeReply("right")), Kind::kFault);
}

TEST(Judge, NothingExcusesAnErrorOfTheServers) {
  EXPECT_EQ(KindOf(Refusal(500, false), Refusal(500, false)), Kind::kFault);
  EXPECT_EQ(KindOf(Refusal(500, false), Refusal(500, false), true, true), Kind::kFault);
  Reply garbled;
  garbled.kind = Reply::Kind::kGarbled;
  EXPECT_EQ(KindOf(garbled, WholeReply("right"), true, true), Kind::kFault);
}

}  // namespace
}  // namespace cairn::soak
