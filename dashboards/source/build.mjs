// Writes dashboards/grafana/*.json from what stands here. `--check`: says which files are not what it would write, and ends with 1.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

import { list } from './list.mjs';

const check = process.argv[2] === '--check';
let stale = 0;

for (const { source: name } of list) {
	const { default: dashboard } = await import(`./${name}.mjs`);
	const file = fileURLToPath(new URL(`../grafana/${dashboard.uid}.json`, import.meta.url));
	const text = `${JSON.stringify(dashboard, null, 2)}\n`;
	if (!check) {
		fs.writeFileSync(file, text);
	} else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
		console.error(`${file} is not what dashboards/source/${name}.mjs makes: run node dashboards/source/build.mjs`);
		stale = 1;
	}
}
process.exitCode = stale;
