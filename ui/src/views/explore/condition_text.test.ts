import { expect, it } from "vitest";
import { conditionWords, formatCondition, parseCondition, type Compare } from "./condition_text";

it.each<[string, string, Compare, string]>([
  ["tenant=acme", "tenant", "=", "acme"],
  [" payment.method = card ", "payment.method", "=", "card"],
  ["tenant.id!=x", "tenant.id", "!=", "x"],
  ["payment.amount>=500", "payment.amount", ">=", "500"],
  ["payment.amount > 5e2", "payment.amount", ">", "5e2"],
  ["a<-1.5", "a", "<", "-1.5"],
  ["a<=0", "a", "<=", "0"],
  ["tenant", "tenant", "has", ""],
  ["! tenant", "tenant", "lacks", ""],
  ["k=a b", "k", "=", "a b"],
  ["k=v=w", "k", "=", "v=w"],
  ['k=""', "k", "=", ""],
  ['k=" a"', "k", "=", " a"],
  ['"a=b" = "x > \\"y\\""', "a=b", "=", 'x > "y"'],
  ['!"two words"', "two words", "lacks", ""],
])("%s", (text, key, compare, value) => {
  const said = { key, compare, value };
  expect(parseCondition(text)).toEqual(said);
  expect(parseCondition(formatCondition(said))).toEqual(said);
});

it.each([
  ["", /which attribute/],
  ["=acme", /which attribute/],
  ["!", /which attribute/],
  ["tenant=", /which value of tenant/],
  ["tenant ~ ac", /double quotes/],
  ["tenant==acme", /double quotes/],
  ["a=1 && b=2", /double quotes/],
  ["a>many", /takes a number/],
  ["a>0x10", /takes a number/],
  ["!a=b", /not understood/],
  ["a!b", /not understood/],
  ['a="b', /not closed/],
  ['"a=b', /not closed/],
  ['a="b" c', /follows the closing/],
])("%s is no condition", (text, why) => {
  const said = parseCondition(text);
  expect("problem" in said && said.problem).toMatch(why);
});

it("survives whatever keys and values there are", () => {
  const odd = [
    "",
    "a",
    " a",
    "a ",
    "=",
    "!=x",
    ">3",
    "~",
    '"',
    "\\",
    'a"b\\c',
    "a\nb",
    "x && y",
    "x || y",
    "1e5",
    "ä€",
  ];
  for (const key of odd.filter((text) => text.trim() === text && text !== "")) {
    for (const value of odd) {
      const said = { key, compare: "=", value } as const;
      expect(parseCondition(formatCondition(said))).toEqual(said);
    }
  }
});

it("is said to people", () => {
  expect(conditionWords("a>=5")).toBe("a >= 5");
  expect(conditionWords("!a")).toBe("lacks a");
  expect(conditionWords("a")).toBe("has a");
  expect(conditionWords("a==b")).toBe("a==b");
});
