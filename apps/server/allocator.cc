// jemalloc's settings, read when the process starts: few arenas and a quick return of freed pages keep a server under
// overload near what its byte budgets add up to. A freed page serves allocations of every size: by default one of 16 KB
// does not reuse what a column of some MB left, and a query that decodes columns and keeps values took twice its
// budget.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "narenas:4,background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0,lg_extent_max_active_fit:12";
}
