// A part of the page that did not come. It is loaded again with the whole page: browsers may keep it in mind that it
// failed, and a server that was away may have come back with another page. The address is all the state that there is.
import { useEffect } from "preact/hooks";

const AWAY_MILLISECONDS = 3000;

/** By itself once a server that was away is back; where it was there, and the part is not, only the reader tries again. */
export function NotCome() {
  useEffect(() => {
    let timer = 0;
    let gone = false;
    let away = false;
    const look = async () => {
      const there = await answers();
      if (gone) return;
      if (there && away) location.reload();
      if (there) return;
      away = true;
      timer = window.setTimeout(look, AWAY_MILLISECONDS);
    };
    void look();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, []);
  return (
    <div class="problem" role="alert">
      <span>This part of the page did not come; is the server still there?</span>{" "}
      <button onClick={() => location.reload()}>Load it again</button>
    </div>
  );
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch("/", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}
