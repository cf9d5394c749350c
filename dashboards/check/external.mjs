// The external variants against the dashboards: each data source is the one that the import page asks for, each type of panel is required,
// and all else is the same. The names of the fields: see source/external.mjs.
import fs from 'node:fs';
import path from 'node:path';

import { dashboards, here, report } from './dashboards.mjs';

const folder = path.join(here, '../external');
const files = new Set(fs.readdirSync(folder));

// Every value under the key, at any depth.
function* values(json, key) {
	for (const [name, value] of Object.entries(json ?? {})) {
		if (name === key) yield value;
		if (value && typeof value === 'object') yield* values(value, key);
	}
}

for (const { file, json } of dashboards()) {
	if (!files.delete(file)) {
		report(`external/${file} is missing`);
		continue;
	}
	const text = fs.readFileSync(path.join(folder, file), 'utf8');
	const other = JSON.parse(text);
	const inputs = other.__inputs.map(({ name, type, pluginId }) => `${type} ${pluginId} ${name}`);
	if (inputs.join() !== 'datasource prometheus DS_PROMETHEUS') report(`external/${file}: its inputs are ${inputs}`);
	if (text.includes('${datasource}')) report(`external/${file} uses a variable that it does not have`);
	const uids = new Set([...values(other, 'datasource')].map(({ uid }) => uid));
	for (const uid of uids) if (uid !== '${DS_PROMETHEUS}' && uid !== '-- Grafana --') report(`external/${file}: data source ${uid}`);
	const required = new Set(other.__requires.filter(({ type }) => type === 'panel').map(({ id }) => id));
	const types = new Set([...values({ panels: json.panels }, 'panels')].flat().map(({ type }) => type));
	types.delete('row');
	if ([...types].sort().join() !== [...required].sort().join()) report(`external/${file} requires ${[...required]}, not ${[...types]}`);
	if (other.__requires.some(({ name, id }) => !name || !id)) report(`external/${file}: a requirement without name`);
	// Back again: what is left is the dashboard, without the variable of its data source.
	for (const key of ['__inputs', '__elements', '__requires']) delete other[key];
	const without = { ...json, templating: { list: json.templating.list.filter(({ type }) => type !== 'datasource') } };
	if (JSON.stringify(other).replaceAll('${DS_PROMETHEUS}', '${datasource}') !== JSON.stringify(without)) {
		report(`external/${file} differs from grafana/${file} in more than its data source`);
	}
}
for (const file of files) report(`external/${file} has no dashboard`);
