#include "fleet/router/merged_metrics.h"

#include <algorithm>
#include <cstddef>

namespace cairn {
namespace {

// Returns the name in "# HELP name text" or "# TYPE name type"; empty in any other line.
std::string_view NameInHead(std::string_view line) {
  if (!line.starts_with("# HELP ") && !line.starts_with("# TYPE ")) return {};
  line.remove_prefix(7);
  return line.substr(0, line.find(' '));
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

bool HasModel(std::string_view labels) {
  return labels.starts_with("{model=\"") || labels.find(",model=\"") != std::string_view::npos;
}

std::string WithModel(std::string_view sample, const std::string& label) {
  const size_t end = sample.find_first_of("{ ");
  if (end == std::string_view::npos) return std::string(sample);
  const std::string_view name = sample.substr(0, end);
  const std::string_view rest = sample.substr(end);
  if (!rest.starts_with('{')) return std::string(name) + "{" + label + "}" + std::string(rest);
  if (HasModel(rest)) return std::string(sample);
  return std::string(name) + "{" + label + "," + std::string(rest.substr(1));
}

}  // namespace

MergedMetrics::Metric& MergedMetrics::Of(std::string_view name) {
  const auto found = metrics_.find(name);
  if (found != metrics_.end()) return found->second;
  names_.emplace_back(name);
  return metrics_[std::string(name)];
}

void MergedMetrics::Add(std::string_view model, std::string_view page) {
  const std::string label = "model=\"" + Escaped(model) + "\"";
  Metric* metric = nullptr;
  bool has_head = false;  // from an earlier page
  std::string_view name;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(line.size() + 1, page.size()));
    if (line.empty()) continue;
    const std::string_view named = NameInHead(line);
    if (!named.empty() && (metric == nullptr || named != name)) {
      name = named;
      metric = &Of(name);
      has_head = !metric->head.empty();
    }
    if (metric == nullptr) continue;  // a sample without a head: none of our pages has one
    if (!named.empty()) {
      if (!has_head) metric->head.append(line).append("\n");
    } else if (!line.starts_with('#')) {
      metric->samples += WithModel(line, label) + "\n";
    }
  }
}

std::string MergedMetrics::Text() const {
  std::string text;
  for (const std::string& name : names_) {
    const Metric& metric = metrics_.at(name);
    text += metric.head + metric.samples;
  }
  return text;
}

}  // namespace cairn
