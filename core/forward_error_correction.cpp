#include "core/forward_error_correction.h"

#include <cmath>

namespace gradhaul {
namespace {

constexpr int kSymbols = 544;
constexpr int kDataSymbols = 514;
constexpr int kSymbolBits = 10;
constexpr int kCorrectable = (kSymbols - kDataSymbols) / 2;

}  // namespace

// The binomial distribution of wrong symbols, in logarithms.
double codeword_error_rate(double bit_error_rate) {
  if (bit_error_rate <= 0) return 0;
  const double wrong = -std::expm1(kSymbolBits * std::log1p(-bit_error_rate));
  const double odds = std::log(wrong) - std::log1p(-wrong);
  double term = kSymbols * std::log1p(-wrong);
  double sum = 0;
  for (int k = 1; k <= kSymbols; ++k) {
    term += std::log(static_cast<double>(kSymbols - k + 1) / k) + odds;
    if (k > kCorrectable) sum += std::exp(term);
  }
  return sum < 1 ? sum : 1;
}

double rate_after_fec(double bit_error_rate) {
  return -std::expm1(std::log1p(-codeword_error_rate(bit_error_rate)) /
                     (kDataSymbols * kSymbolBits));
}

}  // namespace gradhaul
