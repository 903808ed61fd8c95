// RequestModel: which model a request's body names, without parsing the body: it may hold images of
// many MiB, which the model's own process parses anyway.

#ifndef CAIRN_FLEET_ROUTER_REQUEST_MODEL_H_
#define CAIRN_FLEET_ROUTER_REQUEST_MODEL_H_

#include <string>
#include <string_view>

namespace cairn {

struct NamedModel {
  enum class Kind {
    kNone,      // the body names no model, or null, or is no JSON object
    kNamed,     // `name` is the model
    kNoString,  // the field is of another type
  };
  Kind kind = Kind::kNone;
  std::string name;
};

// Returns the member "model" of the JSON object `body`; of several the last one, as JSON parsers
// do. The members before it are only skipped; whether all is valid is the process's to say.
NamedModel RequestModel(std::string_view body);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_REQUEST_MODEL_H_
