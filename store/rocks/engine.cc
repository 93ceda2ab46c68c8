#include "store/rocks/engine.h"

#include "base/time.h"

namespace fathom::store {

CatalogueLimits catalogue_limits(const RocksOptions& options) {
  return {options.operations_per_service, options.services, options.catalogue_bytes};
}

Engine::Engine(RocksOptions given)
    : options(std::move(given)),
      directories(options.cache_bytes),
      shared_pages(options.cache_bytes / 4),
      catalogue(catalogue_limits(options)) {}

uint64_t Engine::now_unix_nano_real() {
  return now_unix_nano();
}

}  // namespace fathom::store
