// The flags of `cairn serve`. Flags of llama-server keep their names and meanings.

#include <CLI/CLI.hpp>
#include <string>

#include "base/text.h"
#include "chat/template/builtin_templates.h"
#include "cmd/llama_flags/environment.h"
#include "cmd/serve/adapters/adapter_flags.h"
#include "cmd/serve/answer_flags.h"
#include "cmd/serve/base/cache_flags.h"
#include "cmd/serve/base/key_flags.h"
#include "cmd/serve/base/models_flags.h"
#include "cmd/serve/device/device_flags.h"
#include "cmd/serve/draft_flags.h"
#include "cmd/serve/events/kv_event_flags.h"
#include "cmd/serve/media/served_media.h"
#include "cmd/serve/remote/remote_flags.h"
#include "cmd/serve/serve.h"
#include "cmd/serve/source/source_flags.h"

namespace cairn {
namespace {

void AddModelFlags(CLI::App* serve, LlamaOptions* llama) {
  const std::string group = "Model";
  AddDeviceFlags(serve, llama);
  serve
      ->add_option("--override-kv", llama->kv_overrides,
                   "Replace metadata of the model's file: KEY=TYPE:VALUE, of the types int, float, "
                   "bool and str, such as tokenizer.ggml.add_bos_token=bool:false; several are "
                   "separated by commas, or the flag is repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_flag("--mmap,!--no-mmap", llama->use_mmap,
                 "Map the model file into memory instead of reading it")
      ->group(group);
  serve
      ->add_flag("--mlock", llama->use_mlock, "Lock the model in RAM so that it is not swapped out")
      ->group(group);
  serve
      ->add_flag("--check-tensors", llama->check_tensors,
                 "Check tensors for invalid values while loading")
      ->group(group);
  serve
      ->add_flag("--repack,!--no-repack", llama->repack,
                 "Repack weights for this CPU (-nr: do not)")
      ->group(group);
}

// Flags of the group Context for the slots that share it.
void AddSlotFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Context";
  serve
      ->add_option(
          "--parallel", options->slots,
          "Number of slots (-np): requests that run concurrently. Where it is given each slot gets "
          "an equal part of the context; else they share it (-1: 4, or 1 with --reuse exact)")
      ->group(group);
  serve
      ->add_flag("--kv-unified,!--no-kv-unified", options->kv_unified,
                 "One KV buffer for all slots (-kvu): they share its room and the KV of common "
                 "prefixes. -no-kvu: a stream for each slot, with an equal part of the context, so "
                 "that slots neither slow one another down nor change each other's bits (default: "
                 "one buffer; streams where --parallel 2 or more is given, and with --reuse exact)")
      ->group(group);
}

void AddContextFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Context";
  LlamaOptions* llama = &options->llama;
  serve
      ->add_option("-c,--ctx-size", llama->context_tokens,
                   "Context size in tokens (0: the model's training context)")
      ->group(group);
  AddSlotFlags(serve, options);
  serve->add_option("-b,--batch-size", llama->batch_tokens, "Maximum batch size in tokens")
      ->group(group);
  serve
      ->add_option("--ubatch-size", llama->ubatch_tokens,
                   "Maximum micro-batch (ubatch) size in tokens (-ub)")
      ->group(group);
  serve
      ->add_option("-t,--threads", llama->threads,
                   "Number of threads for decode (-1: one per core)")
      ->group(group);
  serve
      ->add_option("--threads-batch", llama->threads_batch,
                   "Number of threads for prefill (-tb; -1: as --threads)")
      ->group(group);
  serve->add_option("--flash-attn", llama->flash_attention, "Flash attention (-fa): on, off, auto")
      ->group(group);
  serve->add_option("--cache-type-k", llama->cache_type_k, "Data type of K in the KV cache (-ctk)")
      ->group(group);
  serve->add_option("--cache-type-v", llama->cache_type_v, "Data type of V in the KV cache (-ctv)")
      ->group(group);
  serve
      ->add_flag("--kv-offload,!--no-kv-offload", llama->kv_offload,
                 "Keep the KV cache on the GPU (-nkvo: do not)")
      ->group(group);
  serve
      ->add_flag("--op-offload,!--no-op-offload", llama->op_offload,
                 "Run operations on host tensors on the GPU")
      ->group(group);
  serve
      ->add_flag(
          "--swa-full", llama->swa_full,
          "Keep the full history of sliding-window layers: uses more memory, needs no checkpoints")
      ->group(group);
  serve
      ->add_option("--rope-scaling", llama->rope_scaling, "RoPE scaling method: none, linear, yarn")
      ->group(group);
  serve->add_option("--rope-scale", llama->rope_scale, "RoPE context scaling factor")->group(group);
  serve->add_option("--rope-freq-base", llama->rope_freq_base, "RoPE base frequency")->group(group);
  serve->add_option("--rope-freq-scale", llama->rope_freq_scale, "RoPE frequency scale")
      ->group(group);
  serve
      ->add_option("--yarn-orig-ctx", llama->yarn_orig_ctx, "YaRN: training context size in tokens")
      ->group(group);
  serve->add_option("--yarn-ext-factor", llama->yarn_ext_factor, "YaRN: extrapolation mix factor")
      ->group(group);
  serve
      ->add_option("--yarn-attn-factor", llama->yarn_attn_factor, "YaRN: attention magnitude scale")
      ->group(group);
  serve->add_option("--yarn-beta-slow", llama->yarn_beta_slow, "YaRN: high correction dimension")
      ->group(group);
  serve->add_option("--yarn-beta-fast", llama->yarn_beta_fast, "YaRN: low correction dimension")
      ->group(group);
}

// Flags for conversations and answers that exceed the context.
void AddOverflowFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Context";
  serve
      ->add_option("--context-overflow", options->context_overflow,
                   "How to handle a conversation that does not fit the context. error: refuse it; "
                   "truncate: drop its oldest turns, in one step to half the context, and keep "
                   "that window for the next turns")
      ->check(CLI::IsMember({"error", "truncate"}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_flag("--context-shift,!--no-context-shift", options->context_shift,
                 "Continue an answer past the end of the context: drop the older half of the "
                 "tokens after --keep and shift the rest. The result differs from a fresh prefill; "
                 "attention models only, not with --reuse exact")
      ->group(group);
  serve
      ->add_option("--keep", options->defaults.keep_tokens,
                   "Number of first tokens that --context-shift keeps in addition to BOS (-1: the "
                   "whole prompt)")
      ->check(CLI::Range(-1, 1 << 30))
      ->capture_default_str()
      ->group(group);
}

// Flags for embeddings, reranking and infill.
void AddTextFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_flag("--embeddings,--embedding", options->embeddings,
                 "Also serve embeddings, in a separate context; always on with models that do "
                 "nothing else")
      ->group(group);
  serve
      ->add_option("--pooling", options->pooling,
                   "Pooling of token embeddings: none (a vector for each token), mean, cls, last "
                   "(default: the model's, or mean); rank: as --reranking")
      ->group(group);
  serve
      ->add_flag("--reranking,--rerank", options->reranking,
                 "Also serve reranking, with a reranker model such as bge-reranker or "
                 "Qwen3-Reranker; always on with those that do nothing else")
      ->group(group);
  serve
      ->add_flag("--spm-infill", options->spm_infill,
                 "Put the suffix before the prefix in /infill, for models trained that way")
      ->group(group);
}

void AddVolatileFlags(CLI::App* serve, VolatileFlags* flags, const std::string& group) {
  serve
      ->add_option("--pin-volatile", flags->pinned,
                   "Regular expression (RE2) of volatile text in messages, such as a date: a "
                   "conversation keeps the first value, so that its prefix stays the same. May be "
                   "repeated. auto: dates and times after words that name them, and <total_tokens>")
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_option("--volatile", flags->values,
                   "What becomes of dates, clocks, countdowns and random ids that a client changes "
                   "in the old part of a conversation. late: the prompt keeps what the model has "
                   "read, and one line behind the newest message tells the newest values. keep: "
                   "as --pin-volatile auto, nothing is told. off: all stays as it was sent "
                   "(default: late, and off with --reuse exact)")
      ->check(CLI::IsMember({"late", "keep", "off"}))
      ->group(group);
}

void AddServerFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option(
          "--host", options->host,
          "Address to listen on; an address that other machines can reach needs an API key; a path "
          "that ends with .sock is a Unix socket")
      ->capture_default_str()
      ->group(group);
  serve->add_option("--port", options->port, "Port to listen on (0: any free one)")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535))
      ->group(group);
  AddKeyFlags(serve, options);
  serve
      ->add_option("-a,--alias", options->alias,
                   "Model name shown to clients (default: the file's); further names behind commas "
                   "are in the list of models")
      ->group(group);
  serve
      ->add_option("--tags", options->tags,
                   "Words with commas between them that the list of models has for the model")
      ->group(group);
  serve
      ->add_option("--chat-template", options->chat_template,
                   "Chat template: " + JoinNames(BuiltinTemplateNames()) +
                       ", another name of llama.cpp's such as command-r, or a Jinja template "
                       "(default: the model's own)")
      ->group(group);
  serve
      ->add_option("--chat-template-file", options->chat_template_file,
                   "File with a Jinja chat template")
      ->group(group);
  serve
      ->add_flag("--keep-billing-header", options->keep_billing_header,
                 "Keep the x-anthropic-billing-header text that Claude Code sends. It changes in "
                 "every session, so sessions share no prefix")
      ->group(group);
  serve
      ->add_option("--script", options->script_path,
                   "For testing clients: JSON file of rules that fix the answers. The model "
                   "prefills every prompt and samples the answer of the matching rule")
      ->group(group);
  AddVolatileFlags(serve, &options->volatile_text, group);
  serve
      ->add_option("--sse-ping-interval", options->sse_ping_interval_s,
                   "Send a ping on a stream after this many seconds without data (-1: never)")
      ->capture_default_str()
      ->check(CLI::Range(-1, 86400))
      ->group(group);
  serve
      ->add_option("--trace-out", options->trace_out,
                   "Append one line per request to this file, for cairn-lab sim: lengths, times "
                   "and shared prefixes; no text, no tokens")
      ->group(group);
  serve
      ->add_option("--trace-events", options->trace_events,
                   "Write trace events to this file, for ui.perfetto.dev: steps, requests, "
                   "checkpoints, disk; no text, no tokens")
      ->group(group);
}

void AddRouteFlags(CLI::App* serve, ServeOptions* options) {
  serve
      ->add_flag("--ui,!--no-ui", options->page,
                 "Serve the web page at / (on); the APIs answer in any case")
      ->group("Server");
  serve
      ->add_flag("--slots,!--no-slots", options->slots_route,
                 "Answer GET /slots (on), which shows what the slots are doing, without texts")
      ->group("Server");
  serve
      ->add_flag("--prefill-assistant,!--no-prefill-assistant", options->prefill_assistant,
                 "Continue the last message if it is the assistant's, in OpenAI's and Anthropic's "
                 "APIs. Without this flag it is a complete message and a new answer follows")
      ->group("Server");
}

void AddResponsesFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option("--responses-store", options->responses_store_mib,
                   "MiB of memory per API key for stored responses of /v1/responses, for "
                   "previous_response_id; the oldest are evicted first (0: store none)")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20))
      ->group(group);
  serve
      ->add_option("--responses-ttl", options->responses_ttl_s,
                   "Keep a stored response for this many seconds (0: store none)")
      ->capture_default_str()
      ->check(CLI::Range(0, 366 * 86400))
      ->group(group);
}

void AddLogFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_flag("-v,--verbose", options->verbose,
                 "Log libllama's messages: --log-level debug; OpenAI's answers have __verbose with "
                 "the prompt's text")
      ->group(group);
  serve
      ->add_option(
          "--log-format", options->log_format,
          "Format of log lines on standard error: human, or json (one object per line, with the "
          "request's figures as fields); neither contains text of prompts or answers")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--log-file", options->log_file,
                   "File that the lines of the log are appended to, besides standard error")
      ->group(group);
  serve
      ->add_option("--log-level", options->log_level,
                   "Minimum level to log: debug, info (one line per request), warning, error; the "
                   "line with the server's address is logged at every level")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str()
      ->group(group);
}

// How prompts and running answers share the time.
void AddPaceFlags(CLI::App* serve, AnswerPaceOptions* pace, const std::string& group) {
  serve
      ->add_option("--answer-pace", pace->name,
                   "How prefill shares the time with requests that decode, see below")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--answer-gap-ms-max", pace->gap_ms_max,
                   "Longest time in ms between two tokens of an answer while prompts are "
                   "prefilled, as far as chunks can be shortened")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->group(group);
  serve
      ->add_option("--answer-tokens-per-s-min", pace->tokens_per_s_min,
                   "Tokens per second that each answer gets while prompts are prefilled, as far as "
                   "--prefill-share leaves time for them")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  serve
      ->add_option("--prefill-share", pace->prefill_share,
                   "Least share of compute time for prefill while other requests decode; with "
                   "--answer-pace share, its share: 0.5 slows decode by half at most")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1.0))
      ->group(group);
}

void AddSchedulingFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Scheduling";
  serve
      ->add_option(
          "--queue-limit", options->queue_limit,
          "Maximum number of requests queued for a slot; further ones get a 503 with Retry-After")
      ->capture_default_str()
      ->group(group);
  AddPaceFlags(serve, &options->pace, group);
  serve
      ->add_option("--request-timeout", options->request_timeout_s,
                   "End a request with a 504 after this many seconds, queueing included (0: "
                   "never); its prefilled tokens stay cached")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  serve
      ->add_flag("--warm,!--no-warm", options->warm,
                 "While idle, prefetch the form in which each conversation will come back, so that "
                 "the next turn prefills only its new message; at most 25% more prefill in total. "
                 "At the start, load the last conversation and the beginnings that most share")
      ->group(group);
  serve
      ->add_option("--warm-budget", options->prefetch_budget,
                   "Maximum tokens per minute that --warm prefills (0: no separate limit), for "
                   "batteries and shared machines")
      ->capture_default_str()
      ->group(group);
}

void AddIdleFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option("--sleep-idle-seconds", options->sleep_idle_s,
                   "Unload the model after this many seconds without a request and load it again "
                   "at the next one; the cache is kept (-1: never)")
      ->capture_default_str()
      ->check(CLI::Range(-1, 30 * 86400))
      ->check([](const std::string& value) {
        return value == "0" ? "expected a positive number of seconds, or -1 for never" : "";
      })
      ->group(group);
}

}  // namespace

CLI::App* AddServe(CLI::App* app, ServeOptions* options) {
  CLI::App* serve = app->add_subcommand("serve", "Serve a GGUF model over HTTP");
  AddSourceFlags(serve, options);
  AddModelFlags(serve, &options->llama);
  AddModelsFlags(serve, &options->models);
  AddAdapterFlags(serve, &options->adapters);
  AddMediaFlags(serve, &options->media);
  AddContextFlags(serve, options);
  AddOverflowFlags(serve, options);
  AddCacheFlags(serve, options);
  AddRemoteStoreFlags(serve, &options->remote);
  AddRemoteTierFlags(serve, &options->remote);
  AddServerFlags(serve, options);
  AddRouteFlags(serve, options);
  AddTextFlags(serve, options);
  AddResponsesFlags(serve, options);
  AddLogFlags(serve, options);
  AddSchedulingFlags(serve, options);
  AddDraftFlags(serve, options);
  AddIdleFlags(serve, options);
  AddKvEventFlags(serve, &options->kv_events);
  AddAnswerFlags(serve, options);
  NameEnvironmentFlags(serve);
  // The footer has a table of policies, which must not be reflowed.
  serve->get_formatter()->enable_footer_formatting(false);
  serve->footer(
      PolicyHelp() +
      "\n"
      "All flags of llama-server are taken, with its names, short forms (-ngl, -fa, -ctk …)\n"
      "and environment variables (Env above); docs/from_llama_server.md says what becomes of\n"
      "each. The command line overrides the environment.\n"
      "Not supported: video.\n\n"
      "Example: cairn serve -m model.gguf -c 32768 --port 8080");
  return serve;
}

}  // namespace cairn
