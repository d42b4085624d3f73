#include "analysis/result_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/csv_field.h"
#include "analysis/quantity_text.h"
#include "core/busbw.h"
#include "core/workload_names.h"

namespace gradhaul {

std::string csv_head() {
  return "collective,algorithm,protocol,channels,ranks,size_bytes,count,datatype,reduction,time_us,"
         "algbw_GBps,busbw_GBps,bytes_sent_per_rank,limited_by";
}

std::string csv_line(const ResultRow& row) {
  // fmt prints the shortest decimal that reads back the same.
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", name_of(row.collective),
                     csv_field(row.algorithm), csv_field(row.protocol), row.channels, row.ranks,
                     row.size.count, row.count, name_of(row.datatype), name_of(row.reduction),
                     microseconds(row.time), algbw(row.size, row.time) / 1e9,
                     busbw(row.collective, row.ranks, row.size, row.time) / 1e9,
                     row.bytes_sent_per_rank.count, csv_field(row.limited_by));
}

std::string result_csv(const Prediction& prediction) {
  const bool jobs = std::any_of(prediction.rows.begin(), prediction.rows.end(),
                                [](const ResultRow& row) { return !row.job.empty(); });
  std::string text = csv_head() + (jobs ? ",job" : "") + ",profile\n";
  for (const ResultRow& row : prediction.rows) {
    text += csv_line(row);
    if (jobs) text += "," + csv_field(row.job);
    text += "," + csv_field(row.profile) + "\n";
  }
  return text;
}

std::string result_csv(const Measurement& measurement) {
  std::string text = csv_head() + ",wrong,in_place,iterations,min_us,p50_us,p99_us,profile\n";
  for (const ResultRow& row : measurement.rows) {
    const IterationTimes& times = *row.measured;
    text += csv_line(row);
    text += fmt::format(",{},{},{},{},{},{},{}\n", times.wrong, times.in_place, times.iterations,
                        microseconds(times.min), microseconds(times.p50), microseconds(times.p99),
                        csv_field(row.profile));
  }
  return text;
}

}  // namespace gradhaul
