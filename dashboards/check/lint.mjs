// Layer 1b and 2: what types cannot say. usage: lint.mjs METRICS.md RULES.yml OUT.yml
//
// Writes every query of every panel, filled in, as a recording rule to OUT.yml for `promtool check rules`.
import { parser } from '@prometheus-io/lezer-promql';
import fs from 'node:fs';
import path from 'node:path';

import { list } from '../source/list.mjs';
import { dashboards, report } from './dashboards.mjs';
import { expand, leftOver, panelsOf } from './queries.mjs';

// The units in use, as Grafana spells them (valueFormats/categories.ts); a word it does not know is printed behind the number.
const units = new Set(['short', 'bytes', 'binBps', 's', 'percentunit', 'ops', 'iops', 'cps', 'pps', 'reqps', 'dateTimeFromNow']);
// CPU belongs on the first screen of a host and of a process, where its panels say which collector to turn on. Panels of disk_cause show
// what the collector disk counts where disk_cause is off, and one of tcp what network counts where tcp is off.
const shownAnyway = new Set(['cpu', 'disk_cause', 'tcp']);
const transformations = new Set(['merge', 'organize']);
const builtins = { __interval: '30s', __interval_ms: '30000', __rate_interval: '1m', __range: '1h', __range_s: '3600', __range_ms: '3600000' };
const everywhere = ['cluster', 'job', 'instance'];

// Families and their labels: "| `name` | type | labels | …", and the series that a histogram brings.
function catalogue(markdown) {
	const families = new Map();
	for (const [, name, type, labels] of markdown.matchAll(/^\| `(\w+)` \| (\w+)[^|]*\| ([^|]*) \|/gm)) {
		const list = [...everywhere, ...labels.split(',').map(label => label.trim()).filter(label => /^\w+$/.test(label))];
		families.set(name, list);
		if (type === 'histogram') {
			families.set(`${name}_bucket`, [...list, 'le']).set(`${name}_sum`, list).set(`${name}_count`, list);
		}
	}
	// Labels that the configuration adds (`labels:` in config/README.md).
	for (const [name, { name: collector }] of collectorsOf(markdown)) {
		const labels = families.get(name);
		if (['cpu', 'disk', 'file', 'network'].includes(collector) && labels.includes('process')) labels.push('owner', 'terminal_session');
	}
	// What Prometheus records of its alerts; `about` is made of further labels by label_join().
	const alerts = [...everywhere, 'alertname', 'severity', 'about'];
	// Families of windows_exporter that the dashboards join.
	for (const name of ['system_boot_time_timestamp', 'system_boot_time_timestamp_seconds', 'system_system_up_time', 'memory_available_bytes']) families.set(`windows_${name}`, everywhere);
	for (const name of ['free', 'size']) families.set(`windows_logical_disk_${name}_bytes`, [...everywhere, 'volume']);
	families.set('windows_service_state', [...everywhere, 'name', 'state']).set('windows_service_start_mode', [...everywhere, 'name', 'start_mode']);
	return families.set('up', everywhere).set('ALERTS', [...alerts, 'alertstate']).set('ALERTS_FOR_STATE', alerts);
}
// The collector of each family, and whether it is off by default: "## `cpu`, off by default". Families of the exporter have none.
// Of several collectors that count into a family, the one that is on by default.
function collectorsOf(markdown) {
	const collectors = new Map();
	for (const [, name, state, body] of markdown.matchAll(/^## `(\w+)`, (on|off) by default\n([\s\S]*?)(?=^## |$(?![\s\S]))/gm)) {
		for (const [, family] of body.matchAll(/^\| `(\w+)` \|/gm)) {
			if (collectors.get(family)?.off !== false) collectors.set(family, { name, off: state === 'off' });
		}
	}
	return collectors;
}
// Series that recording rules make: name -> labels of its `sum by (…)`.
function recorded(yaml) {
	const rules = new Map();
	for (const [, name, body] of yaml.matchAll(/- record: (\S+)\n([\s\S]*?)(?=\n\s*- |\n\s*$|$)/g)) {
		rules.set(name, body.match(/by \(([^)]*)\)/)[1].split(',').map(label => label.trim()));
	}
	return rules;
}

// What a query names: metrics with the labels asked of them, and the labels that results are grouped by.
function names(expr) {
	const selectors = [], groups = [];
	parser.parse(expr).iterate({
		enter(node) {
			const text = at => expr.slice(at.from, at.to);
			if (node.type.isError) throw new Error(`syntax error at ${node.from}`);
			if (node.name === 'GroupingLabels') {
				node.node.cursor().iterate(at => { if (at.name === 'LabelName') groups.push(text(at)); });
			} else if (node.name === 'VectorSelector') {
				const labels = [];
				node.node.getChild('LabelMatchers')?.cursor().iterate(at => { if (at.name === 'LabelName') labels.push(text(at)); });
				selectors.push({ name: text(node.node.getChild('Identifier')), labels });
			}
		},
	});
	return { selectors, groups };
}

const [, , metricsFile, rulesFile, outFile] = process.argv;
const collectors = collectorsOf(fs.readFileSync(metricsFile, 'utf8'));
const known = new Map([...catalogue(fs.readFileSync(metricsFile, 'utf8')), ...recorded(fs.readFileSync(rulesFile, 'utf8'))]);
const seen = new Set(), rules = [], uids = new Set();
// dashboards/README.md promises these dashboards for a store that gets only what fleet.yml sends, except for two panels.
const sent = new RegExp(`^(${fs.readFileSync(path.join(path.dirname(rulesFile), 'scrape/fleet.yml'), 'utf8').match(/write_relabel_configs:[^]*?regex: '(.*?)'/)[1]})$`);
const needsSent = where => /^etw-(fleet|health)\.json/.test(where) && !/"(Events by kind|Payload by provider)"/.test(where);

function lintQuery(where, expr, variables) {
	const filled = expand(expr, variables, builtins);
	if (leftOver(filled)) report(`${where}: a variable that is not there: ${filled}`);
	for (const [, operator, name] of expr.matchAll(/(=~|!~|!=|=)\s*"\$(\w+)"/g)) {
		if (variables[name]?.variable.multi && operator.length === 2 && operator[1] !== '~') report(`${where}: $${name} takes many values and stands behind ${operator}`);
		if (variables[name]?.variable.multi && operator === '=') report(`${where}: $${name} takes many values and stands behind =`);
	}
	let found;
	try {
		found = names(filled);
	} catch (error) {
		return report(`${where}: ${error.message}: ${filled}`);
	}
	const labels = new Set(found.selectors.flatMap(({ name }) => known.get(name) ?? []));
	for (const { name, labels: asked } of found.selectors) {
		seen.add(name);
		if (needsSent(where) && !sent.test(name)) report(`${where}: fleet.yml does not send ${name}`);
		if (!known.has(name)) report(`${where}: no metric ${name}`);
		else for (const label of asked) if (!known.get(name).includes(label)) report(`${where}: ${name} has no label ${label}`);
	}
	for (const label of found.groups) if (!labels.has(label)) report(`${where}: grouped by ${label}, which none of its metrics has`);
	rules.push({ where, expr: filled });
}

function lintPlaces(file, panels) {
	for (const [i, a] of panels.entries()) {
		const { x, y, w, h } = a.gridPos;
		if (x < 0 || x + w > 24 || h < 1) report(`${file} panel ${a.id}: outside the grid`);
		for (const b of panels.slice(i + 1)) {
			const o = b.gridPos;
			if (x < o.x + o.w && o.x < x + w && y < o.y + o.h && o.y < y + h) report(`${file}: panels ${a.id} and ${b.id} overlap`);
		}
	}
}

// What a panel owes its reader: the reason when it is empty, an axis that fits zero, a colour for each process, links that keep the host.
function lintReading(where, panel, closed) {
	const { defaults, overrides } = panel.fieldConfig;
	const family = panel.targets[0].expr.match(/(?:\w+:)?(etw_\w+)/)?.[1] ?? '';
	const collector = ['', '_total'].map(end => collectors.get(family.replace(/_(bucket|sum|count)$/, '') + end)).find(Boolean);
	const properties = overrides.flatMap(o => o.properties);
	const links = [...(defaults.links ?? []), ...properties.filter(({ id }) => id === 'links').flatMap(({ value }) => value)];

	if (panel.type !== 'stat' && collector && !defaults.noValue?.includes(`"${collector.name}"`)) report(`${where}: does not say when it is empty that ${family} comes from the collector ${collector.name}`);
	if (collector?.off && !closed && !shownAnyway.has(collector.name)) report(`${where}: needs the collector ${collector.name}, which is off by default, and is in an open row`);
	if (panel.type === 'timeseries' && defaults.custom.axisSoftMax === undefined && defaults.max === undefined) report(`${where}: no end of the axis for a line at zero`);
	if (panel.type === 'timeseries' && (panel.targets[0].legendFormat === '{{process}}') !== (defaults.color.mode === 'palette-classic-by-name')) report(`${where}: the colour of a process is by its name`);
	for (const o of overrides) {
		const ids = o.properties.map(({ id, value }) => (id === 'custom.cellOptions' ? value.type : id));
		if (ids.includes('gauge') && !ids.includes('fieldMinMax')) report(`${where}: the bar of "${o.matcher.options}" has the scale of all columns`);
	}
	for (const { url } of links) lintLink(where, url);
}

function lintLink(where, url) {
	for (const name of ['job', 'instance']) if (!url.includes(`\${${name}:queryparam}`) && !url.includes(`var-${name}=`)) report(`${where}: a link without the ${name}: ${url}`);
	if (/\$\{__\w+\.[^}:]*\}/.test(url)) report(`${where}: a link with a name that is not encoded: ${url}`);
}

function lintPanel(where, panel, variables, closed) {
	const refIds = (panel.targets ?? []).map(target => target.refId);
	const { defaults, overrides } = panel.fieldConfig;
	const used = [defaults.unit, panel.options.yAxis?.unit, ...overrides.flatMap(o => o.properties.filter(p => p.id === 'unit').map(p => p.value))];

	if (new Set(refIds).size !== refIds.length) report(`${where}: a refId twice`);
	for (const source of [panel.datasource, ...(panel.targets ?? []).map(target => target.datasource)]) {
		if (source.uid !== '${datasource}') report(`${where}: the data source is not the variable`);
	}
	for (const unit of used) {
		if (unit !== undefined && !units.has(unit) && !unit.startsWith('suffix:')) report(`${where}: unit "${unit}"`);
	}
	for (const { id } of panel.transformations ?? []) if (!transformations.has(id)) report(`${where}: transformation ${id}`);
	if (panel.type !== 'text' && (!panel.title || !panel.description)) report(`${where}: no title or no description`);
	if (panel.type !== 'text') lintReading(where, panel, closed);
	for (const target of panel.targets ?? []) lintQuery(`${where} ${target.refId}`, target.expr, variables);
}

for (const { file, json } of dashboards()) {
	const variables = Object.fromEntries(json.templating.list.map(variable => [variable.name,
		{ variable, value: variable.includeAll ? '$__all' : variable.current.value, options: [] }]));
	const all = panelsOf(json), ids = all.map(panel => panel.id), text = JSON.stringify({ ...json, templating: {} }) + json.templating.list.map(v => v.definition ?? '').join(' ');

	if (new Set(ids).size !== ids.length) report(`${file}: a panel id twice`);
	if (uids.has(json.uid) || !/^[\w-]{1,40}$/.test(json.uid)) report(`${file}: uid "${json.uid}"`);
	uids.add(json.uid);
	if (!list.some(({ uid }) => file === `${uid}.json`)) report(`${file}: dashboards/source/list.mjs does not name it`);
	if (json.id !== null || json.schemaVersion !== 39 || json.__inputs || json.__requires) report(`${file}: id, schemaVersion or inputs`);
	for (const name of Object.keys(variables)) {
		if (!new RegExp(`\\$\\{?${name}\\b`).test(text)) report(`${file}: the variable ${name} is not used`);
	}
	lintPlaces(file, json.panels);
	for (const row of json.panels.filter(panel => panel.collapsed)) lintPlaces(file, row.panels);
	const closed = new Set(json.panels.filter(panel => panel.collapsed).flatMap(row => row.panels));
	for (const panel of all.filter(panel => panel.type !== 'row')) lintPanel(`${file} panel ${panel.id} "${panel.title}"`, panel, variables, closed.has(panel));
	for (const { title, url } of json.links) lintLink(`${file} link "${title}"`, url);
	for (const annotation of json.annotations.list) if (annotation.expr) lintQuery(`${file} annotation "${annotation.name}"`, annotation.expr, variables);
	for (const [, uid] of text.matchAll(/\/d\/([\w-]+)/g)) if (!list.some(other => other.uid === uid)) report(`${file}: a link to ${uid}, which is not there`);
}
for (const name of known.keys()) {
	const family = name.replace(/_(bucket|sum|count)$/, '');
	const shown = [name, family, `${family}_bucket`, `${family}_sum`, `${family}_count`].some(one => seen.has(one));
	if (name.startsWith('etw_') && !shown) report(`${name} is on no panel`);
}
fs.writeFileSync(outFile, `groups:\n  - name: panels\n    rules:\n${rules.map(({ where, expr }, i) => `      # ${where.replace(/\n/g, ' ')}\n      - { record: "panel:${i}", expr: ${JSON.stringify(expr)} }\n`).join('')}`);
console.log(`${dashboards().length} dashboards, ${rules.length} queries`);
