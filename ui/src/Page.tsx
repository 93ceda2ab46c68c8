import { useEffect, useState } from "preact/hooks";
import { useKeys } from "@/keys/keys";
import { KeyHelp } from "@/keys/KeyHelp";
import { PageHead, nextAppearance } from "@/parts/PageHead";
import { Waiting } from "@/parts/Problem";
import { fromHere, go, place } from "@/state/navigation";
import type { Place, View } from "@/state/place";
import { VIEWS, type ViewComponent } from "@/views/views";

export function Page() {
  const [help, setHelp] = useState(false);
  const to = (view: View) => () => go(fromHere({ view, query: {} }));
  useKeys("Everywhere", [
    { key: "?", what: "show the keys", run: () => setHelp(true) },
    { key: "1", what: "explore", run: to("explore") },
    { key: "2", what: "services", run: to("services") },
    { key: "3", what: "nodes", run: to("nodes") },
    { key: "4", what: "captures", run: to("captures") },
    { key: "5", what: "snapshots", run: to("snapshots") },
    { key: "D", what: "light, dark, or as the system says", run: nextAppearance },
  ]);
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
    VIEWS[shown.view]?.().then(
      (component) => setLoaded({ view: shown.view, component }),
      () => setProblem(true),
    );
  }, [shown.view]);
  if (!VIEWS[shown.view]) return <Nowhere />;
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
