#include "cmd/model/model_template.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "cmd/model/template_files.h"
#include "cmd/model/template_report.h"

namespace cairn {

CLI::App* AddModelTemplate(CLI::App* model, ModelTemplateOptions* options) {
  CLI::App* const command = model->add_subcommand(
      "template", "Print what is learned of a chat template, and what of it is not supported");
  command
      ->add_option("file", options->path,
                   "File of Jinja, GGUF file, tokenizer_config.json, or a folder with some of them")
      ->required();
  command->add_flag("--json", options->json, "Print the result as a JSON array");
  return command;
}

int RunModelTemplate(const ModelTemplateOptions& options) {
  const auto files = FindTemplateFiles(options.path);
  if (!files) {
    std::fprintf(stderr, "cairn model template: %s\n", files.error().message.c_str());
    return 1;
  }
  bool all_read = true;
  Json reports = Json::array();
  for (const TemplateFile& file : *files) {
    Json report = ReportOnTemplate(file);
    all_read = all_read && !report.contains("error");
    if (!options.json) std::fputs(TextOfReport(report).c_str(), stdout);
    reports.push_back(std::move(report));
  }
  if (options.json) std::printf("%s\n", ToText(reports, 2).c_str());
  return all_read ? 0 : 1;
}

}  // namespace cairn
