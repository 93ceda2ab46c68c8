#include "store/verify/repair.h"

#include <filesystem>
#include <system_error>

#include "store/purge/exchange.h"
#include "store/rocks/data_directory.h"
#include "store/rocks/database.h"
#include "store/verify/capture_check.h"
#include "store/verify/repair_copy.h"
#include "store/verify/repair_directories.h"
#include "store/verify/repair_mark.h"
#include "store/verify/repair_target.h"
#include "store/verify/store_copy.h"
#include "store/verify/store_source.h"
#include "store/verify/stored_clock.h"

namespace fathom::store {

namespace fs = std::filesystem;

Result<RepairOutcome> repair_store(const RepairRequest& request, Findings& findings) {
  Result<std::optional<RepairOutcome>> earlier = earlier_repair(request);
  if (!earlier) return earlier.error();
  if (*earlier) return **earlier;
  if (Result<> checked = check_directories(request); !checked) return checked.error();
  const Result<PurgeLock> lock = PurgeLock::acquire(request.from, PurgeLock::Kind::kShared);
  if (!lock && lock.error().code == ErrorCode::kUnavailable) return lock.error();
  Result<std::unique_ptr<StoreSource>> source = StoreSource::open(request.from);
  if (!source) return source.error();
  if (Result<> checked = check_repairable(request.from, newest_format_version()); !checked) return checked.error();
  Result<std::unique_ptr<RepairTarget>> target = RepairTarget::create(request.to, repair_source(request.from));
  if (!target) return target.error();
  findings.expect_bytes(content_bytes(request.from) + request.more_bytes);
  use_stored_clock(request.from, findings);
  RepairCopy copy{**source, **target, findings};
  if (Result<> opened = open_damaged_source(copy); !opened) return opened.error();
  if (Result<> done = StoreCopy(copy).run(request.read_clocks); !done) return done.error();
  if (request.copy_more) {
    if (Result<> copied = request.copy_more((*target)->path(), findings); !copied) return copied.error();
  }
  if (Result<> written = write_repair_clock(copy.clock, (*target)->path()); !written) return written.error();
  if (Result<> closed = (*target)->close(); !closed) return closed.error();
  source->reset();
  std::error_code ignored;
  fs::remove_all((*target)->path() + "/scratch", ignored);
  if (Result<> finished = (*target)->finish(request.to, findings.intact(), request.sync); !finished)
    return finished.error();
  return RepairOutcome::kRepaired;
}

}  // namespace fathom::store
