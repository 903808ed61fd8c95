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
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

EncodedMedia::Key EncodedMedia::KeyOf(NamespaceId name_space, const Medium& medium) {
  return {name_space, medium.content.high, medium.content.low};
}

void EncodedMedia::SetWanted(const std::vector<WantedMedium>& wanted) {
  {
    const MutexLock lock(mutex_);
    wanted_ = wanted;
    wanted_keys_.clear();
    for (const WantedMedium& medium : wanted_) {
      wanted_keys_.insert(KeyOf(medium.name_space, *medium.medium));
    }
    std::erase_if(entries_, [this](const auto& entry) REQUIRES(mutex_) {
      return !entry.second.result && !wanted_keys_.contains(entry.first);
    });
    std::erase_if(without_memory_,
                  [this](const Key& key) REQUIRES(mutex_) { return !wanted_keys_.contains(key); });
    without_memory_.reserve(wanted_keys_.size());
    if (NextWanted() == nullptr) return;
  }
  changed_.NotifyAll();
}

void EncodedMedia::Unwant(const Key& key) {
  wanted_keys_.erase(key);
  std::erase_if(wanted_, [&key](const WantedMedium& medium) {
    return KeyOf(medium.name_space, *medium.medium) == key;
  });
}

// Where nothing bounded what is encoded ahead, two requests could evict each other's rows.
const WantedMedium* EncodedMedia::NextWanted() const {
  const bool has_room = WantedBytes() < options_.bytes_max / 2;
  const auto next = std::find_if(
      wanted_.begin(), wanted_.end(), [&](const WantedMedium& medium) REQUIRES(mutex_) {
        const Key key = KeyOf(medium.name_space, *medium.medium);
        return (medium.is_due || has_room) && !entries_.contains(key) &&
               std::find(without_memory_.begin(), without_memory_.end(), key) ==
                   without_memory_.end();
      });
  return next == wanted_.end() ? nullptr : &*next;
}

size_t EncodedMedia::WantedBytes() const {
  size_t bytes = 0;
  for (const Key& key : wanted_keys_) {
    const auto entry = entries_.find(key);
    if (entry != entries_.end()) bytes += entry->second.bytes;
  }
  return bytes;
}

Result<std::shared_ptr<const EncodedPiece>> EncodedMedia::Get(NamespaceId name_space,
                                                              const PromptMedium& piece) {
  const MutexLock lock(mutex_);
  const Key key = KeyOf(name_space, *piece.medium);
  if (std::erase(without_memory_, key) > 0) {
    Unwant(key);
    return Fail(ErrorCode::kUnavailable, "there is no memory for its rows; try again later");
  }
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  entry.used_tick = ++tick_;
  if (!entry.result) {
    Error error = std::move(entry.result.error());
    Unwant(found->first);
    entries_.erase(found);
    return tl::unexpected(std::move(error));
  }
  const EncodedPieces& pieces = *entry.result;
  if (piece.piece >= pieces.size()) {
    return Fail(ErrorCode::kInternal, "the medium was encoded into fewer pieces than announced");
  }
  return pieces[piece.piece];
}

std::vector<EncodeTime> EncodedMedia::TakeTimes() {
  const MutexLock lock(mutex_);
  return std::exchange(times_, {});
}

EncodedMediaStats EncodedMedia::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

// Rows that are wanted stay, and so do the newest, which are about to be used.
void EncodedMedia::EvictOver() {
  while (stats_.bytes > options_.bytes_max) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.used_tick == tick_ || wanted_keys_.contains(entry->first)) continue;
      const bool is_older =
          oldest == entries_.end() || entry->second.used_tick < oldest->second.used_tick;
      if (is_older) oldest = entry;
    }
    if (oldest == entries_.end()) return;
    stats_.bytes -= oldest->second.bytes;
    entries_.erase(oldest);
  }
}

void EncodedMedia::Run() {
  const MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_,
                  [this]() REQUIRES(mutex_) { return stopping_ || NextWanted() != nullptr; });
    if (stopping_) return;
    const WantedMedium next = *NextWanted();
    DoWork(next);
    const MutexUnlock unlocked(mutex_);
    if (options_.on_encoded) options_.on_encoded();
  }
}

void EncodedMedia::DoWork(const WantedMedium& wanted) {
  try {
    Work work = EncodeOrLoad(wanted);
    if (!work.is_loaded) {
      stats_.encode_ms += work.ms;
      times_.push_back({wanted.name_space, work.ms});
    }
    const bool failed = !work.result;
    // Another request may want the same file, and asks for it again.
    if (failed && work.result.error().code == ErrorCode::kCancelled) {
      return Unwant(KeyOf(wanted.name_space, *wanted.medium));
    }
    Keep(KeyOf(wanted.name_space, *wanted.medium), std::move(work.result));
    ++(failed ? stats_.failed : work.is_loaded ? stats_.loaded : stats_.encoded);
  } catch (const std::bad_alloc&) {
    ++stats_.failed;
    const Key key = KeyOf(wanted.name_space, *wanted.medium);
    if (wanted_keys_.contains(key)) without_memory_.push_back(key);
  }
}

EncodedMedia::Work EncodedMedia::EncodeOrLoad(const WantedMedium& wanted) {
  const MutexUnlock unlocked(mutex_);
  const auto& [name_space, medium, is_due] = wanted;
  if (const auto loaded = Load(name_space, *medium)) return {*loaded, true, 0};
  const double begin_ms = clock_->NowMs();
  auto encoded = Encode(*medium);
  const double ms = clock_->NowMs() - begin_ms;
  if (encoded) Save(name_space, *medium, *encoded, ms);
  return {std::move(encoded), false, ms};
}

// Nobody asks why a medium failed whose request has ended meanwhile.
void EncodedMedia::Keep(const Key& key, Result<EncodedPieces> result) {
  if (!result && !wanted_keys_.contains(key)) return;
  Entry entry{std::move(result), 0, ++tick_};
  if (entry.result) {
    for (const auto& piece : *entry.result) {
      entry.bytes += piece->embeddings.size() * sizeof(float);
    }
  }
  const size_t bytes = entry.bytes;
  entries_.insert_or_assign(key, std::move(entry));
  stats_.bytes += bytes;
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
  return EncodeDecoded(encoder_, decoder_->Decode(medium), medium);
}

Result<EncodedPieces> EncodeDecoded(MediaEncoder* encoder, const Result<DecodedMedium>& decoded,
                                    const Medium& medium) {
  if (!decoded) return tl::unexpected(decoded.error());
  if (medium.gone && medium.gone()) return Fail(ErrorCode::kCancelled, "its client left");
  auto encoded = encoder->Encode(*decoded);
  if (!encoded) return tl::unexpected(encoded.error());
  EncodedPieces pieces;
  for (EncodedPiece& piece : *encoded) {
    pieces.push_back(std::make_shared<const EncodedPiece>(std::move(piece)));
  }
  return pieces;
}

}  // namespace cairn
