// FATHOM_SANITIZED: this build has AddressSanitizer or ThreadSanitizer, whose runtime needs more of the kernel.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FATHOM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FATHOM_SANITIZED 1
#endif
#endif
