// A prompt that tests of policies look at.

#ifndef CAIRN_TESTING_POLICY_TEST_SHAPES_H_
#define CAIRN_TESTING_POLICY_TEST_SHAPES_H_

#include "policy/prompt_shape.h"

namespace cairn::test {

inline PromptShape Conversation() {
  PromptShape shape;
  shape.tokens = 1000;
  shape.header_end = 300;
  shape.turns = {{300, true}, {500, false}, {700, true}};
  shape.messages_end = 990;
  return shape;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_POLICY_TEST_SHAPES_H_
