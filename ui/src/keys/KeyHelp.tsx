import { useEffect, useRef } from "preact/hooks";
import { keyGroups, signOf } from "./keys";

/** What the keyboard does here. */
export function KeyHelp({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // The only button is at the end, and would be scrolled to.
    dialog.current?.focus();
    dialog.current?.scrollTo(0, 0);
  }, []);
  const groups = keyGroups.value.filter(({ bindings }) => bindings.length > 0);
  const outside = (event: Event) => event.target === dialog.current && dialog.current?.close();
  return (
    <dialog ref={dialog} class="key-help" aria-label="Keys" tabIndex={-1} onClose={close} onClick={outside}>
      <h2>Keys</h2>
      <div class="key-groups">
        {groups.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            <dl>
              {group.bindings.map((binding) => (
                <div key={binding.key}>
                  <dt>
                    <kbd>{signOf(binding.key)}</kbd>
                  </dt>
                  <dd>{binding.what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}
