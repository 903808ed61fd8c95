// ReportOnTemplate: what this server learned of a chat template, for people who write one or ask
// why a model behaves as it does.

#ifndef CAIRN_CMD_MODEL_TEMPLATE_REPORT_H_
#define CAIRN_CMD_MODEL_TEMPLATE_REPORT_H_

#include <string>

#include "base/json.h"
#include "cmd/model/model_template.h"

namespace cairn {

// Returns an object: "file", "bytes", and either "error", with row and column, or what was learned:
// "messages", "reasoning", "calls", "boundaries" and "refused". Renders some hundred times. Never
// throws; any thread.
Json ReportOnTemplate(const TemplateFile& file);

// Returns the report as lines for people; it ends with a line break.
std::string TextOfReport(const Json& report);

}  // namespace cairn

#endif  // CAIRN_CMD_MODEL_TEMPLATE_REPORT_H_
