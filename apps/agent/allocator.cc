// jemalloc's settings, read when the process starts: what one capture needed is there for the next one for some
// seconds, large pieces too, because on a virtual machine the first touch of memory may cost more than all else that is
// done with it; then it is given back.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:4,background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,oversize_threshold:0";
}
