#include "sched/media/encoded_media.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace cairn {

EncodedMedia::EncodedMedia(MediaDecoder* decoder, MediaEncoder* encoder, const Clock* clock,
                           Options options)
    : decoder_(decoder),
      encoder_(encoder),
      clock_(clock),
      options_(std::move(options)),
      thread_([this] { Run(); }) {}

EncodedMedia::~EncodedMedia() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  thread_.join();
}

EncodedMedia::Entry* EncodedMedia::Find(NamespaceId name_space, const Medium& medium) {
  for (const auto& entry : entries_) {
    if (entry->name_space == name_space && entry->content == medium.content) {
      return entry.get();
    }
  }
  return nullptr;
}

EncodedMedia::Entry* EncodedMedia::FindWaiting() {
  const auto waiting = std::find_if(entries_.begin(), entries_.end(),
                                    [](const auto& entry) { return !entry->result; });
  return waiting == entries_.end() ? nullptr : waiting->get();
}

void EncodedMedia::Want(NamespaceId name_space, const std::shared_ptr<const Medium>& medium) {
  {
    const std::lock_guard lock(mutex_);
    if (Entry* const known = Find(name_space, *medium); known != nullptr) {
      known->used_tick = ++tick_;
      return;
    }
    auto entry = std::make_unique<Entry>();
    entry->name_space = name_space;
    entry->content = medium->content;
    entry->medium = medium;
    entry->used_tick = ++tick_;
    entries_.push_back(std::move(entry));
  }
  wanted_.notify_all();
}

Result<std::shared_ptr<const EncodedPiece>> EncodedMedia::Get(NamespaceId name_space,
                                                              const PromptMedium& piece) {
  std::unique_lock lock(mutex_);
  Entry* const entry = Find(name_space, *piece.medium);
  if (entry == nullptr) {
    lock.unlock();
    Want(name_space, piece.medium);
    return nullptr;
  }
  entry->used_tick = ++tick_;
  if (!entry->result) return nullptr;
  if (!*entry->result) {
    Error error = entry->result->error();
    std::erase_if(entries_, [entry](const auto& other) { return other.get() == entry; });
    return tl::unexpected(std::move(error));
  }
  const EncodedPieces& pieces = **entry->result;
  if (piece.piece >= pieces.size()) {
    return Fail(ErrorCode::kInternal, "the medium was encoded into fewer pieces than announced");
  }
  return pieces[piece.piece];
}

EncodedMediaStats EncodedMedia::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

// Entries that wait are used later, and the newest rows are about to be.
void EncodedMedia::EvictOver() {
  while (stats_.bytes > options_.bytes_max) {
    Entry* oldest = nullptr;
    size_t encoded = 0;
    for (const auto& entry : entries_) {
      if (!entry->result) continue;
      ++encoded;
      if (oldest == nullptr || entry->used_tick < oldest->used_tick) oldest = entry.get();
    }
    if (encoded < 2) return;
    stats_.bytes -= oldest->bytes;
    std::erase_if(entries_, [oldest](const auto& entry) { return entry.get() == oldest; });
  }
}

void EncodedMedia::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wanted_.wait(lock, [this] { return stopping_ || FindWaiting() != nullptr; });
    if (stopping_) return;
    DoWork(FindWaiting(), &lock);
    lock.unlock();
    if (options_.on_encoded) options_.on_encoded();
    lock.lock();
  }
}

// An entry that waits is never removed, so `entry` is valid throughout.
void EncodedMedia::DoWork(Entry* entry, std::unique_lock<std::mutex>* lock) {
  const std::shared_ptr<const Medium> medium = entry->medium;
  const NamespaceId name_space = entry->name_space;
  lock->unlock();
  const auto loaded = Load(name_space, *medium);
  const double begin_ms = clock_->NowMs();
  auto result = loaded ? Result<EncodedPieces>(*loaded) : Encode(*medium);
  const double ms = clock_->NowMs() - begin_ms;
  if (!loaded && result) Save(name_space, *medium, *result, ms);
  lock->lock();
  if (result) {
    for (const auto& piece : *result) entry->bytes += piece->embeddings.size() * sizeof(float);
    stats_.bytes += entry->bytes;
    ++(loaded ? stats_.loaded : stats_.encoded);
  } else {
    ++stats_.failed;
  }
  if (!loaded) stats_.encode_ms += ms;
  entry->used_tick = ++tick_;
  entry->medium.reset();
  entry->result = std::move(result);
  EvictOver();
}

std::optional<EncodedPieces> EncodedMedia::Load(NamespaceId name_space, const Medium& medium) {
  if (options_.saved == nullptr) return std::nullopt;
  try {
    return options_.saved->Load(name_space, medium);
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // encoding needs memory too, and tells
  }
}

void EncodedMedia::Save(NamespaceId name_space, const Medium& medium, const EncodedPieces& pieces,
                        double encode_ms) {
  if (options_.saved == nullptr) return;
  try {
    options_.saved->Save(name_space, medium, pieces, encode_ms);
  } catch (const std::bad_alloc&) {
    return;  // the rows are in memory, which suffices for this request
  }
}

Result<EncodedPieces> EncodedMedia::Encode(const Medium& medium) {
  try {
    auto decoded = decoder_->Decode(medium);
    if (!decoded) return tl::unexpected(decoded.error());
    auto encoded = encoder_->Encode(*decoded);
    if (!encoded) return tl::unexpected(encoded.error());
    EncodedPieces pieces;
    for (EncodedPiece& piece : *encoded) {
      pieces.push_back(std::make_shared<const EncodedPiece>(std::move(piece)));
    }
    return pieces;
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kUnavailable, "there is no memory to encode it");
  }
}

}  // namespace cairn
