// SPDX-License-Identifier: MIT
// Lets packages import JSON without an import attribute, as bundlers do. For module.register().
import { readFile } from "node:fs/promises";

export async function load(url, context, next) {
  if (!url.endsWith(".json")) {
    return next(url, context);
  }
  const text = await readFile(new URL(url), "utf8");
  return { format: "module", shortCircuit: true, source: `export default ${text}` };
}
