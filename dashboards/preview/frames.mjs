// Answers of Prometheus as the data frames that Grafana's data source makes of them.
import * as D from '@grafana/data';

import { registryOf } from './registries.mjs';

export const number = text => ({ '+Inf': Infinity, '-Inf': -Infinity })[text] ?? Number(text);
// A quantile of nothing is NaN; Grafana draws a gap.
const point = text => { const value = number(text); return Number.isNaN(value) ? null : value; };
const legend = (target, labels) => (target.legendFormat ?? '').replace(/\{\{\s*(.+?)\s*\}\}/g, (_, name) => labels[name] ?? '') || JSON.stringify(labels);

function tableFrame({ target, series }, several) {
	const labels = [...new Set(series.flatMap(one => Object.keys(one.metric)))].sort();

	return D.toDataFrame({
		refId: target.refId,
		fields: [
			{ name: 'Time', type: D.FieldType.time, values: series.map(one => one.value[0] * 1e3) },
			...labels.map(name => ({ name, type: D.FieldType.string, values: series.map(one => one.metric[name] ?? '') })),
			{ name: several ? `Value #${target.refId}` : 'Value', type: D.FieldType.number, values: series.map(one => number(one.value[1])) },
		],
	});
}

function seriesFrame({ target, step }, one, { from, to }) {
	const at = new Map((one.values ?? [one.value]).map(([time, value]) => [Math.round(time * 1e3), point(value)])), times = [];
	const displayNameFromDS = legend(target, one.metric);

	if (one.values) {
		for (let time = Math.floor(from / step) * step; time <= to; time += step) times.push(time); // gaps become null
	} else {
		times.push(...at.keys());
	}
	return D.toDataFrame({
		refId: target.refId, name: displayNameFromDS,
		fields: [
			{ name: 'Time', type: D.FieldType.time, config: { interval: step }, values: times },
			{ name: 'Value', type: D.FieldType.number, labels: one.metric, config: { displayNameFromDS }, values: times.map(time => at.get(time) ?? null) },
		],
	});
}

const transformed = (transformations, data) => new Promise((next, error) => {
	D.transformDataFrame(transformations, data, { interpolate: text => text }).subscribe({ next, error });
});

// Frames of one panel, with units, overrides and transformations applied.
export async function framesOf(panel, answers, { range, theme, timeZone, replaceVariables }) {
	const { fieldConfig, transformations } = panel;
	let data = answers.flatMap(answer => (answer.target.format === 'table'
		? [tableFrame(answer, answers.length > 1)] : answer.series.map(one => seriesFrame(answer, one, range))));

	if (transformations?.length) data = await transformed(transformations, data);
	data = D.applyFieldOverrides({ data, fieldConfig, fieldConfigRegistry: registryOf(fieldConfig), replaceVariables, theme, timeZone });
	D.cacheFieldDisplayNames(data); // or a table shows the names from before renaming
	return data;
}
