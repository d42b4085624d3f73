#include "core/asked_row.h"

#include "core/collective_algorithms.h"
#include "core/listed_program.h"
#include "core/protocol.h"

namespace gradhaul {

ResultRow asked_row(const Workload& workload, const Communication& communication, int ranks,
                    int channels, Bytes size) {
  ResultRow row;
  row.collective = workload.collective;
  row.algorithm = communication.listed
                      ? communication.listed->name
                      : name_of(running_algorithm(workload.collective, communication.algorithm));
  row.protocol = protocol_name(communication.protocol);
  row.profile = communication.profile;
  row.channels = channels;
  row.ranks = ranks;
  row.size = size;
  row.count = size.count / size_of(workload.datatype).count;
  row.datatype = workload.datatype;
  row.reduction = workload.reduction;
  return row;
}

}  // namespace gradhaul
