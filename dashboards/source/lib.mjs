// What the dashboards are made of: panels with every option that Grafana versions disagree about written out, and a layout.
//
// A dashboard here is a list of rows; a row is a list of panels with widths that add up to 24. build.mjs turns them into JSON.

const datasource = { type: 'prometheus', uid: '${datasource}' };

// ---- queries ----

// The selector every query carries; `more` are further matchers, `process=~"$process"` and the like.
export const at = (...more) => `{${['job=~"$job"', 'instance=~"$instance"', ...more].join(', ')}}`;
export const byProcess = 'process=~"$process"';

export const rate = (metric, by, ...matchers) => `sum by (${by}) (rate(${metric}${at(...matchers)}[$__rate_interval]))`;

// Growth over the whole range, what new series began with included (increase() misses it; see prometheus/rules.yml).
export const grown = (metric, by, ...matchers) => {
	const series = `${metric}${at(...matchers)}`;
	return `sum by (${by}) (((${series} unless ${series} offset $__range) and on (job, instance) (up offset $__range == 1)) or increase(${series}[$__range]))`;
};

// The top N over the whole range, so that a series neither comes nor goes within a panel.
const top = (metric, by, ...matchers) => `topk($topn, sum by (${by}) (increase(${metric}${at(...matchers)}[$__range] @ end())))`;
export const topRates = (metric, by, legend, ...matchers) => [
	query(`${rate(metric, by, ...matchers)} and on (${by}) ${top(metric, by, ...matchers)}`, legend),
];
// The same with all others in one series: the stack is as high as the whole.
export const topRatesAndRest = (metric, by, legend, ...matchers) => [
	...topRates(metric, by, legend, ...matchers),
	query(`sum(${rate(metric, by, ...matchers)} unless on (${by}) ${top(metric, by, ...matchers)})`, 'all others'),
];

export const quantile = (q, metric, by, ...matchers) => {
	const labels = ['le', by].filter(Boolean).join(', ');
	return `histogram_quantile(${q}, sum by (${labels}) (rate(${metric}_bucket${at(...matchers)}[$__rate_interval])))`;
};
export const quantiles = (metric, by, legend, ...matchers) =>
	[0.5, 0.99].map(q => query(quantile(q, metric, by, ...matchers), `p${q * 100} ${legend}`.trim()));

export const query = (expr, legendFormat = '') => ({ datasource, editorMode: 'code', expr, legendFormat, range: true });
export const instant = (expr, legendFormat = '') => ({ datasource, editorMode: 'code', expr, legendFormat, instant: true, range: false });
const column = expr => ({ ...instant(expr), format: 'table' });

// ---- panels ----

const thresholds = (...steps) => ({ mode: 'absolute', steps: [{ color: 'green', value: null }, ...steps.map(([value, color]) => ({ color, value }))] });
const plain = { mode: 'absolute', steps: [{ color: 'green', value: null }] };
const override = (column, properties) => ({ matcher: { id: 'byName', options: column }, properties });

const panel = (type, title, description, targets, fieldConfig, options, more) => ({
	type, title, description, datasource,
	targets: targets.map((target, i) => ({ refId: String.fromCharCode(65 + i), ...target })),
	fieldConfig, options, ...more,
});

// A legend of more than names needs half the width, or it is cut off on a narrow screen.
export function timeseries(title, description, unit, targets, { stack = false, max, fill, width = 12, height = 9, legend = width < 12 ? 'list' : 'table' } = {}) {
	const custom = {
		axisBorderShow: false, axisCenteredZero: false, axisColorMode: 'text', axisLabel: '', axisPlacement: 'auto', barAlignment: 0,
		drawStyle: 'line', fillOpacity: fill ?? (stack ? 40 : 8), gradientMode: 'none', hideFrom: { legend: false, tooltip: false, viz: false },
		lineInterpolation: 'linear', lineWidth: 1, pointSize: 4, scaleDistribution: { type: 'linear' }, showPoints: 'never', spanNulls: false,
		stacking: { group: 'A', mode: stack ? 'normal' : 'none' }, thresholdsStyle: { mode: 'off' },
	};
	const defaults = { color: { mode: 'palette-classic' }, custom, mappings: [], min: 0, thresholds: plain, unit };
	if (max !== undefined) defaults.max = max;
	return panel('timeseries', title, description, targets, { defaults, overrides: [] }, {
		legend: { calcs: legend === 'table' ? ['mean', 'max'] : [], displayMode: legend, placement: 'bottom', showLegend: true, ...(legend === 'table' && { sortBy: 'Mean', sortDesc: true }) },
		tooltip: { mode: 'multi', sort: 'desc' },
	}, { width, height });
}

export function stat(title, description, unit, target, { steps = [], width = 4, height = 4, mode = 'value', noValue } = {}) {
	const defaults = { color: { mode: 'thresholds' }, mappings: [], thresholds: thresholds(...steps), unit };
	if (noValue !== undefined) defaults.noValue = noValue;
	return panel('stat', title, description, [target], { defaults, overrides: [] }, {
		colorMode: mode, graphMode: 'none', justifyMode: 'auto', orientation: 'auto',
		reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, textMode: 'auto', wideLayout: true,
	}, { width, height });
}

export function bars(title, description, unit, targets, { width = 12, height = 9 } = {}) {
	return panel('bargauge', title, description, targets, {
		defaults: { color: { mode: 'palette-classic' }, mappings: [], min: 0, thresholds: plain, unit }, overrides: [],
	}, {
		displayMode: 'gradient', maxVizHeight: 300, minVizHeight: 16, minVizWidth: 8, namePlacement: 'auto', orientation: 'horizontal',
		reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, showUnfilled: true, sizing: 'auto', valueMode: 'color',
	}, { width, height });
}

export function heatmap(title, description, metric, { matchers = [], width = 12, height = 9, scheme = 'Oranges' } = {}) {
	const expr = `sum by (le) (increase(${metric}_bucket${at(...matchers)}[$__rate_interval]))`;
	return panel('heatmap', title, description, [{ ...query(expr, '{{le}}'), format: 'heatmap' }], {
		defaults: { custom: { hideFrom: { legend: false, tooltip: false, viz: false }, scaleDistribution: { type: 'linear' } } }, overrides: [],
	}, {
		calculate: false, cellGap: 1,
		color: { exponent: 0.5, fill: 'dark-orange', mode: 'scheme', reverse: false, scale: 'exponential', scheme, steps: 64 },
		exemplars: { color: 'rgba(255,0,255,0.7)' }, filterValues: { le: 1e-9 }, legend: { show: true }, rowsFrame: { layout: 'auto' },
		tooltip: { mode: 'single', showColorScale: false, yHistogram: false },
		yAxis: { axisPlacement: 'left', reverse: false, unit: 's' },
	}, { width, height });
}

// columns: [[header, expression, unit, { bar, width, steps }]]; keys: the labels that name a line, { label: header };
// widths: of those, in pixels, where values are long.
export function table(title, description, keys, columns, { width = 24, height = 10, sortBy, links = {}, widths = {} } = {}) {
	const one = columns.length === 1;
	const value = i => (one ? 'Value' : `Value #${String.fromCharCode(65 + i)}`);
	const renameByName = { ...keys }, indexByName = {};
	const overrides = [];

	Object.keys(keys).forEach((label, i) => {
		indexByName[label] = i;
		const properties = [...(links[label] ? [{ id: 'links', value: links[label] }] : []), ...(widths[label] ? [{ id: 'custom.width', value: widths[label] }] : [])];
		if (properties.length) overrides.push(override(keys[label], properties));
	});
	columns.forEach(([header, , unit, more = {}], i) => {
		indexByName[value(i)] = Object.keys(keys).length + i;
		renameByName[value(i)] = header;
		overrides.push(override(header, [
			{ id: 'unit', value: unit },
			{ id: 'custom.width', value: more.width ?? 95 },
			...(more.bar ? [{ id: 'custom.cellOptions', value: { mode: 'basic', type: 'gauge', valueDisplayMode: 'text' } }, { id: 'min', value: 0 },
				{ id: 'color', value: { mode: 'continuous-BlPu' } }] : []),
			...(more.steps ? [{ id: 'custom.cellOptions', value: { type: 'color-text' } }, { id: 'thresholds', value: thresholds(...more.steps) }] : []),
		]));
	});
	return panel('table', title, description, columns.map(([, expr]) => column(expr)), {
		defaults: { color: { mode: 'thresholds' }, custom: { align: 'auto', cellOptions: { type: 'auto' }, inspect: false }, mappings: [], thresholds: plain },
		overrides,
	}, {
		cellHeight: 'sm', showHeader: true,
		sortBy: [{ desc: true, displayName: sortBy ?? columns[0][0] }],
	}, {
		width, height,
		transformations: [
			...(one ? [] : [{ id: 'merge', options: {} }]),
			{ id: 'organize', options: { excludeByName: { Time: true }, includeByName: {}, indexByName, renameByName } },
		],
	});
}

export const text = (content, { width = 24, height = 3 } = {}) => ({
	type: 'text', title: '', description: '', datasource, fieldConfig: { defaults: {}, overrides: [] },
	options: { code: { language: 'plaintext', showLineNumbers: false, showMiniMap: false }, content, mode: 'markdown' }, width, height,
});

// ---- rows ----

export const row = (title, ...panels) => ({ title, panels });
// A closed row, with a line above its panels that says when they are empty.
export const closed = (title, note, ...panels) => ({ title, collapsed: true, panels: [text(note), ...panels] });
// Families that are off by default.
export const optIn = (title, collectors, note, ...panels) => {
	const flags = collectors.map(name => `\`--collector.${name}\``).join(' or ');
	const yaml = collectors.map(name => `${name}: on`).join(', ');
	return closed(`${title} (off by default)`, `Empty? Turn on ${flags}, or \`collectors: { ${yaml} }\` in etw_exporter.yaml. ${note}`, ...panels);
};

// ---- variables ----

const choice = (name, label, definition, more) => ({
	allValue: '.*', current: { selected: true, text: ['All'], value: ['$__all'] }, datasource, definition, hide: 0, includeAll: true, label,
	multi: true, name, options: [], query: { qryType: 1, query: definition, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
	refresh: 2, regex: '', skipUrlSync: false, sort: 7, type: 'query', ...more,
});
export const variables = {
	datasource: {
		current: { selected: false, text: 'default', value: 'default' }, hide: 0, includeAll: false, label: 'Data source', multi: false,
		name: 'datasource', options: [], query: 'prometheus', refresh: 1, regex: '', skipUrlSync: false, type: 'datasource',
	},
	job: choice('job', 'Job', 'label_values(etw_exporter_build_info, job)'),
	instance: choice('instance', 'Host', 'label_values(etw_exporter_build_info{job=~"$job"}, instance)'),
	process: choice('process', 'Process', 'label_values(etw_events_total{job=~"$job", instance=~"$instance"}, process)'),
	volume: choice('volume', 'Volume', 'label_values(etw_file_written_bytes_total{job=~"$job", instance=~"$instance"}, volume)'),
	disk: choice('disk', 'Disk', 'label_values(etw_disk_operations_total{job=~"$job", instance=~"$instance"}, disk)'),
	topn: {
		current: { selected: true, text: '10', value: '10' }, hide: 0, includeAll: false, label: 'Top', multi: false, name: 'topn',
		options: ['5', '10', '20', '50'].map(n => ({ selected: n === '10', text: n, value: n })), query: '5,10,20,50',
		queryValue: '', skipUrlSync: false, type: 'custom',
	},
};

// ---- a dashboard ----

const annotation = (name, iconColor, expr, titleFormat) => ({ datasource, enable: true, expr, hide: false, iconColor, name, step: '60s', titleFormat, useValueForTime: false });
const annotations = [
	{ builtIn: 1, datasource: { type: 'grafana', uid: '-- Grafana --' }, enable: true, hide: true, iconColor: 'rgba(0, 211, 255, 1)', name: 'Annotations & Alerts', type: 'dashboard' },
	annotation('Session restarts', 'orange', `sum by (instance, session, reason) (increase(etw_session_restarts_total${at()}[$__interval])) > 0`, '{{session}} on {{instance}} started again: {{reason}}'),
	annotation('Lost events', 'red', `sum by (instance, session) (increase(etw_session_events_lost_total${at()}[$__interval])) > 0`, '{{session}} on {{instance}} lost events'),
];

// Keeps hosts and time when going from one dashboard to the next.
export const carry = 'var-datasource=${datasource}&${job:queryparam}&${__url_time_range}';
export const linkTo = (title, uid, variable, label) => [{ targetBlank: false, title, url: `/d/${uid}?${carry}&var-${variable}=\${__data.fields.${label}}` }];

const place = rows => {
	const panels = [];
	let id = 0, y = 0;
	const lay = (list, into) => {
		let x = 0, tallest = 0;
		for (const { width, height, ...rest } of list) {
			if (x + width > 24) { x = 0; y += tallest; tallest = 0; }
			into.push({ id: ++id, ...rest, gridPos: { h: height, w: width, x, y } });
			x += width;
			tallest = Math.max(tallest, height);
		}
		y += tallest;
	};
	for (const { title, collapsed = false, panels: list } of rows) {
		const head = { id: ++id, type: 'row', title, collapsed, gridPos: { h: 1, w: 24, x: 0, y: y++ }, panels: [] };
		panels.push(head);
		const start = y;
		lay(list, collapsed ? head.panels : panels);
		if (collapsed) y = start; // what is closed takes no room
	}
	return panels;
};

export const dashboard = ({ uid, title, description, use, rows }) => ({
	annotations: { list: annotations }, description, editable: true, fiscalYearStartMonth: 0, graphTooltip: 1, id: null,
	links: [{ asDropdown: true, icon: 'external link', includeVars: true, keepTime: true, tags: ['etw_exporter'], targetBlank: false, title: 'ETW dashboards', tooltip: '', type: 'dashboards', url: '' }],
	panels: place(rows), refresh: '30s', schemaVersion: 39, tags: ['etw_exporter'],
	templating: { list: ['datasource', 'job', 'instance', ...use].map(name => variables[name]) },
	time: { from: 'now-1h', to: 'now' }, timepicker: {}, timezone: 'browser', title, uid, version: 1, weekStart: '',
});
