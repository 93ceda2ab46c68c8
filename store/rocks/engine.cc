#include "store/rocks/engine.h"

#include "base/time.h"

namespace fathom::store {

Engine::Engine(RocksOptions given)
    : options(std::move(given)),
      directories(options.cache_bytes),
      shared_pages(options.cache_bytes / 4),
      catalogue({options.operations_per_service, options.services, options.catalogue_bytes}) {}

uint64_t Engine::now_unix_nano_real() {
  return now_unix_nano();
}

}  // namespace fathom::store
