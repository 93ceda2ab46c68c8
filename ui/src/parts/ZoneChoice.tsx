// Whose clock: the reader's own, or UTC.
import { offsetName, type UnixNano, type Zone } from "@/time/nano";
import "./range_picker.css";

interface Props {
  readonly zone: Zone;
  readonly choose: (zone: Zone) => void;
  /** When: local clocks are set forward and back. Now, unless it is given. */
  readonly at?: UnixNano;
}

export function ZoneChoice({ zone, choose, at }: Props) {
  return (
    <div class="joined" role="group" aria-label="Times in">
      <button aria-pressed={zone === "local"} title="times by this computer's clock" onClick={() => choose("local")}>
        Local, {offsetName("local", at)}
      </button>
      <button aria-pressed={zone === "utc"} onClick={() => choose("utc")}>
        UTC
      </button>
    </div>
  );
}
