// The dashboards and what the checks share.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { list } from '../source/list.mjs';

export const here = path.dirname(fileURLToPath(import.meta.url));
const folder = path.join(here, '../grafana');

// In the order of the list.
const place = file => list.findIndex(({ uid }) => file === `${uid}.json`);
export const dashboards = () => fs.readdirSync(folder).filter(name => name.endsWith('.json')).sort((a, b) => place(a) - place(b))
	.map(file => ({ file, json: JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')) }));

const reported = new Set();

// Says it once; the program ends with 1.
export function report(problem) {
	if (!reported.has(problem)) console.error(problem);
	reported.add(problem);
	process.exitCode = 1;
}
