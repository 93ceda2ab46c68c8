#include "cli/redact_flags.h"

namespace fathom::cli {

Flag redact_flag() {
  return {
      "--redact", "RULE",
      "'ACTION key PATTERN' or 'ACTION value REGEX': drop, hash or mask attributes by key (* stands for any text, ? "
      "for one character), or what a regular expression (RE2) matches, before spans and captures are stored; the first "
      "key rule "
      "that matches applies, like 'hash key user.id', 'mask value [0-9]{13,19}'",
      "", true};
}

Flag redact_key_file_flag(const std::string& directory) {
  return {
      "--redact-key-file", "FILE",
      "the secret key of hash rules; made when a rule first needs it (default: redact-key in the " + directory + ")"};
}

}  // namespace fathom::cli
