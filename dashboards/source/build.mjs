// Writes dashboards/grafana/*.json, dashboards/external/*.json, dashboards/prometheus/{rules.yml,alerts.yml,mixin.libsonnet}, docs/runbooks.md and the
// tables of dashboards/README.md from what stands here. `--check`: says which files are not what it would write, and ends with 1.
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

import { external } from './external.mjs';
import { list } from './list.mjs';
import { alertTable, alertsYaml, configTable, jsonnet, ruleTable, rulesYaml, runbooks } from './prometheus.mjs';

const check = process.argv[2] === '--check';
let stale = 0;

function write(path, text, name) {
	const file = fileURLToPath(new URL(path, import.meta.url));
	if (!check) {
		fs.mkdirSync(new URL('.', new URL(path, import.meta.url)), { recursive: true });
		fs.writeFileSync(file, text);
	} else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
		console.error(`${file} is not what dashboards/source/${name}.mjs makes: run node dashboards/source/build.mjs`);
		stale = 1;
	}
}

const dashboards = [];
for (const { source: name } of list) {
	const { default: dashboard } = await import(`./${name}.mjs`);
	dashboards.push(dashboard);
	write(`../grafana/${dashboard.uid}.json`, `${JSON.stringify(dashboard, null, 2)}\n`, name);
	write(`../external/${dashboard.uid}.json`, `${JSON.stringify(external(dashboard))}\n`, name);
}
write('../prometheus/rules.yml', rulesYaml(), 'rules');
write('../prometheus/alerts.yml', alertsYaml(dashboards), 'alerts');
write('../prometheus/mixin.libsonnet', jsonnet(dashboards), 'prometheus');
write('../../docs/runbooks.md', runbooks(), 'alerts');
// The tables of the README stand between "<!-- table: NAME -->" and "<!-- end -->".
const tables = { alerts: alertTable, rules: ruleTable, config: configTable }, readme = '../README.md';
write(readme, fs.readFileSync(new URL(readme, import.meta.url), 'utf8')
	.replace(/(<!-- table: (\w+) -->\n)[\s\S]*?(?=<!-- end -->)/g, (_, head, name) => `${head}\n${tables[name]()}\n\n`), 'prometheus');
process.exitCode = stale;
