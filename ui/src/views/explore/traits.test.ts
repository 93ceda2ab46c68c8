import { describe, expect, it } from "vitest";
import type { Difference, Trait } from "@/api/generated/answers";
import { eachOf, withTrait, wordsOf } from "./traits";
import { readWords } from "./words";

const plain = readWords({ service: "shop", operation: "GET /" });
const trait = (of: Trait["of"], rest: Partial<Trait> = {}): Trait => ({
  ...{ of, service: "", operation: "", key: "", is: "=", value: "" },
  ...rest,
});
const version = trait("resource", { key: "service.version", value: "1.2" });

describe("looking at a difference is", () => {
  it("a condition on the attribute, once", () => {
    const once = withTrait(plain, version);
    expect(once.where).toEqual(["service.version=1.2"]);
    expect(withTrait(once, version)).toBe(once);
  });
  it("a bound of a number", () => {
    const amount = trait("attribute", { key: "payment.amount", is: ">=", value: "500" });
    expect(withTrait(plain, amount).where).toEqual(["payment.amount>=500"]);
  });
  it("the service, whose operations are others", () => {
    expect(withTrait(plain, trait("service", { value: "cart" }))).toMatchObject({ service: "cart", operation: "" });
  });
  it("errors only", () => expect(withTrait(plain, trait("status", { value: "error" })).errors).toBe(true));
  it("an operation, and its service where that is told", () => {
    const all = readWords({ service: "", where: "a=b" });
    const load = trait("operation", { value: "load" });
    expect(withTrait(all, load)).toMatchObject({ service: "", operation: "load" });
    expect(withTrait(all, { ...load, service: "cart" })).toMatchObject({
      ...{ service: "cart", operation: "load", where: ["a=b"] },
    });
    expect(withTrait(plain, load)).toMatchObject({ service: "shop", operation: "load" });
  });
  it("what is slow of another operation, in the selection's time", () => {
    const selection = { from: 0n, to: 9n, minNano: 100, maxNano: 2000 };
    const own = trait("self_time", { service: "cart", operation: "load", is: ">=", value: "150" });
    const slow = withTrait({ ...plain, selection }, own);
    expect(slow).toMatchObject({ service: "cart", operation: "load", where: [] });
    expect(slow.selection).toEqual({ ...selection, minNano: 150 });
    // Several together may last longer than the selected.
    const longer = withTrait({ ...plain, selection }, { ...own, value: "3000" });
    expect(longer.selection).toEqual({ ...selection, minNano: 3000, maxNano: Number.MAX_SAFE_INTEGER });
    expect(withTrait(plain, own).selection).toBeUndefined();
  });
  it("another service's spans by themselves", () => {
    const narrowed = readWords({ service: "shop", operation: "GET /", where: "a=b", from: "0", to: "1" });
    const theirs = withTrait(narrowed, trait("attribute", { service: "cart", key: "tenant", value: "acme" }));
    expect(theirs).toMatchObject({ service: "cart", operation: "", where: ["tenant=acme"], errors: false });
    expect(theirs.selection).toBeUndefined();
    const failed = withTrait(narrowed, trait("error", { service: "cart", operation: "load" }));
    expect(failed).toMatchObject({ service: "cart", operation: "load", where: [], errors: true });
  });
});

it("says whose it is, and what", () => {
  const charge = { service: "payment", operation: "charge" };
  expect(wordsOf(version)).toEqual({ whose: "", name: "service.version", value: "1.2" });
  expect(wordsOf(trait("error", charge))).toEqual({ whose: "payment charge", name: "", value: "fails" });
  expect(wordsOf(trait("calls", { ...charge, is: ">=", value: "2" })).value).toBe("2 times or more");
  expect(wordsOf(trait("calls", { ...charge, is: ">=", value: "1" })).value).toBe("at all");
  expect(wordsOf(trait("self_time", { ...charge, is: ">=", value: "200000000" })).value).toBe("≥ 200 ms");
  expect(wordsOf(trait("attribute", { key: "n", is: "<=", value: "3" })).value).toBe("≤ 3");
  expect(wordsOf(trait("operation")).value).toBe("(empty)");
});

it("each of the values that differ together is looked at by itself", () => {
  const group = { ...trait("attribute", { service: "payment", key: "customer", is: "in" }), values: ["a", "b"] };
  const each = eachOf(group as Difference);
  expect(each.map(({ is, value }) => `${is}${value}`)).toEqual(["=a", "=b"]);
  expect(withTrait(plain, each[1]!)).toMatchObject({ service: "payment", where: ["customer=b"] });
  expect(eachOf(version as Difference)).toEqual([]);
});
