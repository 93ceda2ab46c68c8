#include "snapshot/format/unkept_images.h"

namespace fathom::snapshot {
namespace {

// A reason is "cannot copy FILE: No space left on device": which file is of less interest than the system's words.
std::string cause_of(const std::string& reason) {
  const size_t colon = reason.rfind(": ");
  return colon == std::string::npos ? reason : reason.substr(colon + 2);
}

}  // namespace

std::string why_not_kept(const Error& error) {
  return "cannot copy it: " + cause_of(error.message);
}

UnkeptImages unkept_images(const Snapshot& snapshot) {
  UnkeptImages found{.images = snapshot.images.size(), .unkept = 0, .why = ""};
  for (const Image& image : snapshot.images) {
    if (!image.content.is_zero()) continue;
    if (found.unkept++ == 0) found.why = cause_of(image.missing);
  }
  return found;
}

std::string unkept_images_text(const UnkeptImages& images) {
  const bool one = images.unkept == 1;
  return std::to_string(images.unkept) + " of " + std::to_string(images.images) +
         (images.images == 1 ? " image" : " images") + (one ? " is" : " are") + " not kept: " + images.why +
         "; what runs in " + (one ? "it" : "them") + " will be gaps";
}

}  // namespace fathom::snapshot
