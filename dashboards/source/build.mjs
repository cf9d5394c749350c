// Writes dashboards/grafana/*.json and dashboards/external/*.json from what stands here. `--check`: says which files are not what it
// would write, and ends with 1.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

import { external } from './external.mjs';
import { list } from './list.mjs';

const check = process.argv[2] === '--check';
let stale = 0;

function write(path, json, name) {
	const file = fileURLToPath(new URL(path, import.meta.url));
	const text = `${json}\n`;
	if (!check) {
		fs.mkdirSync(new URL('.', new URL(path, import.meta.url)), { recursive: true });
		fs.writeFileSync(file, text);
	} else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
		console.error(`${file} is not what dashboards/source/${name}.mjs makes: run node dashboards/source/build.mjs`);
		stale = 1;
	}
}

for (const { source: name } of list) {
	const { default: dashboard } = await import(`./${name}.mjs`);
	write(`../grafana/${dashboard.uid}.json`, JSON.stringify(dashboard, null, 2), name);
	write(`../external/${dashboard.uid}.json`, JSON.stringify(external(dashboard)), name);
}
process.exitCode = stale;
