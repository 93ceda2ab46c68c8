import { formatPlace } from "@/state/place";
import { TABS } from "@/state/views";
import { place } from "@/state/navigation";
import { appearance, chooseAppearance, type Appearance } from "@/state/appearance";

const NEXT: Readonly<Record<Appearance, Appearance>> = { system: "dark", dark: "light", light: "system" };

export function nextAppearance(): void {
  chooseAppearance(NEXT[appearance.value]);
}

export function PageHead({ help }: { help: () => void }) {
  return (
    <header class="page-head">
      <a class="brand" href="/">
        fathom
      </a>
      <nav aria-label="Views">
        {TABS.map(({ view, title }) => (
          <a
            key={view}
            href={formatPlace({ view, query: {} })}
            aria-current={place.value?.view === view ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <button onClick={nextAppearance}>Appearance: {appearance.value}</button>
      <button onClick={help}>
        Keys <kbd>?</kbd>
      </button>
    </header>
  );
}
