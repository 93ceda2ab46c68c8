#include "query/process_identity.h"

#include <algorithm>
#include <array>

namespace fathom::query {

namespace {

constexpr std::string_view kExecutableName = "process.executable.name";
constexpr std::string_view kExecutablePath = "process.executable.path";
constexpr std::array<std::string_view, 4> kInstanceKeys = {"service.instance.id", "container.id", "k8s.pod.uid",
                                                           "process.creation.time"};
constexpr std::array<std::string_view, 4> kOtherKeys = {"service.namespace", "host.id", kExecutableName,
                                                        kExecutablePath};
constexpr std::string_view kService = "service.name";

bool has_key(const auto& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

const std::string* find(const ProcessIdentity& identity, std::string_view key) {
  const auto found = identity.said.find(key);
  return found == identity.said.end() ? nullptr : &found->second;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string ProcessIdentity::executable() const {
  for (std::string_view key : {kExecutablePath, kExecutableName}) {
    if (const std::string* value = find(*this, key)) return std::string(base_name(*value));
  }
  return "";
}

ProcessIdentity identity_of(const store::StoredSpan& stored) {
  ProcessIdentity identity;
  const auto say = [&](std::string_view key, std::string value) {
    if (!value.empty()) identity.said.insert_or_assign(key, std::move(value));
  };
  for (const store::AttributeView& attribute : stored.resource.attributes) {
    for (std::string_view key : kInstanceKeys) {
      if (attribute.key == key) say(key, store::value_text(attribute.value));
    }
    for (std::string_view key : kOtherKeys) {
      if (attribute.key == key) say(key, store::value_text(attribute.value));
    }
  }
  say(kService, std::string(stored.service));
  return identity;
}

bool contradict(const ProcessIdentity& a, const ProcessIdentity& b) {
  const std::string program = b.executable();
  if (!program.empty() && !may_run(a, {program})) return true;
  return std::ranges::any_of(a.said, [&](const auto& said) {
    // One SDK's name of it is another one's path.
    if (said.first == kExecutableName || said.first == kExecutablePath) return false;
    const std::string* other = find(b, said.first);
    return other != nullptr && *other != said.second;
  });
}

bool same_instance(const ProcessIdentity& a, const ProcessIdentity& b) {
  return std::ranges::any_of(a.said, [&](const auto& said) {
    const std::string* other = find(b, said.first);
    return has_key(kInstanceKeys, said.first) && other != nullptr && *other == said.second;
  });
}

bool may_run(const ProcessIdentity& identity, const std::vector<std::string>& programs) {
  const std::string name = identity.executable();
  if (name.empty() || programs.empty()) return true;
  return std::ranges::any_of(
      programs, [&](const std::string& program) { return program.starts_with(name) || name.starts_with(program); });
}

}  // namespace fathom::query
