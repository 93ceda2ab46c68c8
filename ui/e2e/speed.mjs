// How quick the page is: node e2e/speed.mjs http://HOST:PORT STEP SUBJECT TIMES [FROM TO]
//
// STEP is one of first, select, trace, frames, snapshot (./dev bench ui runs them all). SUBJECT is the id of what is
// opened (a trace; a snapshot; "-" for first and select), TIMES how often something is done, FROM and TO are the
// range, in nanoseconds. The last line is JSON: {"figures":[{"key","value","what"}..],"notes":[..],"not_measured":[..]}.
import { cpus, loadavg } from "node:os";
import { launched } from "./browser.mjs";
import { measureFirstView } from "./speed_first.mjs";
import { measureFrames, measureSnapshotFrames } from "./speed_frames.mjs";
import { measureSelections } from "./speed_select.mjs";
import { measureTrace } from "./speed_trace.mjs";

const STEPS = {
  first: measureFirstView,
  select: measureSelections,
  trace: measureTrace,
  frames: measureFrames,
  snapshot: measureSnapshotFrames,
};
const [base, step, subject = "-", times = "9", from, to] = process.argv.slice(2);
if (!STEPS[step]) throw new Error(`no step '${step}'; there are ${Object.keys(STEPS).join(", ")}`);

const told = { figures: [], notes: [], not_measured: [] };
const browser = await launched();
const range = from && to ? `from=${from}&to=${to}` : "since=1h";
await STEPS[step]({ browser, base, range, subject, times: Number(times), told });
// Others' work is in these figures; the floors beside them have it, too.
told.notes.push(`${step}: Chromium ${browser.version()}, load average ${loadavg()[0].toFixed(1)} of ${cpus().length}`);
await browser.close();
console.log(JSON.stringify(told));
