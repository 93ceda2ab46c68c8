#include "store/verify/rows_check.h"

#include "base/bytes.h"
#include "store/batch.h"
#include "store/rocks/identity_log.h"
#include "store/rocks/keys.h"
#include "store/rocks/loss_record.h"
#include "store/verify/row_scan.h"

namespace fathom::store {

namespace {

constexpr size_t kIdentityKeyBytes = 4 + 4 + 16;

RowScan::OnGap report_gaps(const std::string& part, Findings& findings) {
  return [part, &findings](const RowGap& gap) { findings.damaged({part, "rows between two intact ones", gap.reason}); };
}

class RecordsCheck {
 public:
  explicit RecordsCheck(Findings& findings) : findings_(findings) {}

  void check(std::string_view key, std::string_view value) {
    findings_.checked("records");
    if (key == keys::kOldestPartition) return read_number(key, value, records_.oldest_partition);
    if (key == keys::kNextOperation) return read_number(key, value, records_.next_operation);
    if (key == keys::kSealedSequence) return read_sequence(key, value);
    if (key.starts_with(keys::kLost)) return read_losses(key, value);
    if (key == keys::kCapturesUnchecked || key == keys::kIdentitiesUnchecked) return;
    findings_.damaged({"records", std::string(key), "no program writes a record of this name"});
  }
  const DirectoryRecords& records() const { return records_; }

 private:
  void read_number(std::string_view key, std::string_view value, uint32_t& number) {
    if (value.size() != 4) return damaged(key);
    number = load_be32(value.data());
  }
  void read_sequence(std::string_view key, std::string_view value) {
    if (value.size() != 8) return damaged(key);
    records_.sealed_sequence = ByteReader(value).u64();
  }
  void read_losses(std::string_view key, std::string_view value) {
    Result<LossRecord> record = decode_loss_record(value);
    record ? findings_.add_record(*record) : damaged(key);
  }
  void damaged(std::string_view key) { findings_.damaged({"records", std::string(key), "the record does not decode"}); }

  Findings& findings_;
  DirectoryRecords records_;
};

}  // namespace

DirectoryRecords check_records(Database& database, Findings& findings) {
  RecordsCheck check(findings);
  RowScan::run(
      database, Family::kDefault, "", "",
      [&](std::string_view key, std::string_view value) { check.check(key, value); }, report_gaps("records", findings));
  return check.records();
}

void check_identities(Database& database, Findings& findings) {
  auto check = [&](std::string_view key, std::string_view value) {
    findings.checked("identities");
    const bool decodes = value.size() == 8 || identity_sequence(value).has_value();
    if (key.size() == kIdentityKeyBytes && decodes) return;
    findings.damaged({"identities", "hour " + std::to_string(keys::partition_of(key)), "a row does not decode"});
  };
  RowScan::run(database, Family::kIdentity, "", "", check, report_gaps("identities", findings));
}

void check_operations(Database& database, const DirectoryRecords& records, Catalogue& catalogue, Findings& findings) {
  auto check = [&](std::string_view key, std::string_view value) {
    findings.checked("operations");
    const uint32_t id = keys::last_be32(key);
    Result<bool> restored = catalogue.restore(id, value);
    if (!restored) findings.damaged({"operations", "operation " + std::to_string(id), restored.error().message});
  };
  RowScan::run(database, Family::kOperation, "", "", check, report_gaps("operations", findings));
  catalogue.restore_next(records.next_operation);
}

void check_stage(Database& database, uint64_t sealed_sequence, Findings& findings) {
  auto check = [&](std::string_view key, std::string_view value) {
    findings.checked("stage");
    ByteReader in(value);
    const uint64_t received = in.u64();
    Result<BatchPtr> batch =
        in.failed() ? Result<BatchPtr>(corrupt("the row is too short")) : Batch::parse(std::string(value.substr(8)));
    if (batch) return;
    findings.damaged({"stage",
                      "batch " + std::to_string(keys::stage_sequence(key)),
                      batch.error().message,
                      {.received = TimeRange{received, received + 1}, .started = std::nullopt}});
  };
  RowScan::run(database, Family::kStage, keys::stage(sealed_sequence + 1), "", check, report_gaps("stage", findings));
}

}  // namespace fathom::store
