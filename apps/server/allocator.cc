// jemalloc's settings, read when the process starts: few arenas and a quick return of freed pages keep a server under
// overload near what its byte budgets add up to.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:4,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0";
}
