// What the dashboards are made of: panels with every option that Grafana versions disagree about written out, and a layout.
//
// A dashboard here is a list of rows; a row is a list of panels with widths that add up to 24. build.mjs turns them into JSON.
import { emptyText } from './empty.mjs';
import { list } from './list.mjs';

const datasource = { type: 'prometheus', uid: '${datasource}' };

// ---- queries ----

// The selector every query carries; `more` are further matchers, `process=~"$process"` and the like.
export const at = (...more) => `{${['cluster=~"$cluster"', 'job=~"$job"', 'instance=~"$instance"', ...more].join(', ')}}`;
export const byProcess = 'process=~"$process"';
export const ofProcess = 'process="$process"'; // on the page of one process
// Pipes and mail slots are written with the same requests, but to no file.
export const ofFiles = 'volume!~"pipe|mailslot"';

// rate() or increase() over a range. Prometheus stores a histogram as classic series (_bucket, _sum, _count), as a native one (the family
// itself), or as both: a query takes what is there.
const over = (call, metric, range, ...matchers) => {
	const of = name => `${call}(${name}${at(...matchers)}${range})`;
	const [, family, part] = metric.match(/^(\w+)_(sum|count)$/) ?? [];

	return part ? `(${of(metric)} or histogram_${part}(${of(family)}))` : of(metric);
};
export const rate = (metric, by, ...matchers) => `sum by (${by}) (${over('rate', metric, '[$__rate_interval]', ...matchers)})`;

// Growth over the whole range, including the first values of new series, which increase() misses: a counter begins at 0, so its first value
// grew in the range if the exporter was scraped before the range, or has started within it.
export const grown = (metric, by, ...matchers) => grownOf(`${metric}${at(...matchers)}`, by);
export const grownOf = (series, by) =>
	`sum by (${by}) (((${series} unless ${series} offset $__range) and on (cluster, job, instance) (up offset $__range == 1 or process_start_time_seconds > time() - $__range_s)) or increase(${series}[$__range]))`;
// Growth since a short time ago, as a whole number. increase() would miss one of a few events: that between the last scrape before its
// window and the first one within.
export const grownSince = (ago, metric, by, ...matchers) => {
	const series = `${metric}${at(...matchers)}`, before = `${series} offset ${ago}`;
	return `sum by (${by}) (((${series} unless ${before}) and on (cluster, job, instance) (up offset ${ago} == 1)) or clamp_min(${series} - ${before}, 0))`;
};

// The top N over the whole range, so that a series neither comes nor goes within a panel; without those that stood at one value.
const inRange = (metric, ...matchers) => over('increase', metric, '[$__range] @ end()', ...matchers);
export const top = (metric, by, ...matchers) => `topk($topn, sum by (${by}) (${inRange(metric, ...matchers)}) > 0)`;
export const topRates = (metric, by, legend, ...matchers) => [
	query(`${rate(metric, by, ...matchers)} and on (${by}) ${top(metric, by, ...matchers)}`, legend),
];
// The same with all others in one series: the stack is as high as the whole.
export const topRatesAndRest = (metric, by, legend, ...matchers) => [
	...topRates(metric, by, legend, ...matchers),
	query(`sum(${rate(metric, by, ...matchers)} unless on (${by}) ${top(metric, by, ...matchers)})`, rest),
];

// Two families with the same labels added up, also where only one of them has a series. The second gets a label more: the series of both
// would otherwise be the same for `or`.
export const both = (one, other) => `(${one} or label_replace(${other}, "direction", "other", "", ""))`;
export const rateOfBoth = ([one, other], by, ...matchers) =>
	`sum by (${by}) ${both(over('rate', one, '[$__rate_interval]', ...matchers), over('rate', other, '[$__rate_interval]', ...matchers))}`;
export const topRatesOfBoth = ([one, other], by, legend, ...matchers) => {
	const all = rateOfBoth([one, other], by, ...matchers), chosen = `topk($topn, sum by (${by}) ${both(inRange(one, ...matchers), inRange(other, ...matchers))} > 0)`;

	return [query(`${all} and on (${by}) ${chosen}`, legend), query(`sum(${all} unless on (${by}) ${chosen})`, rest)];
};

// Whole numbers: increase() extrapolates, and so makes 8.11 of 8 starts.
export const grownCount = (metric, by, ...matchers) => `round(${grown(metric, by, ...matchers)})`;
// Events in each interval, of the top N in that interval, for bars: rare events are easier to count than to read as a rate.
export const counted = (metric, by, legend, ...matchers) =>
	query(`topk($topn, ${grownSince('$__rate_interval', metric, by, ...matchers)} > 0)`, legend);

// The top N of a gauge, chosen over the whole range as well.
export const topGauges = (metric, by, legend, ...matchers) => [
	query(`sum by (${by}) (${metric}${at(...matchers)}) and on (${by}) topk($topn, sum by (${by}) (max_over_time(${metric}${at(...matchers)}[$__range] @ end())))`, legend),
];

// An interval without observations is a gap, not NaN.
export const quantile = (q, metric, by, ...matchers) => {
	const of = (series, labels) => `histogram_quantile(${q}, sum by (${labels}) (rate(${series}${at(...matchers)}[$__rate_interval])))`;

	return `(${of(metric, by)} or ${of(`${metric}_bucket`, ['le', by].filter(Boolean).join(', '))}) >= 0`;
};
export const quantiles = (metric, by, legend, ...matchers) =>
	[0.5, 0.99].map(q => query(quantile(q, metric, by, ...matchers), `p${q * 100} ${legend}`.trim()));

export const query = (expr, legendFormat = '') => ({ datasource, editorMode: 'code', expr, legendFormat, range: true });
export const instant = (expr, legendFormat = '') => ({ datasource, editorMode: 'code', expr, legendFormat, instant: true, range: false });
const column = expr => ({ ...instant(expr), format: 'table' });
// A flat line at zero with a name, for a family that has no series as long as nothing is wrong.
export const orNone = (expr, label) => `${expr} or on () label_replace(vector(0), "${label}", "none", "", "")`;

// ---- panels ----

// Without steps a plain figure. With them it is plain as long as all is well, and coloured when it is not.
const thresholds = (base, ...steps) => ({ mode: 'absolute', steps: [{ color: base, value: null }, ...steps.map(([value, color]) => ({ color, value }))] });
const override = (column, properties) => ({ matcher: { id: 'byName', options: column }, properties });

const panel = (type, title, description, targets, fieldConfig, options, more) => {
	const { noValue = emptyText(targets[0].expr), ...defaults } = fieldConfig.defaults;

	return {
		type, title, description, datasource,
		targets: targets.map((target, i) => ({ refId: String.fromCharCode(65 + i), ...target })),
		fieldConfig: { ...fieldConfig, defaults: { ...defaults, ...(noValue && { noValue }) } }, options, ...more,
	};
};

// The end of an axis that shows nothing but zero; without it Grafana's goes to 100, which looks like trouble.
const softMaxOf = unit => ({ s: 1e-6, percentunit: 0.01, bytes: 1024, binBps: 1024 })[unit] ?? 1;
// Series named by a process have that process's colour, the same in each panel, and lead to its page.
const rest = 'all others';
const nameOfProcess = '{{process}}';
// Grafana's colours by name are often alike. The processes that most hosts have or that are busiest there have fixed colours here.
const processColours = {
	System: 'green', WmiPrvSE: '#e377c2', Robocopy: '#bcbd22', WerFault: '#7f8fa6', svchost: 'purple', lsass: 'light-purple', MsMpEng: 'orange', sqlservr: 'red', w3wp: 'blue', powershell: '#20b2aa', explorer: 'yellow',
	conhost: '#8c6d31', csrss: '#f48fb1', services: '#d4a373', smss: '#9e9e9e', wininit: '#b5651d', winlogon: '#c0ca33', dwm: '#26c6da', spoolsv: '#ab47bc', SearchIndexer: '#ff8a65', taskhostw: '#66bb6a', cmd: '#78909c', chrome: '#fbc02d', msedge: '#0097a7', Idle: '#bdbdbd',
	_unknown: '#6d6d6d', _other: '#555555',
};

// Options: stack; max and softMax of the axis; fill in percent; width, height; bars: `counted()` queries, one bar for each interval;
// colours: of series by name; step: a line of steps, for values that are bounds of buckets.
export function timeseries(title, description, unit, targets, { stack = false, max, softMax = max === undefined ? softMaxOf(unit) : undefined, colours = {}, fill, decimals, bars = false, step = false, width = 12, height = 9, noValue } = {}) {
	const ofProcesses = targets[0].legendFormat === nameOfProcess;
	// Many lines: the greatest stand first in the legend, and areas that cover each other are not filled.
	const many = targets.some(({ legendFormat }) => legendFormat.includes('{{')), long = targets.some(({ legendFormat }) => /\}\}.*\{\{/.test(legendFormat));
	const legend = width > (long ? 8 : 6) && (many || width === 24) ? 'table' : 'list';
	const calcs = legend === 'list' ? [] : bars ? ['sum'] : width < 12 ? ['mean'] : ['mean', 'max'];
	const custom = {
		axisBorderShow: false, axisCenteredZero: false, axisColorMode: 'text', axisLabel: '', axisPlacement: 'auto', ...(softMax !== undefined && { axisSoftMax: softMax }), barAlignment: 0,
		drawStyle: bars ? 'bars' : 'line', fillOpacity: fill ?? (stack || bars ? 40 : many ? 0 : 8), gradientMode: 'none', hideFrom: { legend: false, tooltip: false, viz: false },
		lineInterpolation: step ? 'stepAfter' : 'linear', lineWidth: 1, pointSize: 4, scaleDistribution: { type: 'linear' }, showPoints: 'never', spanNulls: false,
		stacking: { group: 'A', mode: stack || bars ? 'normal' : 'none' }, thresholdsStyle: { mode: 'off' },
	};
	const defaults = { color: { mode: ofProcesses ? 'palette-classic-by-name' : 'palette-classic' }, custom, mappings: [], min: 0, thresholds: thresholds('green'), unit };
	if (max !== undefined) defaults.max = max;
	if (decimals !== undefined || bars) defaults.decimals = decimals ?? 0;
	if (noValue !== undefined) defaults.noValue = noValue;
	if (ofProcesses) defaults.links = processPage('${__field.labels.process}', '__field.labels.process');
	const fixed = fixedColor => ({ id: 'color', value: { mode: 'fixed', fixedColor } });
	const overrides = [
		...Object.entries(ofProcesses ? processColours : colours).map(([name, colour]) => override(name, [fixed(colour)])),
		...(targets.some(({ legendFormat }) => legendFormat === rest) ? [override(rest, [fixed('#808080'), { id: 'links', value: [] }])] : []),
	];
	return panel('timeseries', title, description, bars ? targets.map(perInterval) : targets, { defaults, overrides }, {
		legend: { calcs, displayMode: legend, placement: width === 24 ? 'right' : 'bottom', showLegend: true, ...(legend === 'table' && { sortBy: bars ? 'Total' : 'Mean', sortDesc: true }) },
		tooltip: { mode: 'multi', sort: 'desc' },
	}, { width, height, ...(bars && { maxDataPoints: 60 }) });
}
// With this minimum step the windows of $__rate_interval follow each other without overlap, so the bars add up to the total.
const perInterval = target => ({ ...target, interval: '$__rate_interval' });

// named: the name of the process stands above its figure, and leads to its page.
export function stat(title, description, unit, target, { steps = [], width = 4, height = 4, decimals, named = false, noValue = '–' } = {}) {
	const defaults = { color: { mode: 'thresholds' }, mappings: [], noValue, thresholds: thresholds(steps.length ? 'transparent' : 'text', ...steps), unit };
	if (decimals !== undefined) defaults.decimals = decimals;
	if (named) defaults.links = processPage('${__field.labels.process}', '__field.labels.process');
	return panel('stat', title, description, [target], { defaults, overrides: [] }, {
		colorMode: steps.length ? 'background_solid' : 'value', graphMode: 'none', justifyMode: 'auto', orientation: 'auto',
		reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, textMode: named ? 'value_and_name' : 'auto', wideLayout: true, ...(named && { text: { titleSize: 16, valueSize: 20 } }),
	}, { width, height });
}

export function bars(title, description, unit, targets, { width = 12, height = 9 } = {}) {
	return panel('bargauge', title, description, targets, {
		defaults: { color: { mode: 'palette-classic' }, mappings: [], min: 0, thresholds: thresholds('green'), unit }, overrides: [],
	}, {
		displayMode: 'gradient', maxVizHeight: 36, minVizHeight: 16, minVizWidth: 8, namePlacement: 'auto', orientation: 'horizontal',
		reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false }, showUnfilled: false, sizing: 'manual', valueMode: 'color',
	}, { width, height });
}

// Each observation is in one cell. The second half keeps intervals without observations out, so that a panel of them says why it is empty.
// Of a native histogram Grafana gets the histogram itself.
export function heatmap(title, description, metric, { matchers = [], width = 12, height = 9, noValue } = {}) {
	const grew = (series, by) => grownSince('$__rate_interval', `${metric}_${series}`, by, ...matchers);
	const native = `sum(increase(${metric}${at(...matchers)}[$__rate_interval]))`;
	const expr = `${grew('bucket', 'le')} and on () ${grew('count', '')} > 0 or on () (${native} and on () histogram_count(${native}) > 0)`;
	return panel('heatmap', title, description, [perInterval({ ...query(expr, '{{le}}'), format: 'heatmap' })], {
		defaults: { custom: { hideFrom: { legend: false, tooltip: false, viz: false }, scaleDistribution: { type: 'linear' } }, noValue }, overrides: [],
	}, {
		calculate: false, cellGap: 1,
		color: { exponent: 0.5, fill: 'dark-orange', mode: 'scheme', reverse: false, scale: 'exponential', scheme: 'Oranges', steps: 64 },
		exemplars: { color: 'rgba(255,0,255,0.7)' }, filterValues: { le: 1e-9 }, legend: { show: true }, rowsFrame: { layout: 'auto' },
		tooltip: { mode: 'single', showColorScale: false, yHistogram: false },
		yAxis: { axisPlacement: 'left', reverse: false, unit: 's' },
	}, { width, height });
}

// columns: [[header, expression, unit, { bar, width, steps, decimals }]]; a bar needs a number in each line, which it gets from the other
// columns, unless it is `filled`; keys: the labels that name a line, { label: header };
// widths: of those, in pixels, where values are long. Without columns the lines of `info`, a family whose value is always 1.
export function table(title, description, keys, columns, { info, width = 24, height = 10, sortBy, links = {}, widths = {}, noValue } = {}) {
	const exprs = info ? [info] : columns.map(([, expr, , more = {}], i) => (more.bar && !more.filled ? [expr, ...columns.filter((_, j) => j !== i).map(([, other]) => `0 * ${other}`)].join(' or ') : expr));
	const value = i => (exprs.length === 1 ? 'Value' : `Value #${String.fromCharCode(65 + i)}`);
	const renameByName = { ...keys }, indexByName = {}, overrides = [];

	Object.keys(keys).forEach((label, i) => {
		indexByName[label] = i;
		const linked = links[label] ?? (label === 'process' ? processPage('${__data.fields.process}', '__data.fields.process') : undefined);
		const properties = [...(linked ? [{ id: 'links', value: linked }] : []), ...(widths[label] ? [{ id: 'custom.width', value: widths[label] }] : [])];
		if (properties.length) overrides.push(override(keys[label], properties));
	});
	columns.forEach(([header, , unit, more = {}], i) => {
		indexByName[value(i)] = Object.keys(keys).length + i;
		renameByName[value(i)] = header;
		overrides.push(override(header, [
			{ id: 'unit', value: unit },
			{ id: 'custom.width', value: more.width ?? 95 },
			{ id: 'noValue', value: '–' },
			...(more.decimals !== undefined ? [{ id: 'decimals', value: more.decimals }] : []),
			// The bar's scale is that of its column; without fieldMinMax it would be that of all columns.
			...(more.bar ? [{ id: 'custom.cellOptions', value: { mode: 'basic', type: 'gauge', valueDisplayMode: 'text' } }, { id: 'min', value: 0 },
				{ id: 'fieldMinMax', value: true }, { id: 'color', value: { mode: 'continuous-BlPu' } },
				{ id: 'mappings', value: [{ type: 'value', options: { 0: { text: '–', index: 0 } } }] }] : []),
			...(more.steps ? [{ id: 'custom.cellOptions', value: { type: 'color-text' } }, { id: 'thresholds', value: thresholds('text', ...more.steps) }] : []),
		]));
	});
	const defaults = { color: { mode: 'thresholds' }, custom: { align: 'auto', cellOptions: { type: 'auto' }, inspect: false }, mappings: [], thresholds: thresholds('text') };
	if (noValue !== undefined) defaults.noValue = noValue;
	return panel('table', title, description, exprs.map(column), { defaults, overrides }, {
		cellHeight: 'sm', showHeader: true,
		sortBy: [{ desc: !info, displayName: sortBy ?? (info ? Object.values(keys)[0] : columns[0][0]) }],
	}, {
		width, height,
		transformations: [
			...(exprs.length > 1 ? [{ id: 'merge', options: {} }] : []),
			{ id: 'organize', options: { excludeByName: { Time: true, ...(info && { Value: true }) }, includeByName: {}, indexByName, renameByName } },
		],
	});
}

// Alerts of prometheus/alerts.yml as Prometheus itself records them, so that they show wherever they are evaluated.
export const alertList = ({ width = 24, height = 6 } = {}) => {
	const labels = ['alertname', 'alertstate', 'severity', 'instance', 'about'];
	const active = `ALERTS${at()} * ignoring (alertstate) group_left () ALERTS_FOR_STATE${at()}`;
	const about = `label_join(${active}, "about", " ", "session", "process", "driver", "metric", "disk", "operation")`;

	return table('Alerts', 'Alerts of alerts.yml that fire, and those that wait for their time to fire (pending).', { alertname: 'Alert', alertstate: 'State', severity: 'Severity', instance: 'Host', about: 'About' }, [
		['Since', `1000 * max by (${labels.join(', ')}) (${about})`, 'dateTimeFromNow', { width: 130 }],
	], { width, height, noValue: 'No alert fires or is pending (of those that Prometheus evaluates: alerts.yml).', links: { instance: hostPage('${__data.fields.instance}', '__data.fields.instance') }, widths: { alertname: 190, alertstate: 80, severity: 85 } });
};

// Families of windows_exporter, which is scraped by another job: its series have the same instance if both jobs are relabelled alike.
const windowsAt = (...more) => `{${['cluster=~"$cluster"', 'instance=~"$instance"', ...more].join(', ')}}`;
export const windows = {
	at: windowsAt,
	of: (metric, by, ...matchers) => `sum by (${by}) (${metric}${windowsAt(...matchers)})`,
	// Its name has changed twice.
	started: ['windows_system_boot_time_timestamp', 'windows_system_boot_time_timestamp_seconds', 'windows_system_system_up_time'].map(name => name + windowsAt()).join(' or '),
	note: 'What ETW does not report comes from [windows_exporter](https://github.com/prometheus-community/windows_exporter), if Prometheus scrapes it too and both have the same `instance` (see `prometheus/scrape/file-sd.yml`).',
	empty: { noValue: 'windows_exporter is not scraped with this host as its instance, or its collector is off.' },
};

export const text = (content, { width = 24, height = 2 } = {}) => ({
	type: 'text', title: '', description: '', datasource, fieldConfig: { defaults: {}, overrides: [] },
	options: { code: { language: 'plaintext', showLineNumbers: false, showMiniMap: false }, content, mode: 'markdown' }, width, height,
});

// ---- rows ----

export const row = (title, ...panels) => ({ title, panels });
// A closed row, with a line above its panels when there is something to know.
export const closed = (title, note, ...panels) => ({ title, collapsed: true, panels: [...(note ? [text(note, { height: note.length > 190 ? 3 : 2 })] : []), ...panels] });
// Families that are off by default.
export const optIn = (title, collectors, note, ...panels) => {
	const flags = collectors.map(name => `\`--collector.${name}\``).join(' or ');
	const yaml = collectors.map(name => `${name}: on`).join(', ');
	return closed(`${title} (off by default)`, `Off by default. To turn on: ${flags}, or \`collectors: { ${yaml} }\` in etw_exporter.yaml. ${note}`.trim(), ...panels);
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
	// Hidden, and without effect where the series have no such label. The mixin shows it.
	cluster: choice('cluster', 'Cluster', 'label_values(etw_exporter_build_info, cluster)', { hide: 2 }),
	// Without an allValue "All" means the jobs that the list has. `.*` would be every job of the server: `up` and `process_…` are in all of them.
	job: choice('job', 'Job', 'label_values(etw_exporter_build_info{cluster=~"$cluster"}, job)', { allValue: undefined }),
	instance: choice('instance', 'Host', 'label_values(etw_exporter_build_info{cluster=~"$cluster", job=~"$job"}, instance)'),
	// One host unless more are chosen; of many values, because Grafana escapes a name for =~ only there.
	oneInstance: choice('instance', 'Host', 'label_values(etw_exporter_build_info{cluster=~"$cluster", job=~"$job"}, instance)', { current: { selected: false, text: [], value: [] }, includeAll: false }),
	process: choice('process', 'Process', 'label_values(etw_events_total{cluster=~"$cluster", job=~"$job", instance=~"$instance"}, process)'),
	// One process: it follows an =, because Grafana escapes no name for a regular expression where only one can be chosen.
	oneProcess: { ...choice('process', 'Process', 'label_values(etw_events_total{cluster=~"$cluster", job=~"$job", instance=~"$instance", process!~"_none|Idle"}, process)'), allValue: undefined, current: { selected: false, text: '', value: '' }, includeAll: false, multi: false },
	volume: choice('volume', 'Volume', `label_values(etw_file_written_bytes_total{cluster=~"$cluster", job=~"$job", instance=~"$instance", ${ofFiles}}, volume)`),
	disk: choice('disk', 'Disk', 'label_values(etw_disk_operations_total{cluster=~"$cluster", job=~"$job", instance=~"$instance"}, disk)'),
	topn: {
		current: { selected: true, text: '10', value: '10' }, hide: 0, includeAll: false, label: 'Top', multi: false, name: 'topn',
		options: ['5', '10', '20', '50'].map(n => ({ selected: n === '10', text: n, value: n })), query: '5,10,20,50',
		queryValue: '', skipUrlSync: false, type: 'custom',
	},
	tbw: {
		current: { selected: true, text: '600', value: '600' }, hide: 0, includeAll: false, label: 'Rated TBW', multi: false, name: 'tbw',
		options: [{ selected: true, text: '600', value: '600' }], query: '600', skipUrlSync: false, type: 'textbox',
	},
};

// ---- a dashboard ----

const annotation = (name, iconColor, expr, titleFormat) => ({ datasource, enable: true, expr, hide: false, iconColor, name, step: '60s', titleFormat, useValueForTime: false });
const started = `process_start_time_seconds${at()}`;
const annotations = [
	{ builtIn: 1, datasource: { type: 'grafana', uid: '-- Grafana --' }, enable: true, hide: true, iconColor: 'rgba(0, 211, 255, 1)', name: 'Annotations & Alerts', type: 'dashboard' },
	// A start time that is not that of an interval ago; after a pause of the scrapes only if it is a recent one.
	annotation('Exporter starts', 'blue', `max by (instance) ((${started} unless ${started} == ${started} offset $__interval) > time() - 900)`, 'etw_exporter on {{instance}} started'),
	annotation('Session restarts', 'orange', `${grownSince('$__interval', 'etw_session_restarts_total', 'instance, session, reason')} > 0`, '{{session}} on {{instance}} started again: {{reason}}'),
	annotation('Lost events', 'red', `${grownSince('$__interval', 'etw_session_events_lost_total', 'instance, session')} > 0`, '{{session}} on {{instance}} lost events'),
	annotation('Crashes', 'purple', `${grownSince('$__interval', 'etw_process_exits_total', 'instance, process', 'result="crash"')} > 0`, '{{process}} on {{instance}} crashed'),
];

// Links keep the data source, the job, the host and the time range; a variable that the link sets is not carried over.
// `value` is a macro of Grafana without braces, `__data.fields.process`; encoded, because names contain + and &.
const carried = ['datasource', 'cluster', 'job', 'instance'];
const carry = variable => carried.filter(name => name !== variable).map(name => (name === 'datasource' ? 'var-datasource=${datasource}' : `\${${name}:queryparam}`)).join('&');
export const linkTo = (title, uid, variable, value) =>
	[{ targetBlank: false, title, url: `/d/${uid}?${carry(variable)}&\${__url_time_range}&var-${variable}=\${${value}:percentencode}` }];
export const processPage = (name, value) => linkTo(`Everything about ${name}`, 'etw-process', 'process', value);
// The page of the process that is chosen, on another host.
export const processOn = [{ targetBlank: false, title: 'This process on ${__data.fields.instance}', url: `/d/etw-process?${carry('instance')}&\${__url_time_range}&\${process:queryparam}&var-instance=\${__data.fields.instance:percentencode}` }];
export const hostPage = (name, value) => linkTo(`Overview of ${name}`, 'etw-host', 'instance', value);

// The id of a panel stays as long as its title does, because alerts and bookmarks have it in links. lint.mjs finds two that are the same.
const idOf = (type, title) => [...`${type} ${title}`].reduce((hash, letter) => (hash * 31 + letter.codePointAt()) % 1000003, 7);

const place = rows => {
	const panels = [];
	let texts = 0, y = 0;
	const lay = (list, into) => {
		let x = 0, tallest = 0;
		for (const { width, height, ...rest } of list) {
			if (x + width > 24) { x = 0; y += tallest; tallest = 0; }
			into.push({ id: rest.type === 'text' ? ++texts : idOf(rest.type, rest.title), ...rest, gridPos: { h: height, w: width, x, y } });
			x += width;
			tallest = Math.max(tallest, height);
		}
		y += tallest;
	};
	for (const { title, collapsed = false, panels: list } of rows) {
		const head = { id: idOf('row', title), type: 'row', title, collapsed, gridPos: { h: 1, w: 24, x: 0, y: y++ }, panels: [] };
		panels.push(head);
		const start = y;
		lay(list, collapsed ? head.panels : panels);
		if (collapsed) y = start; // what is closed takes no room
	}
	return panels;
};

// The other dashboards, in the order of the list. A job or host that is chosen stays chosen, and so does the time range.
const tabs = uid => list.filter(other => other.uid !== uid).map(other => ({
	asDropdown: false, icon: 'dashboard', includeVars: false, keepTime: true, tags: [], targetBlank: false, title: other.title, tooltip: '', type: 'link',
	url: `/d/${other.uid}?${carry()}`,
}));

// hosts: the variable for the host, 'instance' or 'oneInstance'.
export const dashboard = ({ uid, description, hosts = 'instance', use, rows }) => ({
	annotations: { list: annotations }, description, editable: true, fiscalYearStartMonth: 0, graphTooltip: 1, id: null, links: tabs(uid),
	panels: place(rows), refresh: '30s', schemaVersion: 39, tags: ['etw_exporter'],
	templating: { list: ['datasource', 'cluster', 'job', hosts, ...use].map(name => variables[name]) },
	time: { from: 'now-1h', to: 'now' }, timepicker: {}, timezone: 'browser', title: `ETW / ${list.find(one => one.uid === uid).title}`, uid, version: 1, weekStart: '',
});
