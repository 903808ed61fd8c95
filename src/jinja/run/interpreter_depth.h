// Interpreter::Depth: how deep the interpreter has recursed.

#ifndef CAIRN_JINJA_RUN_INTERPRETER_DEPTH_H_
#define CAIRN_JINJA_RUN_INTERPRETER_DEPTH_H_

#include "jinja/run/interpreter.h"

namespace cairn::jinja {

// While one lives, the interpreter is one level deeper. Raises a Failure beyond a limit.
class Interpreter::Depth {
 public:
  Depth(Interpreter* run, uint32_t at) : run_(*run) {
    run_.at_ = at;
    ++run_.depth_;
    const auto* const here = static_cast<const char*>(__builtin_frame_address(0));
    const auto used = static_cast<size_t>(here < run_.stack_begin_ ? run_.stack_begin_ - here
                                                                   : here - run_.stack_begin_);
    if (run_.depth_ > run_.heap_.limits().depth_max || used > kStackBytesMax) {
      Raise("it is nested too deep, or calls itself without end");
    }
  }
  ~Depth() { --run_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Interpreter& run_;
};

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_RUN_INTERPRETER_DEPTH_H_
