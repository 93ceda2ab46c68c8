#include "snapshot/record/pt/known_decode.h"

#include <intel-pt.h>
#include <sys/uio.h>
#include <unistd.h>

#include <memory>

namespace fathom::snapshot {
namespace {

struct Free {
  void operator()(pt_insn_decoder* decoder) const { pt_insn_free_decoder(decoder); }
};
using Decoder = std::unique_ptr<pt_insn_decoder, Free>;

// The kernel copies, so that an address of nothing is an error, and no crash.
int read_own_memory(uint8_t* to, size_t bytes, const pt_asid*, uint64_t address, void*) {
  iovec local{to, bytes};
  iovec own{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr): an address of a trace
  const ssize_t got = ::process_vm_readv(::getpid(), &local, 1, &own, 1, 0);
  return got > 0 ? static_cast<int>(got) : -pte_nomap;
}

pt_config config_of(std::span<const uint8_t> packets, const Snapshot& snapshot) {
  pt_config config;
  pt_config_init(&config);
  // libipt takes a pointer to what it does not write.
  config.begin = const_cast<uint8_t*>(packets.data());
  config.end = config.begin + packets.size();
  config.cpu.vendor = snapshot.cpu.intel ? pcv_intel : pcv_unknown;
  config.cpu.family = snapshot.cpu.family;
  config.cpu.model = snapshot.cpu.model;
  config.cpu.stepping = snapshot.cpu.stepping;
  pt_cpu_errata(&config.errata, &config.cpu);
  config.mtc_freq = snapshot.timing.mtc_freq;
  config.nom_freq = snapshot.timing.nom_freq;
  config.cpuid_0x15_eax = snapshot.timing.cpuid_0x15_eax;
  config.cpuid_0x15_ebx = snapshot.timing.cpuid_0x15_ebx;
  return config;
}

int drain_events(pt_insn_decoder* decoder, int status) {
  while (status >= 0 && (status & pts_event_pending)) {
    pt_event event;
    status = pt_insn_event(decoder, &event, sizeof event);
  }
  return status;
}

// Until the end, or the first error.
int decode_on(pt_insn_decoder* decoder, int status, const CodeRange& code, KnownDecoded& decoded) {
  while (status >= 0) {
    status = drain_events(decoder, status);
    if (status < 0 || (status & pts_eos)) return status;
    pt_insn instruction{};
    status = pt_insn_next(decoder, &instruction, sizeof instruction);
    if (instruction.iclass == ptic_error) continue;
    ++decoded.instructions;
    if (code.holds(instruction.ip)) decoded.path.push_back(instruction.ip);
  }
  return status;
}

}  // namespace

KnownDecoded decode_known(std::span<const uint8_t> packets, const Snapshot& snapshot, const CodeRange& code) {
  KnownDecoded decoded;
  const pt_config config = config_of(packets, snapshot);
  const Decoder decoder(pt_insn_alloc_decoder(&config));
  if (!decoder) return decoded;
  pt_image_set_callback(pt_insn_get_image(decoder.get()), read_own_memory, nullptr);
  while (true) {
    const int status = pt_insn_sync_forward(decoder.get());
    if (status < 0) return decoded;
    const int ended = decode_on(decoder.get(), status, code, decoded);
    if (ended >= 0 || ended == -pte_eos) return decoded;
    ++decoded.errors;
  }
}

}  // namespace fathom::snapshot
