// What the server's answers about a whole snapshot have in them: docs/snapshot-calls.md, docs/snapshot-questions.md.
import type { SnapshotViewUnit } from "@/api/generated/answers";

export interface WithUnit {
  readonly time_unit: SnapshotViewUnit;
}

export interface CallRow {
  readonly id: number;
  readonly parent: number | null;
  readonly depth: number;
  readonly name: string;
  readonly kind: "all" | "thread" | "function" | "gap";
  readonly calls: number;
  readonly instructions: number;
  readonly total_instructions: number;
  readonly time: number;
  readonly total_time: number;
  readonly total_paused: number;
  readonly took: { readonly count: number; readonly min?: number; readonly max?: number };
  readonly called_from_line?: string;
  readonly self_line?: string;
}

export interface CallsAnswer extends WithUnit {
  readonly rows: readonly CallRow[];
}

export interface FunctionRow {
  readonly name: string;
  readonly calls: number;
  readonly instructions: number;
  readonly total_instructions: number;
  readonly time: number;
  readonly total_time: number;
  readonly total_paused: number;
  readonly took: {
    readonly count: number;
    readonly p50?: number;
    readonly p99?: number;
    readonly max?: number;
    readonly buckets: readonly { readonly above: number; readonly up_to: number; readonly count: number }[];
  };
}

export interface FunctionsAnswer extends WithUnit {
  readonly functions: readonly FunctionRow[];
}

export interface Distribution {
  readonly count: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly bars: readonly { readonly low: number; readonly high: number; readonly count: number }[];
}

export interface SyscallsAnswer extends WithUnit {
  readonly calls: readonly {
    readonly call: string;
    readonly count: number;
    readonly interrupted: number;
    readonly latency: Distribution;
    readonly longest?: { readonly tid: number; readonly begin?: number };
  }[];
  readonly unfinished: number;
  readonly cut: number;
  readonly untimed: number;
}

interface PatternCount {
  readonly pattern: string;
  readonly meaning: string;
  readonly count: number;
}

export interface DeltaAnswer extends WithUnit {
  readonly from: PatternCount;
  readonly to: PatternCount;
  readonly broken: number;
  readonly unclosed: number;
  readonly untimed: number;
  readonly time_unresolved: number;
  readonly time: Distribution;
  readonly instruction_count: Distribution;
  readonly longest: readonly {
    readonly time: number | null;
    readonly begin: number | null;
    readonly instructions: number;
    readonly tid: number;
    readonly from: string;
    readonly to: string;
  }[];
}

interface Amounts {
  readonly calls: number;
  readonly instructions: number;
  readonly total_instructions: number;
  readonly total_time?: number;
}

export interface DiffAnswer {
  readonly paths_added: number;
  readonly paths_removed: number;
  readonly calls_added: number;
  readonly calls_removed: number;
  readonly rows: readonly {
    readonly id: number;
    readonly depth: number;
    readonly name: string;
    readonly change: "added" | "removed" | "changed" | "same";
    readonly first: Amounts;
    readonly second: Amounts;
  }[];
}

export interface Ring {
  readonly id: number;
  readonly parent: number | null;
  readonly ring: number;
  readonly name: string;
  readonly calls: number;
  readonly instructions: number;
  readonly total_instructions: number;
  /** Parts of the circle. */
  readonly from: number;
  readonly to: number;
}

export interface SunburstAnswer {
  readonly rings: readonly Ring[];
}

export interface StatsAnswer extends WithUnit {
  readonly blocks: number;
  readonly bytes_per_instruction: number;
  readonly length: number;
  readonly mb_per_s: number | null;
  readonly packet_bytes: number;
  readonly packets: Readonly<Record<string, { readonly count: number; readonly bytes: number }>>;
  readonly images: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly present: boolean;
    readonly problem: string;
  }[];
  readonly time_resolution: {
    readonly timed_branches: number;
    readonly median_time: number;
    readonly median_instructions: number;
    readonly factor: number | null;
  };
}
