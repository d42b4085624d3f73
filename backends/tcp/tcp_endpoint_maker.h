#pragma once

// Joins ranks by sockets: some (queue pairs) for each connection, from its sending to its receiving
// rank. Sockets are kept from one endpoint to the next.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/bootstrap/socket.h"
#include "backends/measure/endpoint_maker.h"

namespace gradhaul {

class TcpEndpointMaker final : public EndpointMaker {
 public:
  // Listens at `local_host`, an address of this host at which the other ranks reach it. The
  // exchange outlives it. Throws ExchangeError.
  TcpEndpointMaker(Exchange& exchange, const std::string& local_host,
                   std::chrono::milliseconds deadline);
  ~TcpEndpointMaker() override;
  std::unique_ptr<Endpoint> make(const EndpointRequest& request) override;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace gradhaul
