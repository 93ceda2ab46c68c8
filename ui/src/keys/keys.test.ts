// @vitest-environment jsdom
import { expect, it } from "vitest";
import { bindingFor, isTaken, nameOf, signOf, writes, type KeyGroup } from "./keys";

const key = (name: string, more: Partial<KeyboardEvent> = {}) => ({
  key: name,
  ctrlKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

it("names keys as people do", () => {
  expect(nameOf(key("?", { shiftKey: true }))).toBe("?");
  expect(nameOf(key("ArrowLeft", { shiftKey: true }))).toBe("Shift+ArrowLeft");
  expect(nameOf(key("f", { ctrlKey: true }))).toBe("Ctrl+f");
});

it("gives a key to whoever bound it last", () => {
  const run = () => undefined;
  const groups: KeyGroup[] = [
    { title: "page", bindings: [{ key: "j", what: "outer", run }] },
    { title: "list", bindings: [{ key: "j", what: "inner", run }] },
  ];
  expect(bindingFor(groups, "j")?.what).toBe("inner");
  expect(bindingFor(groups, "k")).toBeUndefined();
});

it("passes a key on where it is not meant", () => {
  const run = () => undefined;
  const groups: KeyGroup[] = [
    { title: "page", bindings: [{ key: "Enter", what: "outer", run }] },
    { title: "list", bindings: [{ key: "Enter", what: "inner", when: () => false, run }] },
  ];
  const meant = ({ when }: { when?: (event: KeyboardEvent) => boolean }) =>
    when?.(new Event("") as KeyboardEvent) ?? true;
  expect(bindingFor(groups, "Enter", meant)?.what).toBe("outer");
});

it("leaves keys to what has the focus and needs them", () => {
  const within = (found: string) => ({
    closest: (selectors: string) => (selectors.split(", ").includes(found) ? ({} as Element) : null),
  });
  expect(isTaken(within("button"), " ")).toBe(true);
  expect(isTaken(within("summary"), "Enter")).toBe(true);
  expect(isTaken(within("button"), "j")).toBe(false);
  expect(isTaken(within("[data-scrolls]"), "ArrowDown")).toBe(true);
  expect(isTaken(within("[data-scrolls]"), "j")).toBe(false);
  expect(isTaken(within("div"), " ")).toBe(false);
  expect(isTaken(null, " ")).toBe(false);
});

it("leaves every key to what one writes in, to a checkbox only what ticks it", () => {
  const made = (markup: string): Element => {
    document.body.innerHTML = markup;
    return document.body.firstElementChild!;
  };
  for (const markup of ["<input>", "<input type=search>", "<textarea></textarea>", "<select></select>"]) {
    expect(writes(made(markup)), markup).toBe(true);
  }
  const box = made("<input type=checkbox>");
  expect([writes(box), writes(made("<button>")), writes(document)]).toEqual([false, false, false]);
  expect([" ", "s", "Enter"].map((key) => isTaken(box, key))).toEqual([true, false, false]);
});

it("shows keys as they stand on keyboards", () => {
  expect(["ArrowLeft", "Shift+ArrowUp", "Ctrl+ArrowRight", " ", "+", "Ctrl++", "Shift+ ", "j"].map(signOf)).toEqual([
    ...["←", "Shift+↑", "Ctrl+→", "Space", "+", "Ctrl++", "Shift+Space", "j"],
  ]);
});
