#include "api/media/media_parts.h"

namespace cairn {
namespace {

constexpr std::string_view kAudioFormats[] = {"wav", "mp3", "flac"};

ApiResult<MediumPtr> ReadImagePart(const Json& part, const std::string& place,
                                   MediaReader* reader) {
  if (auto admitted = reader->Admit(MediumKind::kImage, place); !admitted) {
    return tl::unexpected(admitted.error());
  }
  const FieldReader fields(part, "");
  const Json* image = fields.Find("image_url");
  std::string field = place + ".image_url";
  if (image != nullptr && image->is_object()) {
    image = FieldReader(*image, "").Find("url");
    field += ".url";
  }
  if (image != nullptr && image->is_string()) {
    return reader->ReadUrl(MediumKind::kImage, image->text(), place);
  }
  const bool stored = fields.Find("file_id") != nullptr;
  return tl::unexpected(FieldError(
      field, stored ? "a URL instead of 'file_id': this server stores no files" : "a URL"));
}

ApiResult<MediumPtr> ReadAudioPart(const Json& part, const std::string& place,
                                   MediaReader* reader) {
  if (auto admitted = reader->Admit(MediumKind::kAudio, place); !admitted) {
    return tl::unexpected(admitted.error());
  }
  const std::string field = place + ".input_audio";
  const Json* audio = FieldReader(part, "").Find("input_audio");
  if (audio == nullptr || !audio->is_object()) {
    return tl::unexpected(FieldError(field, "an object with 'data' and 'format'"));
  }
  FieldReader fields(*audio, field + ".");
  std::string format(kAudioFormats[0]);
  fields.String("format", &format);
  bool known = false;
  for (const std::string_view name : kAudioFormats) known = known || format == name;
  if (!known) fields.Fail("format", "'wav', 'mp3' or 'flac', not '" + format + "'");
  const Json* data = fields.Find("data");
  if (data == nullptr || !data->is_string()) fields.Fail("data", "the file's bytes as base64");
  if (fields.error()) return tl::unexpected(*fields.error());
  // Some clients send a data URL here too.
  if (data->text().starts_with("data:")) {
    return reader->ReadUrl(MediumKind::kAudio, data->text(), place);
  }
  return reader->ReadBase64(MediumKind::kAudio, data->text(), place);
}

}  // namespace

bool IsMediaPart(std::string_view type) {
  return type == "image_url" || type == "input_image" || type == "input_audio";
}

ApiResult<MediumPtr> ReadMediaPart(const Json& part, std::string_view type,
                                   const std::string& place, MediaReader* reader) {
  return type == "input_audio" ? ReadAudioPart(part, place, reader)
                               : ReadImagePart(part, place, reader);
}

ApiResult<MediumPtr> ReadImageBlock(const Json& block, const std::string& place,
                                    MediaReader* reader) {
  if (auto admitted = reader->Admit(MediumKind::kImage, place); !admitted) {
    return tl::unexpected(admitted.error());
  }
  const std::string field = place + ".source";
  const Json* source = FieldReader(block, "").Find("source");
  if (source == nullptr || !source->is_object()) {
    return tl::unexpected(FieldError(field, "an object with 'type' and 'data' or 'url'"));
  }
  FieldReader fields(*source, field + ".");
  std::string type;
  std::string media_type = "image/";
  fields.String("type", &type);
  fields.String("media_type", &media_type);
  if (type != "base64" && type != "url") {
    fields.Fail("type", "'base64' or 'url'" + (type.empty() ? "" : ", not '" + type + "'"));
  }
  if (!media_type.starts_with("image/")) {
    fields.Fail("media_type", "the type of an image, such as 'image/png'");
  }
  const std::string name = type == "url" ? "url" : "data";
  const Json* value = fields.Find(name);
  if (value == nullptr || !value->is_string()) {
    fields.Fail(name, type == "url" ? "a URL" : "the file's bytes as base64");
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return type == "url" ? reader->ReadUrl(MediumKind::kImage, value->text(), place)
                       : reader->ReadBase64(MediumKind::kImage, value->text(), place);
}

}  // namespace cairn
