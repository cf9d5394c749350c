// Asks Prometheus what Grafana would ask for a dashboard: variables filled in, the step chosen, the range aligned.
//
// Grafana's rules, from its documentation ("Template variables", "Prometheus query editor"):
//   $__interval       time range / points of the panel, rounded up to a round step; not below the scrape interval
//   $__rate_interval  max($__interval + scrape interval, 4 x scrape interval); as the minimum step of a query it is the step
//   a variable of many values is escaped for a regex and becomes (a|b); "All" becomes its allValue, or without one all its values
//
// Runs in node and in the browser.

// Rows and panels, those in closed rows included.
export const panelsOf = json => json.panels.flatMap(panel => [panel, ...(panel.panels ?? [])]);

const unitMs = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };
const roundSteps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600].map(seconds => seconds * 1e3);

export const toMs = text => [...text.matchAll(/(\d+)(ms|[smhdw])/g)].reduce((sum, [, n, unit]) => sum + n * unitMs[unit], 0);
const toText = ms => (ms % 1e3 ? `${ms}ms` : `${ms / 1e3}s`);
const quoted = value => value.replace(/\\/g, '\\\\').replace(/"/g, '\\"');
const inRegex = value => quoted(value.replace(/[\\^$*+?.()|[\]{}]/g, '\\$&'));

export async function ask(base, path, parameters) {
	const response = await fetch(`${base}/api/v1/${path}?${new URLSearchParams(parameters)}`);
	const reply = await response.json();
	if (reply.status !== 'success') throw new Error(reply.error);
	return reply.data;
}

function valueOf({ variable, value, options }) {
	const all = [].concat(value)[0] === '$__all';
	if (all && variable.allValue) return variable.allValue;
	const values = all ? options : [].concat(value);
	if (!variable.multi && !variable.includeAll) return quoted(values[0] ?? '');
	return values.length === 1 ? inRegex(values[0]) : `(${values.map(inRegex).join('|')})`;
}

// Leaves alone what it does not know, so that a caller can find it.
export const expand = (text, variables, builtins) => text.replace(/\$\{(\w+)(?::\w+)?\}|\$(\w+)/g, (whole, braced, bare) => {
	const name = braced ?? bare;
	return builtins[name] ?? (variables[name] ? valueOf(variables[name]) : whole);
});
export const leftOver = expr => /\$[A-Za-z_{]|\[\[/.test(expr);

// Where one value must be chosen: the one with most series, because most panels show something of it. (Grafana takes the first.)
async function richest(base, selector, label, to) {
	const { result } = await ask(base, 'query', { query: `topk(1, count by (${label}) (${selector}))`, time: to / 1e3 });
	return result[0]?.metric[label];
}

async function fillIn(base, dashboard, { from, to }, chosen) {
	const variables = {};
	for (const variable of dashboard.templating.list) {
		if (variable.type === 'datasource') {
			variables[variable.name] = { variable, value: 'prometheus', options: [] };
		} else if (variable.type === 'custom' || variable.type === 'textbox') {
			const options = variable.options.map(option => option.value);
			variables[variable.name] = { variable, options, value: chosen[variable.name] ?? variable.current.value };
		} else {
			const query = expand(variable.query.query, variables, {});
			const [, selector, label] = query.match(/^label_values\((?:(.+),)?\s*(\w+)\s*\)$/s);
			const options = await ask(base, `label/${label}/values`, { start: from / 1e3, end: to / 1e3, ...(selector && { 'match[]': selector.trim() }) });
			const unchosen = async () => (variable.includeAll ? '$__all' : await richest(base, selector, label, to) ?? options[0]);
			variables[variable.name] = { variable, options, value: chosen[variable.name] ?? await unchosen() };
		}
	}
	return variables;
}

function intervals({ from, to }, scrapeMs, points, minStep) {
	const interval = Math.max(roundSteps.find(ms => ms >= (to - from) / points) ?? 36e5, scrapeMs);
	const rateInterval = Math.max(interval + scrapeMs, 4 * scrapeMs), step = minStep === '$__rate_interval' ? rateInterval : interval;
	const range = Math.round((to - from) / 1e3);
	return {
		step,
		builtins: {
			__interval: toText(step), __interval_ms: `${step}`, __rate_interval: toText(rateInterval),
			__range: `${range}s`, __range_s: `${range}`, __range_ms: `${range * 1e3}`,
		},
	};
}

const titleOf = (format, labels) => format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, name) => labels[name] ?? '');

// The marks of a dashboard's annotations: [{ name, title, color, time }]. A series has one for each time at which it rises above nothing.
export async function annotationsOf(base, dashboard, { from, to, step, chosen = {} }) {
	const variables = await fillIn(base, dashboard, { from, to }, chosen), marks = [];

	for (const { name, iconColor: color, titleFormat, expr } of dashboard.annotations.list.filter(annotation => annotation.expr)) {
		const query = expand(expr, variables, { __interval: toText(step), __interval_ms: `${step}` });
		const { result } = await ask(base, 'query_range', { query, step: step / 1e3, start: Math.floor(from / step) * step / 1e3, end: to / 1e3 });
		for (const { metric, values } of result) {
			const times = values.map(([time]) => time * 1e3);
			marks.push(...times.filter((time, i) => time - step !== times[i - 1]).map(time => ({ name, title: titleOf(titleFormat, metric), color, time })));
		}
	}
	return marks;
}

// Runs every query of a dashboard. Times in ms since 1970; width: of the page, in pixels. What comes back:
//   results   panel id -> [{ target, step, series }]
//   marks     of the annotations, see annotationsOf()
//   fields    [{ name, label, options, shown }] of the variables, for the line above the panels
//   problems  [{ panel, what, expr }]: errors, variables left over, and queries without data
export async function runDashboard(base, dashboard, { from, to, scrapeMs = 15000, width = 1600, chosen = {} }) {
	const variables = await fillIn(base, dashboard, { from, to }, chosen);
	const results = {}, problems = [];
	const run = async (panel, target) => {
		const points = panel.maxDataPoints ?? Math.round(width * panel.gridPos.w / 24);
		const { step, builtins } = intervals({ from, to }, scrapeMs, points, target.interval);
		const expr = expand(target.expr, variables, builtins);
		const problem = what => problems.push({ panel, what, expr });
		if (leftOver(expr)) problem('a variable is left over');
		try {
			const { result } = target.instant
				? await ask(base, 'query', { query: expr, time: to / 1e3 })
				: await ask(base, 'query_range', { query: expr, step: step / 1e3, start: Math.floor(from / step) * step / 1e3, end: Math.floor(to / step) * step / 1e3 });
			if (!result.length) problem('no data');
			(results[panel.id] ??= []).push({ target, step, series: result });
		} catch (error) {
			problem(error.message);
		}
	};
	for (const panel of panelsOf(dashboard)) {
		for (const target of panel.targets ?? []) await run(panel, target);
	}
	const fields = Object.entries(variables).filter(([, { variable }]) => variable.type !== 'datasource' && variable.hide !== 2).map(([name, { variable, value, options }]) => {
		const values = [].concat(value);
		return { name, label: variable.label, options, all: variable.includeAll, shown: values[0] === '$__all' ? 'All' : values.join(' + ') };
	});
	const marks = await annotationsOf(base, dashboard, { from, to, step: 4 * scrapeMs, chosen });
	return { from, to, results, marks, fields, problems };
}
