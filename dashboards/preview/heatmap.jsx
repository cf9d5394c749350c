// The one panel type that Grafana does not publish: buckets over time, as cells.
import * as D from '@grafana/data';
import { UPlotChart, UPlotConfigBuilder } from '@grafana/ui';
import * as ramps from 'd3-scale-chromatic';
import React from 'react';

import { number } from './frames.mjs';

// Rows by bound, each with what fell between the bound below and its own.
function rowsOf(data) {
	const rows = data.map(frame => ({ le: number(frame.fields[1].labels.le), values: frame.fields[1].values })).sort((a, b) => a.le - b.le);

	return rows.map((row, i) => ({ le: row.le, cells: row.values.map((value, j) => (value == null ? null : Math.max(0, value - (i ? rows[i - 1].values[j] ?? 0 : 0)))) }));
}

// Empty rows below the first and above the last that hold something waste the panel.
function filled(rows) {
	const holds = row => row.cells.some(value => value > 0);
	const first = rows.findIndex(holds), last = rows.findLastIndex(holds);

	return first < 0 ? rows : rows.slice(Math.max(0, first - 1), last + 2);
}

const scaleHeight = 22;

// The colour at a share of the largest count, and the line below the plot that explains it.
const colorAt = (color, theme) => share => ramps[`interpolate${color.scheme}`](theme.isDark !== color.reverse ? 1 - share ** color.exponent : share ** color.exponent);
function ColorScale({ most, paint, theme }) {
	const stops = Array.from({ length: 17 }, (_, i) => paint(i / 16)).join(', ');
	const figure = text => <span style={{ color: theme.colors.text.secondary, fontSize: 12, lineHeight: '14px' }}>{text}</span>;

	return <div data-scale style={{ alignItems: 'center', display: 'flex', gap: 8, height: scaleHeight, justifyContent: 'center' }}>
		{figure('0')}<div style={{ background: `linear-gradient(to right, ${stops})`, height: 10, width: 160 }} />{figure(D.formattedValueToString(D.getValueFormat('short')(most)))}
	</div>;
}

export function Heatmap({ panel, data, range, theme, timeZone, width, height: whole }) {
	const rows = filled(rowsOf(data)), { color, filterValues, legend, yAxis } = panel.options, height = whole - (legend.show ? scaleHeight : 0);
	const times = data[0].fields[0].values, step = times[1] - times[0], unit = D.getValueFormat(yAxis.unit);
	const most = Math.max(...rows.flatMap(row => row.cells)), paint = colorAt(color, theme);
	const labelEvery = Math.ceil((rows.length * 28) / height), builder = new UPlotConfigBuilder(timeZone);
	const label = le => (le === Infinity ? '+Inf' : D.formattedValueToString(unit(le, 0)));

	builder.addScale({ scaleKey: 'x', isTime: true, orientation: 0, direction: 1, range: () => [range.from, range.to] });
	builder.addScale({ scaleKey: 'y', orientation: 1, direction: 1, range: () => [0, rows.length] });
	builder.addAxis({ scaleKey: 'x', isTime: true, placement: 'bottom', timeZone, theme });
	builder.addAxis({
		scaleKey: 'y', placement: 'left', theme, splits: () => rows.map((_, i) => i + 1),
		values: (plot, splits) => splits.map(i => (i % labelEvery ? '' : label(rows[i - 1].le))),
	});
	builder.addSeries({ scaleKey: 'y', theme, lineWidth: 0, showPoints: 'never', pathBuilder: () => null, pointsBuilder: () => null });
	const drawCells = plot => rows.forEach((row, i) => row.cells.forEach((value, j) => {
		if (!(value > filterValues.le)) return;
		const left = plot.valToPos(times[j] - step, 'x', true), right = plot.valToPos(times[j], 'x', true);
		const above = plot.valToPos(i + 1, 'y', true), below = plot.valToPos(i, 'y', true);
		plot.ctx.fillStyle = paint(value / most);
		plot.ctx.fillRect(left, above, Math.max(1, right - left - 1), Math.max(1, below - above - 1));
	}));
	builder.addHook('draw', plot => {
		const { left, top, width: wide, height: tall } = plot.bbox;
		plot.ctx.save();
		plot.ctx.beginPath();
		plot.ctx.rect(left, top, wide, tall);
		plot.ctx.clip();
		drawCells(plot);
		plot.ctx.restore();
	});
	return <div><UPlotChart config={builder} width={width} height={height} data={[times, times.map(() => null)]} />
		{legend.show && <ColorScale {...{ most, paint, theme }} />}</div>;
}
