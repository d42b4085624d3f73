#include "core/workload_names.h"

#include "core/assert.h"

namespace gradhaul {

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kAllToAll:
      return "all_to_all";
    case Collective::kSendRecv:
      return "send_recv";
  }
  assertion_failed("a collective", __FILE__, __LINE__, "no such collective");
}

std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return "fp32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt8:
      return "int8";
    case DataType::kUint8:
      return "uint8";
  }
  assertion_failed("a data type", __FILE__, __LINE__, "no such data type");
}

std::string_view name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kAvg:
      return "avg";
    case Reduction::kMax:
      return "max";
    case Reduction::kMin:
      return "min";
  }
  assertion_failed("a reduction", __FILE__, __LINE__, "no such reduction");
}

}  // namespace gradhaul
