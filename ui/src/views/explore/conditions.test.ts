import { describe, expect, it } from "vitest";
import { completions, decodeConditions, encodeConditions, faultOf, keyOf, withCondition } from "./conditions";
import { readWords } from "./words";

it.each([[[]], [["a=b"]], [["a=b", "c=d=e", "back\\slash=\\n", "two\nlines=x"]]])("%j survives the address", (all) => {
  expect(decodeConditions(encodeConditions(all))).toEqual(all);
});

it("says what is missing of a condition", () => {
  expect(faultOf("tenant=acme")).toBeUndefined();
  expect(faultOf("=acme")).toMatch("KEY=VALUE");
  expect(faultOf("tenant=")).toMatch("which value of tenant");
});

it("adds a condition as the server writes it, once", () => {
  const once = withCondition(readWords({}), " tenant = acme ");
  expect(once.where).toEqual(["tenant=acme"]);
  expect(withCondition(once, "tenant=acme")).toBe(once);
});

describe("completion", () => {
  const keys = ["http.route", "tenant", "customer.tenant", "k=eq"];
  const values = [
    { value: "acme", spans: 7 },
    { value: "big acme", spans: 9 },
  ];
  const texts = (typed: string) => completions(typed, keys, values).map(({ text }) => text);
  it("offers keys first, those that begin so before the others", () => {
    expect(texts("ten")).toEqual(["tenant=", "customer.tenant="]);
    expect(texts("")).toHaveLength(4);
    expect(texts("!ten")).toEqual(["!tenant", "!customer.tenant"]);
  });
  it("offers how to compare once the key is there", () => {
    expect(texts("tenant")).toEqual(["tenant=", "tenant!=", "tenant>=", "tenant", "!tenant", "customer.tenant="]);
    expect(
      completions("tenant", keys, values)
        .map(({ whole }) => whole)
        .slice(0, 5),
    ).toEqual([false, false, false, true, true]);
  });
  it("offers values once it is said how", () => {
    expect(texts("tenant=AC")).toEqual(["tenant=acme", "tenant=big acme"]);
    expect(texts("tenant != ac")).toEqual(["tenant!=acme", "tenant!=big acme"]);
    expect(texts("tenant=zzz")).toEqual([]);
    expect(texts("tenant>")).toEqual([]);
  });
  it("quotes keys that have signs in them", () => {
    expect(texts('"k=e')).toEqual(['"k=eq"=']);
    expect(keyOf('"k=eq"=v')).toBe("k=eq");
    expect(keyOf("k=other")).toBe("k");
    expect(keyOf("k")).toBeUndefined();
    expect(keyOf("k>3")).toBeUndefined();
  });
});
