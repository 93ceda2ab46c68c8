// Makes src/api/generated/answers.ts from the schema of the server's answers (query/schema), which is the contract
// between the two: what the page reads is what the server's own tests check its answers against.
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const schemas = new URL("../query/schema/", import.meta.url);
const out = new URL("src/api/generated/", import.meta.url);

const definitions = {};
for (const name of (await readdir(schemas)).filter((file) => file.endsWith(".schema.json")).sort()) {
  const schema = JSON.parse(await readFile(new URL(name, schemas), "utf8"));
  for (const [key, value] of Object.entries(schema.$defs)) {
    if (definitions[key]) throw new Error(`${name} defines ${key} a second time`);
    definitions[key] = value;
  }
}
const all = { title: "Answers", type: "object", additionalProperties: false, $defs: definitions };
const text = await compile(all, "Answers", {
  bannerComment: "// Made by types.mjs from query/schema; not to be edited.",
  unreachableDefinitions: true,
  additionalProperties: false,
});
const path = new URL("answers.ts", out);
await mkdir(out, { recursive: true });
const before = await readFile(path, "utf8").catch(() => "");
if (before !== text) await writeFile(path, text);
