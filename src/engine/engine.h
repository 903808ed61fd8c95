// Engine: a loaded model and the memory of its sequences. Others include this header; what
// computes behind it (libllama, or a hash that plays a model) is their own affair.
//
// An Engine knows nothing of chats and nothing of caches. It decodes pieces of tokens, and it can
// take a snapshot of the state that cannot be rolled back and return a sequence to it:
//
//   sequence   [ t0 t1 t2 … t99 | t100 … t180 ]      TakeSnapshot at 100 gave S
//   Restore(seq, 100, S)  ->  [ t0 … t99 ]            attention KV before 100 must still be there
//   Truncate(seq, 60)     ->  [ t0 … t59 ]            only where the memory can (see MemoryTraits)
//
// Where the attention KV itself is to leave the sequence and come back, it travels as segments:
//
//   TakeSegment(seq, 0, 60) = A,  TakeSegment(seq, 60, 100) = B
//   Assemble(seq, 0, {A, B}, 100, S)  ->  [ t0 … t99 ]     whatever the sequence held before
//
// Threads: one thread owns the context and calls everything but the functions under "Vocabulary",
// which any thread may call.

#ifndef CAIRN_ENGINE_ENGINE_H_
#define CAIRN_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/tokens.h"
#include "engine/grammar/grammar.h"

namespace cairn {

using SeqId = int32_t;

// What kind of memory a model keeps, and so what it takes to go back.
enum class MemoryClass {
  kAttention,      // a KV cell a token: cut anywhere
  kSlidingWindow,  // some layers keep only a window: cut only while the window is still there
  kRecurrent,      // one state, no history: only a snapshot goes back
  kHybrid,         // recurrent layers beside attention layers: snapshot + cut of the attention KV
};
std::string_view MemoryClassName(MemoryClass memory_class);

// The exactness grid (see MemoryTraits) that held on every backend it was tried on. Where there is
// no time to measure one it is assumed, and where none was found cuts are made as if it held.
inline constexpr size_t kUsualGridTokens = 64;

struct MemoryTraits {
  MemoryClass memory_class = MemoryClass::kAttention;
  // Bytes of one snapshot once a window, if there is one, is full. 0: a cut needs no snapshot.
  size_t snapshot_bytes = 0;
  // Bytes of attention KV that each further token costs.
  size_t kv_bytes_per_token = 0;
  // Tokens of the sliding window, 0 when there is none or libllama does not say.
  size_t window_tokens = 0;
  // The exactness grid: cuts at multiples of so many tokens leave every bit of later logits
  // unchanged. 0 when no grid was found.
  size_t grid_tokens = 0;
  // The grid was found by trying, not assumed.
  bool grid_measured = false;
  // Ranges of attention KV may be copied apart from the whole state, and shared by sequences.
  // Decided by the table of verified architectures, never by trying: where it is not supported
  // libllama aborts.
  bool segments = false;
  // The whole state of a sequence may be taken out and set back. Tried at load.
  bool full_states = false;
  // Attention KV may be moved to other positions.
  bool shifts = false;

  bool NeedsSnapshots() const { return snapshot_bytes > 0; }
};

struct ModelInfo {
  std::string path;
  std::string name;
  std::string architecture;
  std::string description;    // as libllama words it: architecture, size, quantisation
  std::string chat_template;  // Jinja text, empty when the file has none
  std::string bos_text;
  std::string eos_text;
  bool adds_bos = false;  // the tokenizer begins a text with the BOS token
  size_t vocab_size = 0;
  // No token stands for more bytes of text; 0: not known.
  size_t token_bytes_max = 0;
  size_t train_context_tokens = 0;
  size_t embedding_size = 0;
  uint64_t parameters = 0;
  uint64_t size_bytes = 0;
};

// The steps by which a token is drawn that may stand in any order; see SamplingParams::order.
enum class SamplingStep : uint8_t {
  kPenalties,
  kDry,
  kTopNSigma,
  kTopK,
  kTypicalP,
  kTopP,
  kMinP,
  kXtc,
  kTemperature,
  kInfill,     // joins tokens that begin alike, and ends the answer early: for gaps in code
  kAdaptiveP,  // chooses the token, so it comes last wherever it is named
};
// llama-server's names: "penalties", "dry", … "temperature".
std::string_view SamplingStepName(SamplingStep step);
// Those taken where none are named, in llama-server's order: all but kInfill and kAdaptiveP.
const std::vector<SamplingStep>& UsualSamplingOrder();
// All of them.
const std::vector<SamplingStep>& AllSamplingSteps();

// Against repeating whole sequences of tokens.
struct DryParams {
  float multiplier = 0.0F;  // 0: off
  float base = 1.75F;
  int32_t allowed_length = 2;
  int32_t last_n = -1;  // tokens to look back; -1: the context's
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};

  friend bool operator==(const DryParams&, const DryParams&) = default;
};

// Names and defaults as llama-server has them.
struct SamplingParams {
  float temperature = 0.8F;  // 0: always the likeliest token
  int32_t top_k = 40;        // 0: off
  float top_p = 0.95F;       // 1: off
  float min_p = 0.05F;       // 0: off
  float repeat_penalty = 1.0F;
  int32_t repeat_last_n = 64;  // -1: the context's; 0: off
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  uint32_t seed = 0xFFFFFFFFU;                      // this value: a new seed for every request
  std::vector<std::pair<Token, float>> logit_bias;  // -infinity: never
  float typical_p = 1.0F;                           // 1: off
  float top_n_sigma = -1.0F;                        // 0 or less: off
  float xtc_probability = 0.0F;                     // 0: off
  float xtc_threshold = 0.1F;                       // above 0.5: off
  float dynatemp_range = 0.0F;                      // 0: off
  float dynatemp_exponent = 1.0F;
  int32_t mirostat = 0;  // 0: off; 1 and 2: it takes the place of all steps but the temperature
  float mirostat_tau = 5.0F;
  float mirostat_eta = 0.1F;
  float adaptive_target = -1.0F;  // the probability that kAdaptiveP prefers; negative: off
  float adaptive_decay = 0.9F;    // how long it remembers, 0 to 0.99
  int32_t min_keep = 0;           // tokens that every step leaves
  DryParams dry;
  // A step that is not named is not taken.
  std::vector<SamplingStep> order = UsualSamplingOrder();
  std::shared_ptr<const Grammar> grammar;  // what the answer must be; null: anything
  std::vector<std::string> grammar_tags;   // control tokens whose text the grammar sees
};

// Draws tokens for one answer. Owned by the request; called by the thread that owns the context.
class Sampler {
 public:
  virtual ~Sampler() = default;
  static constexpr Token kNoToken = -1;
  // Draws from `logits`, a row of vocabulary size, and remembers the token for the penalties.
  // kNoToken: the grammar leaves none to draw.
  virtual Token Sample(std::span<const float> logits) = 0;
  // A token that something else chose comes next; it is remembered as one sampled. False: the
  // grammar does not allow it, and nothing has changed.
  virtual bool Accept(Token token);
};

// What Assemble uses of a segment: positions [begin, end), all of it or its front.
struct SegmentPart {
  size_t begin = 0;
  size_t end = 0;
  ByteSpan bytes = {};
  // Where it is set, what it returns stands for `bytes`, and is valid until the next part's is
  // called: so that of a long path that comes from a disk one segment at a time is in memory.
  std::function<Result<ByteSpan>()> load = {};

  Result<ByteSpan> Load() const { return load ? load() : Result<ByteSpan>(bytes); }
};

// One token to decode where a sequence ends.
struct NextToken {
  SeqId seq = 0;
  size_t position = 0;
  Token token = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual const ModelInfo& info() const = 0;
  virtual const MemoryTraits& traits() const = 0;
  // Tokens that one sequence may hold.
  virtual size_t context_tokens() const = 0;
  // Sequences are numbered from 0 to slots() - 1.
  virtual size_t slots() const = 0;
  // Tokens that all of them may hold together; those they share count once.
  virtual size_t cells() const = 0;
  // Tokens of one micro-batch: the largest piece Decode takes.
  virtual size_t chunk_tokens_max() const = 0;
  // All that the bits of states depend on, a line each, as `name=value`
  // (engine/llama/state/state_facts.h): engines that say the same may take each other's states.
  // Constant; it reads some of the model's file, so ask once. kNotFound, kCorrupt: the file is not
  // as it was loaded.
  virtual Result<std::string> StateIdentity() const = 0;

  // Vocabulary. Any thread.

  // `parse_special`: text such as "<|im_end|>" becomes the token it names. `add_special`: BOS and
  // EOS are added where the model asks for them.
  virtual Result<Tokens> Tokenize(std::string_view text, bool add_special,
                                  bool parse_special) const = 0;
  // The bytes of one token; they need not be whole characters. Control tokens have text only when
  // `special` is true.
  virtual std::string Piece(Token token, bool special) const = 0;
  virtual bool IsEndOfGeneration(Token token) const = 0;

  // Sequences. Only the thread that owns the context.

  // Evaluates `tokens` at positions [position, position + size) of `seq`, in one computation.
  // REQUIRES: `seq` ends at `position`; 0 < size <= chunk_tokens_max().
  // kTooLong: a sequence holds no more. kNoSpace: others hold the cells it needs; nothing has
  // changed. kInternal: libllama failed; the sequence is then empty.
  virtual Status Decode(SeqId seq, size_t position, TokenSpan tokens) = 0;
  // The logits after the last token of the last Decode; valid until the next call that changes a
  // sequence.
  virtual std::span<const float> Logits() const = 0;
  // One more token of each of several answers, in one computation. Errors as Decode's; after
  // kInternal all the sequences named are empty.
  // REQUIRES: each sequence ends at its position and is named once; not empty.
  virtual Status DecodeEach(std::span<const NextToken> tokens) = 0;
  // As Logits(), after the token `index` of the last DecodeEach.
  virtual std::span<const float> LogitsOf(size_t index) const = 0;

  // The state of `seq` that cannot be rolled back, at the position where the sequence ends.
  virtual Result<Bytes> TakeSnapshot(SeqId seq) = 0;
  // Returns `seq` to `position` with a snapshot taken there. REQUIRES: unless the model is purely
  // recurrent, `seq` still holds the attention KV of [0, position).
  // On an error the sequence is empty.
  virtual Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) = 0;
  // Whether Truncate would succeed. To the sequence's end and to 0 it always does.
  virtual bool CanTruncate(SeqId seq, size_t position) const = 0;
  // Drops everything at and after `position`. REQUIRES: CanTruncate(seq, position).
  // On an error the sequence is empty.
  virtual Status Truncate(SeqId seq, size_t position) = 0;
  virtual void Clear(SeqId seq) = 0;

  // The attention KV of positions [begin, end) of `seq`, and nothing else.
  // REQUIRES: traits().segments; begin < end, and `seq` reaches `end`.
  virtual Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) = 0;
  // Makes `seq` end at `position`: it keeps its own attention KV of [0, keep), takes that of
  // `parts` for the rest, and the state that cannot be rolled back from `snapshot`, which is empty
  // where traits() need none. REQUIRES: traits().segments; `seq` reaches `keep`; the parts follow
  // one another from `keep` to `position`. On an error the sequence is empty. kNoSpace: others may
  // hold the cells it needs, and the bytes may be good. Errors of SegmentPart::load likewise.
  virtual Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                          size_t position, ByteSpan snapshot) = 0;

  // Makes `to` end at `position`, sharing the attention KV of [0, position) with `from`, which
  // stays as it is; the state that cannot be rolled back comes from `snapshot`, which is empty
  // where traits() need none. REQUIRES: traits().segments; `from` reaches `position`; from != to.
  // On an error `to` is empty.
  virtual Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) = 0;

  // Drops positions [begin, end) of `seq` and moves up what stands behind them. That was computed
  // behind tokens that are gone, so it is not what decoding those left would give.
  // REQUIRES: traits().shifts; begin < end, and `seq` reaches `end`; no other sequence shares what
  // stands behind it. On an error the sequence is empty.
  virtual Status Drop(SeqId seq, size_t begin, size_t end);

  // All that `seq` holds. REQUIRES: traits().full_states, and `seq` holds something.
  virtual Result<Bytes> TakeFullState(SeqId seq) = 0;
  // Makes `seq` what it was when `whole` was taken, at `position`. On an error it is empty.
  // kNoSpace: as Assemble's.
  virtual Status SetFullState(SeqId seq, size_t position, ByteSpan whole) = 0;

  virtual std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) = 0;

  // Unloads the model: afterwards all sequences are empty and what is said under "Sequences" may
  // not be called until Wake. The vocabulary and all that describes the engine stay.
  // kUnsupported: it cannot, and nothing has changed. REQUIRES: it does not sleep.
  virtual Status Sleep();
  // Loads it again. On an error it sleeps on and may be woken later. kUnavailable: the model's file
  // is no longer the one that states were taken of. REQUIRES: it sleeps.
  virtual Status Wake();
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_ENGINE_H_
