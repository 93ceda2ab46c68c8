import { ZoneChoice } from "@/parts/ZoneChoice";
import { fromHere, go, place } from "@/state/navigation";
import { formatPlace, withQuery, type Place, type View } from "@/state/place";
import { TABS } from "@/state/views";
import { readZone } from "@/time/nano";
import { appearance, chooseAppearance, type Appearance } from "@/state/appearance";

/** Their range picker has the choice of the clock. */
const HAVE_A_RANGE: readonly View[] = ["explore", "services", "captures"];

function hasClock({ view, query }: Place): boolean {
  return HAVE_A_RANGE.includes(view) && query["trace_id"] === undefined;
}

const NEXT: Readonly<Record<Appearance, Appearance>> = { system: "dark", dark: "light", light: "system" };

export function nextAppearance(): void {
  chooseAppearance(NEXT[appearance.value]);
}

export function PageHead({ help }: { help: () => void }) {
  return (
    <header class="page-head">
      <a class="brand" href="/" data-anew title="begin anew">
        fathom
      </a>
      <nav aria-label="Views">
        {TABS.map(({ view, title }) => (
          <a
            key={view}
            href={formatPlace(fromHere({ view, query: {} }))}
            aria-current={place.value?.view === view ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {place.value && !hasClock(place.value) && <Clock />}
      <button onClick={nextAppearance}>Appearance: {appearance.value}</button>
      <button onClick={help}>
        Keys <kbd>?</kbd>
      </button>
    </header>
  );
}

function Clock() {
  const here = place.value;
  if (!here) return null;
  const choose = (zone: string) => go(withQuery(here, { zone: zone === "utc" ? zone : undefined }), "replace");
  return <ZoneChoice zone={readZone(here.query["zone"])} choose={choose} />;
}
