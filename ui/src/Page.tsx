import { useEffect, useState } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { KeyHelp } from "@/keys/KeyHelp";
import { LostBatchesNote } from "@/parts/LostBatchesNote";
import { NotCome } from "@/parts/NotCome";
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
      <LostBatchesNote />
      <main id="main">{place.value ? <Shown place={place.value} /> : <Nowhere />}</main>
      {help && <KeyHelp close={() => setHelp(false)} />}
    </>
  );
}

function Shown({ place: shown }: { place: Place }) {
  const [loaded, setLoaded] = useState<{ view: View; component: ViewComponent }>();
  const [problem, setProblem] = useState(false);
  const has = loaded?.view === shown.view;
  // Every step is a new try, as that of the view's own key.
  useEffect(() => {
    let gone = false;
    setProblem(false);
    if (!has) {
      LOAD[shown.view]().then(
        (component) => gone || setLoaded({ view: shown.view, component }),
        () => gone || setProblem(true),
      );
    }
    return () => {
      gone = true;
    };
  }, [shown, has]);
  if (problem) return <NotCome />;
  if (!loaded || !has) return <Waiting what="Loading" />;
  const View = loaded.component;
  return <View place={shown} key={shown.id ?? ""} />;
}

function Nowhere() {
  return (
    <>
      <h1>Nothing is here</h1>
      <p>
        There is nothing at this address.{" "}
        <a href="/" data-anew>
          Explore
        </a>{" "}
        is where one begins.
      </p>
    </>
  );
}
