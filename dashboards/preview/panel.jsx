// One panel in Grafana's frame, drawn by Grafana's component for its type.
import * as D from '@grafana/data';
import { BarGauge, BigValue, PanelChrome, TimeSeries, VizRepeater } from '@grafana/ui';
import { TableNG } from '@grafana/ui/unstable';
import React from 'react';

import { Heatmap } from './heatmap.jsx';

function Repeated({ panel, data, width, height, context, render }) {
	const { orientation, reduceOptions, graphMode } = panel.options, bars = panel.type === 'bargauge';

	return <VizRepeater {...{ width, height, orientation }} source={data} renderCounter={0} autoGrid={!bars} itemSpacing={bars ? 10 : 3} minVizHeight={panel.options.minVizHeight} maxVizHeight={panel.options.maxVizHeight}
		getValues={() => D.getFieldDisplayValues({ data, fieldConfig: panel.fieldConfig, reduceOptions, sparkline: graphMode === 'area', ...context })}
		getAlignmentFactors={D.getDisplayValueAlignmentFactors} renderValue={render} />;
}

// Annotations as Grafana draws them: a dashed line at the time, a triangle below it. Each plot's builder gets them once.
const marked = new WeakSet();
function drawMarks(builder, marks, theme) {
	if (marked.has(builder)) return;
	marked.add(builder);
	builder.addHook('draw', plot => {
		const { ctx, bbox: { left, top, width, height } } = plot, size = 5 * devicePixelRatio;
		ctx.save();
		for (const { time, color } of marks) {
			const x = plot.valToPos(time, 'x', true);
			if (!(x >= left && x <= left + width)) continue;
			ctx.strokeStyle = ctx.fillStyle = theme.visualization.getColorByName(color);
			ctx.setLineDash([size, size]);
			ctx.beginPath();
			ctx.moveTo(x, top);
			ctx.lineTo(x, top + height);
			ctx.stroke();
			ctx.beginPath();
			ctx.moveTo(x, top + height);
			ctx.lineTo(x - size, top + height + size);
			ctx.lineTo(x + size, top + height + size);
			ctx.fill();
		}
		ctx.restore();
	});
}

const drawings = {
	timeseries: ({ panel, data, context, timeRange, marks, range, ...size }) => <TimeSeries frames={data} structureRev={1} legend={panel.options.legend} options={panel.options}
		timeZone={context.timeZone} timeRange={timeRange} {...size}>{builder => { drawMarks(builder, marks, context.theme); return null; }}</TimeSeries>,
	stat: props => <Repeated {...props} render={({ value, ...size }) => {
		const { colorMode, graphMode, justifyMode, text, textMode } = props.panel.options;
		return <BigValue value={value.display} sparkline={value.sparkline} theme={props.context.theme} {...{ colorMode, graphMode, justifyMode, text, textMode }} {...size} />;
	}} />,
	bargauge: props => <Repeated {...props} render={({ value, ...size }) => {
		const { displayMode, showUnfilled, valueMode } = props.panel.options;
		return <BarGauge value={value.display} field={value.field} display={value.view?.getFieldDisplayProcessor(value.colIndex)} valueDisplayMode={valueMode}
			itemSpacing={10} isOverflow={false} theme={props.context.theme} {...{ displayMode, showUnfilled }} {...size} />;
	}} />,
	table: ({ panel, data, timeRange, ...size }) => <TableNG data={data[0]} cellHeight={panel.options.cellHeight} initialSortBy={panel.options.sortBy} fieldConfig={panel.fieldConfig}
		enableVirtualization={false} structureRev={1} timeRange={timeRange} width={size.width} height={size.height} />,
	heatmap: ({ panel, data, context, range, width, height }) => <Heatmap {...{ panel, data, range, width, height }} theme={context.theme} timeZone={context.timeZone} />,
	text: ({ panel, context, height }) => <div className="markdown-html" style={{ height, overflow: 'auto' }}
		dangerouslySetInnerHTML={{ __html: D.renderMarkdown(context.replaceVariables(panel.options.content)) }} />,
};

export class Panel extends React.Component {
	state = {};

	static getDerivedStateFromError(error) {
		return { error };
	}

	componentDidCatch(error) {
		console.error(`panel ${this.props.panel.id} failed: ${error.stack}`);
	}

	render() {
		const { panel, data, width, height, ...rest } = this.props, Drawing = drawings[panel.type];

		const empty = panel.type !== 'text' && !data.some(frame => frame.length);

		if (this.state.error) return <pre>{String(this.state.error)}</pre>;
		return <PanelChrome title={panel.title} description={panel.description} padding={['table', 'stat'].includes(panel.type) ? 'none' : 'md'} hoverHeader={!panel.title} {...{ width, height }}>
			{(innerWidth, innerHeight) => (empty ? <div data-empty style={{ alignItems: 'center', display: 'flex', height: innerHeight, justifyContent: 'center', padding: '0 16px', textAlign: 'center' }}>{panel.fieldConfig.defaults.noValue ?? 'No data'}</div>
				: Drawing ? <Drawing {...{ panel, data, ...rest }} width={innerWidth} height={innerHeight} /> : <b>no drawing for {panel.type}</b>)}
		</PanelChrome>;
	}
}
