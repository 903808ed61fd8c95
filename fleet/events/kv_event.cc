#include "fleet/events/kv_event.h"

#include <bit>
#include <utility>

namespace cairn {
namespace {

// MsgpackWriter: appends values in msgpack, each in its shortest form. The caller writes as many
// values after an array's or a map's header as it announces.
class MsgpackWriter {
 public:
  void Nil() { Byte(0xc0); }
  void Number(double value) {
    Byte(0xcb);
    BigEndian(std::bit_cast<uint64_t>(value), 8);
  }
  void Unsigned(uint64_t value) {
    if (value < 0x80) return Byte(static_cast<uint8_t>(value));
    if (value <= 0xff) return Sized(0xcc, value, 1);
    if (value <= 0xffff) return Sized(0xcd, value, 2);
    if (value <= 0xffffffff) return Sized(0xce, value, 4);
    Sized(0xcf, value, 8);
  }
  void Text(std::string_view text) {
    const size_t size = text.size();
    if (size < 32) {
      Byte(static_cast<uint8_t>(0xa0 | size));
    } else if (size <= 0xff) {
      Sized(0xd9, size, 1);
    } else {
      size <= 0xffff ? Sized(0xda, size, 2) : Sized(0xdb, size, 4);
    }
    bytes_ += text;
  }
  void Array(size_t size) {
    if (size < 16) return Byte(static_cast<uint8_t>(0x90 | size));
    size <= 0xffff ? Sized(0xdc, size, 2) : Sized(0xdd, size, 4);
  }
  void Map(size_t size) {
    if (size < 16) return Byte(static_cast<uint8_t>(0x80 | size));
    size <= 0xffff ? Sized(0xde, size, 2) : Sized(0xdf, size, 4);
  }

  std::string Take() { return std::move(bytes_); }

 private:
  void Byte(uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }
  void BigEndian(uint64_t value, unsigned bytes) {
    for (unsigned i = bytes; i-- > 0;) Byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Sized(uint8_t type, uint64_t value, unsigned bytes) {
    Byte(type);
    BigEndian(value, bytes);
  }

  std::string bytes_;
};

void PackNumbers(const auto& numbers, MsgpackWriter* writer) {
  writer->Array(numbers.size());
  for (const auto number : numbers) writer->Unsigned(number);
}

// All fields without a default in vLLM's class are there, also those that are always nil here.
void PackStored(const KvEvent& event, MsgpackWriter* writer) {
  writer->Map(8);
  writer->Text("type");
  writer->Text("BlockStored");
  writer->Text("block_hashes");
  PackNumbers(event.blocks, writer);
  writer->Text("parent_block_hash");
  event.parent ? writer->Unsigned(*event.parent) : writer->Nil();
  writer->Text("token_ids");
  PackNumbers(event.token_ids, writer);
  writer->Text("block_size");
  writer->Unsigned(kEventBlockTokens);
  writer->Text("lora_id");
  writer->Nil();
  writer->Text("medium");
  writer->Text(MediumName(event.tier));
  writer->Text("lora_name");
  writer->Nil();
}

void PackRemoved(const KvEvent& event, MsgpackWriter* writer) {
  writer->Map(3);
  writer->Text("type");
  writer->Text("BlockRemoved");
  writer->Text("block_hashes");
  PackNumbers(event.blocks, writer);
  writer->Text("medium");
  writer->Text(MediumName(event.tier));
}

void PackEvent(const KvEvent& event, MsgpackWriter* writer) {
  switch (event.kind) {
    case KvEvent::Kind::kStored:
      return PackStored(event, writer);
    case KvEvent::Kind::kRemoved:
      return PackRemoved(event, writer);
    case KvEvent::Kind::kCleared:
      writer->Map(1);
      writer->Text("type");
      writer->Text("AllBlocksCleared");
  }
}

}  // namespace

std::string PackEvents(double time_s, std::span<const KvEvent> events) {
  MsgpackWriter writer;
  writer.Array(3);
  writer.Number(time_s);
  writer.Array(events.size());
  for (const KvEvent& event : events) PackEvent(event, &writer);
  writer.Unsigned(0);  // the data-parallel rank
  return writer.Take();
}

}  // namespace cairn
