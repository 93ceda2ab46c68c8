#include "store/rocks/engine.h"

namespace fathom::store {

CatalogueLimits catalogue_limits(const RocksOptions& options) {
  return {options.operations_per_service, options.services, options.catalogue_bytes};
}

Engine::Engine(RocksOptions given)
    : options(std::move(given)),
      directories(options.cache_bytes),
      shared_pages(options.cache_bytes / 4),
      catalogue(catalogue_limits(options)) {}

}  // namespace fathom::store
