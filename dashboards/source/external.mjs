// The variant of a dashboard that is imported by hand or published: Grafana's import page asks for the data source (`__inputs`) and
// compares versions (`__requires`). Files that are provisioned must not have either, because only that page fills them in.
//
// Source: "Export a dashboard as JSON", Grafana documentation, "Export for sharing externally"; grafana/grafana,
// public/app/features/dashboard/components/DashExportModal/DashboardExporter.ts.
const input = 'DS_PROMETHEUS';
const variable = '${datasource}';

// All panels, those in rows too.
export const panelsOf = panels => panels.flatMap(panel => [panel, ...panelsOf(panel.panels ?? [])]);

// The name of a panel's type as Grafana shows it.
const names = {
	alertlist: 'Alert list', barchart: 'Bar chart', bargauge: 'Bar gauge', gauge: 'Gauge', heatmap: 'Heatmap', piechart: 'Pie chart', stat: 'Stat',
	'state-timeline': 'State timeline', table: 'Table', text: 'Text', timeseries: 'Time series',
};

export function external(dashboard) {
	const replaced = JSON.parse(JSON.stringify(dashboard).replaceAll(variable, `\${${input}}`));
	const types = [...new Set(panelsOf(dashboard.panels).map(({ type }) => type))].filter(type => type !== 'row').sort();
	return {
		__inputs: [{ name: input, label: 'Prometheus', description: 'That scrapes etw_exporter', type: 'datasource', pluginId: 'prometheus', pluginName: 'Prometheus' }],
		__elements: {},
		__requires: [
			{ type: 'grafana', id: 'grafana', name: 'Grafana', version: '10.0.0' },
			{ type: 'datasource', id: 'prometheus', name: 'Prometheus', version: '1.0.0' },
			...types.map(id => ({ type: 'panel', id, name: names[id] ?? id, version: '' })),
		],
		...replaced,
		templating: { list: replaced.templating.list.filter(({ name }) => name !== 'datasource') },
	};
}
