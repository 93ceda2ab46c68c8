#include "snapshot/decode/testing/plain_loop.h"

#include <intel-pt.h>

#include <memory>

namespace fathom::snapshot {
namespace {

// Without a limit of its own libipt maps and unmaps the sections of several files by turns.
constexpr uint64_t kCacheBytes = 256 << 20;

pt_config plain_config(const std::string& stream, const Timing& timing) {
  pt_config config;
  pt_config_init(&config);
  // libipt takes what it only reads as writable.
  config.begin = reinterpret_cast<uint8_t*>(const_cast<char*>(stream.data()));
  config.end = config.begin + stream.size();
  config.mtc_freq = timing.mtc_freq;
  config.nom_freq = timing.nom_freq;
  config.cpuid_0x15_eax = timing.cpuid_0x15_eax;
  config.cpuid_0x15_ebx = timing.cpuid_0x15_ebx;
  return config;
}

int drain_events(pt_block_decoder* decoder, int status) {
  while (status >= 0 && (status & pts_event_pending) != 0) {
    pt_event event;
    status = pt_blk_event(decoder, &event, sizeof event);
  }
  return status;
}

void decode_segment(pt_block_decoder* decoder, int status, PlainDecode& decoded) {
  uint64_t tsc = 0;
  while ((status = drain_events(decoder, status)) >= 0 && (status & pts_eos) == 0) {
    pt_block block = {};
    status = pt_blk_next(decoder, &block, sizeof block);
    decoded.instructions += block.ninsn;
    pt_blk_time(decoder, &tsc, nullptr, nullptr);
  }
  if (status < 0 && status != -pte_eos) ++decoded.errors;
}

}  // namespace

PlainDecode decode_plainly(const std::string& stream, std::span<const PlainCode> codes, const Timing& timing) {
  const pt_config config = plain_config(stream, timing);
  std::unique_ptr<pt_block_decoder, decltype(&pt_blk_free_decoder)> decoder(pt_blk_alloc_decoder(&config),
                                                                            pt_blk_free_decoder);
  std::unique_ptr<pt_image_section_cache, decltype(&pt_iscache_free)> cache(pt_iscache_alloc(nullptr), pt_iscache_free);
  pt_iscache_set_limit(cache.get(), kCacheBytes);
  for (const PlainCode& code : codes) {
    const int section = pt_iscache_add_file(cache.get(), code.path.c_str(), code.file_offset, code.bytes, code.address);
    pt_image_add_cached(pt_blk_get_image(decoder.get()), cache.get(), section, nullptr);
  }
  PlainDecode decoded;
  for (int status = pt_blk_sync_forward(decoder.get()); status >= 0; status = pt_blk_sync_forward(decoder.get())) {
    decode_segment(decoder.get(), status, decoded);
  }
  return decoded;
}

}  // namespace fathom::snapshot
