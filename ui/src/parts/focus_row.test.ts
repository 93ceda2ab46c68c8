// @vitest-environment jsdom
import { beforeEach, expect, it } from "vitest";
import { focusRow } from "./focus_row";

const list = document.createElement("div");
const now = () => document.activeElement?.id;

beforeEach(() => {
  document.body.replaceChildren(list);
  list.innerHTML = `<table><tbody>
    <tr><td><a id="a" href="/a">a</a><a id="a2" href="/a2">a2</a></td></tr>
    <tr><td><a id="b" href="/b">b</a><a id="b2" href="/b2" data-row>b2</a></td></tr>
  </tbody></table>`;
});

it("goes from row to row, to the link that is the row's", () => {
  focusRow(list, 1);
  expect(now()).toBe("a");
  focusRow(list, 1);
  expect(now()).toBe("b2");
  focusRow(list, 1);
  expect(now()).toBe("b2");
  focusRow(list, -1);
  expect(now()).toBe("a");
});

it("goes on from the row that has the focus, wherever within it", () => {
  list.querySelector<HTMLElement>("#a2")?.focus();
  focusRow(list, 1);
  expect(now()).toBe("b2");
});

it("begins at the end where it goes back, and takes lists that are no tables", () => {
  focusRow(list, -1);
  expect(now()).toBe("b2");
  list.innerHTML = `<a id="x" href="/x">x</a><button id="y" data-row>y</button>`;
  focusRow(list, 1);
  expect(now()).toBe("x");
  focusRow(list, 1);
  expect(now()).toBe("y");
});
