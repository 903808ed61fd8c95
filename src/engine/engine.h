// Engine: a loaded model and the memory of its sequences. Others include this header; the
// implementation behind it (libllama, or a hash that plays a model) is hidden.
//
// An Engine knows neither chats nor caches. It decodes chunks of tokens, and it can take a snapshot
// of the state that cannot be rolled back and return a sequence to it:
//
//   sequence   [ t0 t1 t2 … t99 | t100 … t180 ]      TakeSnapshot at 100 returned S
//   Restore(seq, 100, S)  ->  [ t0 … t99 ]            attention KV before 100 must still be there
//   Truncate(seq, 60)     ->  [ t0 … t59 ]            only where the memory can (see MemoryTraits)
//
// Where the attention KV itself leaves the sequence and comes back, it is stored as segments:
//
//   TakeSegment(seq, 0, 60) = A,  TakeSegment(seq, 60, 100) = B
//   Assemble(seq, 0, {A, B}, 100, S)  ->  [ t0 … t99 ]     whatever the sequence held before
//
// What an engine does is in three interfaces: Model (its facts and its vocabulary), Sequences and
// Segments. Each user takes those that it needs.
//
// Threads: one thread owns the context and calls everything except Model, which any thread may
// call.

#ifndef CAIRN_ENGINE_ENGINE_H_
#define CAIRN_ENGINE_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/tokens.h"
#include "engine/adapters/adapter_sets.h"
#include "engine/grammar/grammar.h"
#include "media/media_encoder.h"

namespace cairn {

using SeqId = int32_t;

// The kind of memory a model keeps, which determines how a sequence can return to an earlier
// position.
enum class MemoryClass {
  kAttention,      // a KV cell per token: can be truncated anywhere
  kSlidingWindow,  // some layers keep only a window: truncates only while it is still there
  kRecurrent,      // one state, no history: returns only by a snapshot
  kHybrid,         // recurrent and attention layers: a snapshot, and the attention KV truncated
};
std::string_view MemoryClassName(MemoryClass memory_class);

// The exactness grid (see MemoryTraits) that held on every CPU it was tried on. It is assumed
// where there is no time to measure one; where none was found, prompts are cut as if it held.
inline constexpr size_t kUsualGridTokens = 64;

struct MemoryTraits {
  MemoryClass memory_class = MemoryClass::kAttention;
  // Bytes of one snapshot once a window, if there is one, is full. 0: truncation needs no snapshot.
  size_t snapshot_bytes = 0;
  // Bytes of attention KV per additional token.
  size_t kv_bytes_per_token = 0;
  // Tokens of the sliding window; 0 if there is none or libllama does not report it.
  size_t window_tokens = 0;
  // The exactness grid: cutting prompts at multiples of this many tokens leaves every bit of later
  // logits unchanged. 0 if no grid was found.
  size_t grid_tokens = 0;
  // Whether prompts may be cut at boundaries off the grid, where it then begins anew and at which
  // every run ends a chunk (tree/prompt_cuts.h).
  bool cuts_at_messages = true;
  // Whether no bit changes then, whatever was computed before in the same buffer. With a sliding
  // window one does in some thousand prompts, so `exact` keeps to the grid.
  bool exact_at_messages = true;
  // Whether the grid was measured, not assumed.
  bool grid_measured = false;
  // Ranges of attention KV can be copied separately from the full state, and sequences can begin
  // from one another. Decided by the table of verified architectures, never by trying alone,
  // because libllama aborts where it is not supported.
  bool segments = false;
  // The attention KV of all sequences lies in one buffer: a fork shares the cells of its origin,
  // sequences compete for room, and each slows the others down. Otherwise each has a stream of its
  // own, with room for all that it may hold; a fork is a copy, and a segment costs as much as the
  // full state that it is cut from, which TakeSegment keeps (see ReleaseTaken).
  bool one_buffer = true;
  // The full state of a sequence can be taken out and restored. Tried at load.
  bool full_states = false;
  // The most tokens at the end of the last DecodeEach that RollBack can drop from a sequence. 0:
  // none, returning to an earlier position takes a snapshot.
  size_t rollback_tokens = 0;
  // Attention KV can be moved to other positions.
  bool shifts = false;
  // Chunks of several sequences may be prefilled in one computation (Engine::DecodeChunks).
  bool chunks_together = false;
  // A device other than the CPU computes, or may compute some chunks. It chooses its kernels by the
  // size of a chunk, so probes need one of full size.
  bool on_device = false;
  // A restored sequence goes on with the bits of an uninterrupted one. Tried on devices other than
  // the CPU; where it does not, grid_tokens is 0.
  bool restores_bits = true;

  bool NeedsSnapshots() const { return snapshot_bytes > 0; }
};

struct ModelInfo {
  std::string path;
  std::string name;
  std::string architecture;
  std::string description;    // libllama's text: architecture, size, quantisation
  std::string chat_template;  // Jinja text; empty if the file has none
  // The template for conversations with tools, "tool_use"; empty if the file has no second one.
  std::string tool_template = {};
  // The sampling that the file recommends, as text, by the name behind "general.sampling.".
  std::vector<std::pair<std::string, std::string>> sampling = {};
  std::string bos_text;
  std::string eos_text;
  bool adds_bos = false;  // the tokenizer begins a text with the BOS token
  size_t vocab_size = 0;
  // The most bytes of text that one token stands for; 0: not known.
  size_t token_bytes_max = 0;
  size_t train_context_tokens = 0;
  size_t embedding_size = 0;
  uint64_t parameters = 0;
  uint64_t size_bytes = 0;
  // A line for people: which device holds how much of the model.
  std::string devices_text = {};
};

// The steps of sampling whose order can be chosen; see SamplingParams::order.
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
  kInfill,     // merges tokens with a common beginning and ends the answer early: for gaps in code
  kAdaptiveP,  // chooses the token, so it is last wherever it is named
};
// Returns llama-server's names: "penalties", "dry", … "temperature".
std::string_view SamplingStepName(SamplingStep step);
// The steps taken by default, in llama-server's order: all but kInfill and kAdaptiveP.
const std::vector<SamplingStep>& UsualSamplingOrder();
// All steps.
const std::vector<SamplingStep>& AllSamplingSteps();
// Finds a step by its name, or by another one that llama-server takes too: "typical", "temp".
std::optional<SamplingStep> FindSamplingStep(std::string_view name);
// A letter for each step, in the order of AllSamplingSteps(): llama-server's `--sampler-seq`.
inline constexpr std::string_view kSamplingLetters = "edskypmxtia";
std::optional<SamplingStep> SamplingStepOfLetter(char letter);

// Penalizes repetition of whole sequences of tokens (DRY).
struct DryParams {
  float multiplier = 0.0F;  // 0: off
  float base = 1.75F;
  int32_t allowed_length = 2;
  int32_t last_n = -1;  // tokens to look back; -1: the context's size
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};

  friend bool operator==(const DryParams&, const DryParams&) = default;
};

// Names and defaults are llama-server's.
struct SamplingParams {
  float temperature = 0.8F;  // 0: always the likeliest token
  int32_t top_k = 40;        // 0: off
  float top_p = 0.95F;       // 1: off
  float min_p = 0.05F;       // 0: off
  float repeat_penalty = 1.0F;
  int32_t repeat_last_n = 64;  // -1: the context's size; 0: off
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  uint32_t seed = 0xFFFFFFFFU;                      // this value: a new seed for every request
  std::vector<std::pair<Token, float>> logit_bias;  // -infinity: never sampled
  float typical_p = 1.0F;                           // 1: off
  float top_n_sigma = -1.0F;                        // 0 or less: off
  float xtc_probability = 0.0F;                     // 0: off
  float xtc_threshold = 0.1F;                       // above 0.5: off
  float dynatemp_range = 0.0F;                      // 0: off
  float dynatemp_exponent = 1.0F;
  int32_t mirostat = 0;  // 0: off; 1 and 2: replaces all steps but the temperature
  float mirostat_tau = 5.0F;
  float mirostat_eta = 0.1F;
  float adaptive_target = -1.0F;  // the probability that kAdaptiveP prefers; negative: off
  float adaptive_decay = 0.9F;    // how slowly its history fades, 0 to 0.99
  int32_t min_keep = 0;           // tokens that every step leaves
  DryParams dry;
  // A step that is not named is not taken.
  std::vector<SamplingStep> order = UsualSamplingOrder();
  std::shared_ptr<const Grammar> grammar;  // constrains the answer; nullptr: no constraint
  std::vector<std::string> grammar_tags;   // control tokens whose text the grammar sees
};

// Sampler: samples tokens for one answer. Owned by the request; called by the thread that owns the
// context.
class Sampler {
 public:
  virtual ~Sampler() = default;
  static constexpr Token kNoToken = -1;
  // Samples from `logits`, a row of vocabulary size, and records the token for the penalties.
  // Returns kNoToken if the grammar leaves none.
  virtual Token Sample(std::span<const float> logits) = 0;
  // Records a token that was chosen elsewhere as if it had been sampled. Returns false if the
  // grammar does not allow it; then nothing has changed.
  virtual bool Accept(Token token);
  // A token that the last Sample might have returned, with its probability after all steps.
  struct Candidate {
    Token token = 0;
    float probability = 0;
  };
  // Returns those of the last Sample, likeliest first; empty if there are none to tell.
  virtual std::vector<Candidate> Candidates() const;
};

// Whether two rows of logits are the same, bit for bit.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b);

// The part of a segment that Assemble uses: positions [begin, end), all of it or its front.
struct SegmentPart {
  size_t begin = 0;
  size_t end = 0;
  ByteSpan bytes = {};
  // If set, its result is used in place of `bytes`, and is valid until the next part's `load` is
  // called. So only one segment at a time of a long path from disk is in memory.
  std::function<Result<ByteSpan>()> load = {};

  Result<ByteSpan> Load() const { return load ? load() : Result<ByteSpan>(bytes); }
};

// One token to decode at the end of a sequence.
struct NextToken {
  SeqId seq = 0;
  size_t position = 0;
  Token token = 0;
};
// A chunk of one sequence's prompt.
struct SeqChunk {
  SeqId seq = 0;
  size_t position = 0;
  TokenSpan tokens;
};
// After which tokens of a chunk there are logits.
enum class ChunkLogits : uint8_t { kLast, kEach };
class MtpHeads;

// Returns `tokens` at the end of `seq`, which has `position` tokens.
std::vector<NextToken> NextTokens(SeqId seq, size_t position, TokenSpan tokens);

// Model: the facts of a loaded model and its context, and the model's vocabulary.
//
// Threads: any, except for MakeSampler, which the thread that owns the context calls.
class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;
  virtual const MemoryTraits& traits() const = 0;
  // The most tokens that one sequence may hold.
  virtual size_t context_tokens() const = 0;
  // Sequences are numbered from 0 to slots() - 1.
  virtual size_t slots() const = 0;
  // The most tokens that all sequences may hold together; shared tokens count once.
  virtual size_t cells() const = 0;
  // Tokens of one ubatch: the largest chunk that Decode takes.
  virtual size_t chunk_tokens_max() const = 0;
  // Returns everything that the bits of states depend on, one `name=value` per line
  // (engine/llama/state/state_facts.h). Engines that return the same text may restore each other's
  // states. Constant; reads some of the model's file, so call it once. kNotFound or kCorrupt if the
  // file has changed since it was loaded.
  virtual Result<std::string> StateIdentity() const = 0;

  // `parse_special`: text such as "<|im_end|>" becomes the token it names. `add_special`: BOS and
  // EOS are added where the model requires them.
  virtual Result<Tokens> Tokenize(std::string_view text, bool add_special,
                                  bool parse_special) const = 0;
  // Returns the bytes of one token, which need not be whole UTF-8 characters. Control tokens have
  // text only if `special` is true.
  virtual std::string Piece(Token token, bool special) const = 0;
  virtual bool IsEndOfGeneration(Token token) const = 0;

  // The LoRA adapters of the model; nullptr if it has none. Any thread.
  virtual AdapterSets* adapter_sets() const { return nullptr; }
  // REQUIRES: the model is loaded.
  virtual std::unique_ptr<Sampler> MakeSampler(const SamplingParams& params) = 0;
};

// Sequences: decodes tokens at the end of sequences, and returns them to earlier positions.
//
// Threads: the one that owns the context.
class Sequences {
 public:
  virtual ~Sequences() = default;

  // Evaluates `tokens` at positions [position, position + size) of `seq`, in one computation.
  // kTooLong if the sequence can hold no more. kNoSpace if other sequences hold the cells it needs;
  // then nothing has changed. kInternal if libllama failed; the sequence is then empty.
  // REQUIRES: `seq` ends at `position`; 0 < size <= chunk_tokens_max().
  virtual Status Decode(SeqId seq, size_t position, TokenSpan tokens) = 0;
  // As Decode of each chunk, in one computation: the weights are read once for all of them.
  // Afterwards LogitsOf, with an index that counts the tokens of all chunks, gives the logits after
  // the last token of each chunk, or after each token. Those of each may have other last digits,
  // because kernels depend on the number of rows; the states have the bits that they would have.
  // Errors as in Decode; after kInternal all the sequences are empty. kUnsupported if the engine
  // cannot. REQUIRES: each sequence once; traits().chunks_together for more than one; at most
  // chunk_tokens_max() tokens together.
  virtual Status DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits);
  // Returns the logits after the last token of the last Decode or DecodeChunks; valid until the
  // next call that changes a sequence.
  std::span<const float> Logits() const { return LogitsOf(kLastRow); }
  static constexpr size_t kLastRow = SIZE_MAX;
  // Decodes the next tokens of several answers, in one computation: one of each, or more of which
  // the others were drafted and may be rolled back. Errors as in Decode; after kInternal all the
  // sequences named are empty.
  // REQUIRES: each sequence ends at the position of its first token; its tokens are adjacent and in
  // order; 0 < size <= chunk_tokens_max().
  virtual Status DecodeEach(std::span<const NextToken> tokens) = 0;
  // As Logits(), after the token `index` of the last DecodeEach or DecodeChunks; kLastRow: after
  // the last token of the last decode of any kind.
  virtual std::span<const float> LogitsOf(size_t index) const = 0;

  // Returns the state of `seq` that cannot be rolled back, at the sequence's end.
  virtual Result<Bytes> TakeSnapshot(SeqId seq) = 0;
  // Returns `seq` to `position` with a snapshot taken there. On an error the sequence is empty.
  // REQUIRES: unless the model is purely recurrent, `seq` still holds the attention KV of [0,
  // position).
  virtual Status Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) = 0;
  // Whether Truncate would succeed. It always does for the sequence's end and for 0.
  virtual bool CanTruncate(SeqId seq, size_t position) const = 0;
  // Drops all tokens at and after `position`. On an error the sequence is empty.
  // REQUIRES: CanTruncate(seq, position).
  virtual Status Truncate(SeqId seq, size_t position) = 0;
  // Drops the tokens at and after `position`, all of which the last DecodeEach decoded. The
  // sequence's last bits may differ from those of a run that never decoded them. On an error it is
  // empty. REQUIRES: at most traits().rollback_tokens are dropped, and one at least is left.
  virtual Status RollBack(SeqId seq, size_t position);
  virtual void Clear(SeqId seq) = 0;

  // Drops positions [begin, end) of `seq` and shifts the tokens after them down. Those were
  // computed after tokens that are gone, so their KV differs from that of decoding the remaining
  // tokens. On an error the sequence is empty.
  // REQUIRES: traits().shifts; begin < end, and `seq` reaches `end`; no other sequence shares the
  // tokens after it.
  virtual Status Drop(SeqId seq, size_t begin, size_t end);

  // Decodes a medium, or a piece of one, at the end of `seq`: its rows take the places of `tokens`.
  // Logits() are those after the last row. Errors as in Decode; kUnsupported if the rows do not fit
  // the engine. REQUIRES: `seq` ends at `position`; `tokens` are MediaTokens, as many as rows.
  virtual Status DecodeMedium(SeqId seq, size_t position, TokenSpan tokens,
                              const EncodedPiece& piece);
  // Says which media the sequence will hold: those in `tokens`. Call it before Restore, or Assemble
  // or SetFullState of Segments, makes `seq` hold other tokens than it holds. All other functions
  // know.
  virtual void SetMedia(SeqId seq, TokenSpan tokens);

  // Computes with the adapters of this set from now on; with the model alone until the first call
  // and after Wake. Cheap if the set is in use already. Engines without adapters ignore it.
  // kInternal if libllama refuses; kUnavailable if the set was freed.
  virtual Status UseAdapters(AdapterSets::Number set);
};

// Segments: takes what sequences hold out of them, and gives it back, to the same or to others.
//
// Threads: the one that owns the context.
class Segments {
 public:
  virtual ~Segments() = default;

  // Returns the attention KV of positions [begin, end) of `seq`, and no other state.
  // REQUIRES: traits().segments; begin < end, and `seq` reaches `end`.
  virtual Result<Bytes> TakeSegment(SeqId seq, size_t begin, size_t end) = 0;
  // Frees what TakeSegment keeps for the next ranges of a sequence, which may be as large as the
  // sequence. Without this call it goes when the sequence changes.
  virtual void ReleaseTaken();
  // Makes `seq` end at `position`: it keeps its own attention KV of [0, keep), takes that of
  // `parts` for the rest, and restores the state that cannot be rolled back from `snapshot`, which
  // is empty where traits() need none. On an error the sequence is empty. kNoSpace if other
  // sequences may hold the cells it needs; the bytes may be good. Returns the errors of
  // SegmentPart::load.
  //
  // With traits().one_buffer it may be done in steps, between which other sequences are decoded:
  // without a `snapshot` further parts follow, by a call whose `keep` is this one's `position`.
  // Until the last one `seq` may only be cleared besides.
  // REQUIRES: traits().segments; `seq` reaches `keep`; the parts follow one another from `keep` to
  // `position`.
  virtual Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                          size_t position, std::optional<ByteSpan> snapshot) = 0;

  // Makes `to` end at `position`, sharing the attention KV of [0, position) with `from`, which is
  // unchanged, or copying it (see MemoryTraits::one_buffer). The state that cannot be rolled back
  // comes from `snapshot`, which is empty where traits() need none. On an error `to` is empty.
  // REQUIRES: traits().segments; `from` reaches `position`; from != to.
  virtual Status Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) = 0;

  // Returns the full state of `seq`. REQUIRES: traits().full_states, and `seq` is not empty.
  virtual Result<Bytes> TakeFullState(SeqId seq) = 0;
  // Restores `seq` to the full state `whole`, which was taken at `position`. On an error it is
  // empty. kNoSpace as in Assemble.
  virtual Status SetFullState(SeqId seq, size_t position, ByteSpan whole) = 0;
};

class Engine : public Model, public Sequences, public Segments {
 public:
  // The model's heads for multi-token prediction (engine/mtp_heads.h); nullptr if they are not
  // loaded. Not to be kept: it may change with Wake.
  virtual MtpHeads* mtp_heads() { return nullptr; }

  // Unloads the model. Afterwards all sequences are empty, and nothing of Sequences and Segments
  // may be called until Wake. Model goes on, but makes no
  // samplers. kUnsupported if the engine cannot;
  // then nothing has changed. REQUIRES: the model is loaded.
  virtual Status Sleep();
  // Loads the model again. On an error it stays unloaded, and Wake may be called again later.
  // kUnavailable if the model's file is no longer the one that states were taken of. REQUIRES: the
  // model is unloaded.
  virtual Status Wake();

  // While `*stop` is true, a decode may end early with kInternal: at the next operation of its
  // graph where the CPU computes, not at all where another device does. Any thread may set it.
  // nullptr: each decode runs to its end, as at the beginning. `stop` outlives its use here. No
  // effect after Wake.
  void StopDecodesIf(const std::atomic<bool>* stop) { stop_ = stop; }
  // For implementations.
  bool decodes_stop() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

 private:
  const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_ENGINE_H_
