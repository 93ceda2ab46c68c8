// The reasons why processes have no capture of this request: one sentence for all services with the same reason.
import type { TimelineProcess } from "@/api/generated/answers";

export function noCaptures(processes: readonly TimelineProcess[]): string[] {
  const services = new Map<string, Set<string>>();
  const partial = new Set<string>();
  for (const { service, no_capture } of processes) {
    if (!no_capture) continue;
    const names = services.get(no_capture.explanation) ?? new Set<string>();
    services.set(no_capture.explanation, names.add(service));
    // The explanation of a partial capture begins with that.
    if (no_capture.partial) partial.add(no_capture.explanation);
  }
  return [...services].map(([explanation, names]) => {
    const whose = [...names].join(", ");
    return `${partial.has(explanation) ? whose : `No capture of ${whose}`}: ${explanation}.`;
  });
}
