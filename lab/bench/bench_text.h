// How the reports of a benchmark write figures. Pure functions. What is not known is "-".

#ifndef CAIRN_LAB_BENCH_BENCH_TEXT_H_
#define CAIRN_LAB_BENCH_BENCH_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/number_text.h"  // MsText

namespace cairn {

// "0.97", "1.02", "12.4", "1,234"; "-" for 0.
std::string RatioText(double ratio);
// "12,345": `sum` over `runs`, so that scenarios played more often do not look larger.
std::string PerRunText(size_t sum, size_t runs);
// "first tokens came 2.13 times sooner", "... later", "... at the same time".
std::string SoonerText(double first_token_ratio);
// For HTML and XML, in text and between quotation marks.
std::string EscapeMarkup(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_LAB_BENCH_BENCH_TEXT_H_
