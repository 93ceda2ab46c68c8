import { useEffect, useState } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { KeyHelp } from "@/keys/KeyHelp";
import { PageHead, nextAppearance } from "@/parts/PageHead";
import { Waiting } from "@/parts/Problem";
import { fromHere, go, place } from "@/state/navigation";
import type { Place, View } from "@/state/place";
import { shownName } from "@/state/title";
import { TABS, titleOf } from "@/state/views";
import { LOAD, type ViewComponent } from "@/views/views";

export function Page() {
  const [help, setHelp] = useState(false);
  const to = (view: View) => () => go(fromHere({ view, query: {} }));
  useKeys("Everywhere", [
    { key: "?", what: "show the keys", run: () => setHelp(true) },
    ...TABS.map(({ view, key, title }) => ({ key, what: title.toLowerCase(), run: to(view) })),
    { key: "D", what: "light, dark, or as the system says", run: nextAppearance },
  ]);
  const title = titleOf(place.value?.view, place.value?.id, shownName.value);
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <PageHead help={() => setHelp(true)} />
      <main id="main">{place.value ? <Shown place={place.value} /> : <Nowhere />}</main>
      {help && <KeyHelp close={() => setHelp(false)} />}
    </>
  );
}

function Shown({ place: shown }: { place: Place }) {
  const [loaded, setLoaded] = useState<{ view: View; component: ViewComponent }>();
  const [problem, setProblem] = useState(false);
  useEffect(() => {
    setProblem(false);
    LOAD[shown.view]().then(
      (component) => setLoaded({ view: shown.view, component }),
      () => setProblem(true),
    );
  }, [shown.view]);
  if (problem)
    return <p class="problem">This part of the page did not come; is the server still there? Load it again.</p>;
  if (loaded?.view !== shown.view) return <Waiting what="Loading" />;
  const View = loaded.component;
  return <View place={shown} key={shown.id ?? ""} />;
}

function Nowhere() {
  return (
    <p>
      There is nothing at this address.{" "}
      <a href="/" data-anew>
        Explore
      </a>{" "}
      is where one begins.
    </p>
  );
}
