#include "events/kv_event.h"

#include "events/msgpack_writer.h"

namespace cairn {
namespace {

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

std::string_view MediumName(PrefixTier tier) {
  switch (tier) {
    case PrefixTier::kSlot:
      return "GPU";
    case PrefixTier::kMemory:
      return "CPU";
    case PrefixTier::kDisk:
      return "STORAGE";
  }
  return "";
}

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
