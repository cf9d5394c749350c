// Layer 1a: each dashboard against the types that Grafana 10, 11 and 12 publish. There is no published JSON schema, so one is made from the types.
import Ajv from 'ajv';
import fs from 'node:fs';
import path from 'node:path';
import { createGenerator } from 'ts-json-schema-generator';

import { dashboards, here, report } from './dashboards.mjs';
import { panelsOf } from './queries.mjs';

const panelTypes = { timeseries: 'TimeSeries', stat: 'Stat', bargauge: 'BarGauge', heatmap: 'Heatmap', table: 'Table', text: 'Text' };
// Options that a version does not have yet, and ignores.
const versions = [
	{ version: 10, root: 'dist/esm/raw', index: 'dist/index.d.ts', named: true, unknown: /percentChangeColorMode|wideLayout|showColorScale|valueDisplayMode|maxVizHeight|sizing|namePlacement|axisBorderShow/ },
	{ version: 11, root: 'dist/esm/raw', index: 'dist/esm/index.d.ts', named: true },
	{ version: 12, root: 'dist/types/raw', index: 'dist/types/index.d.ts', named: false },
];

const common = `
interface Target { refId: string; expr: string; legendFormat?: string; format?: 'time_series' | 'table' | 'heatmap'; instant?: boolean; range?: boolean; interval?: string; editorMode?: 'code'; datasource?: R.DataSourceRef }
interface Override { matcher: { id: string; options?: string }; properties: { id: string; value?: any }[] }
interface Steps { mode: 'absolute' | 'percentage'; steps: { color: string; value: number | null }[] }
type Defaults<C> = Omit<R.FieldConfig, 'custom' | 'links' | 'thresholds'> & { custom?: C; links?: Link[]; thresholds?: Steps };
interface Link { title: string; url: string; targetBlank: boolean }
interface P<T extends string, O, C> { id: number; type: T; title: string; description: string; gridPos: R.GridPos; datasource: R.DataSourceRef; targets?: Target[]; options: O; fieldConfig: { defaults: Defaults<C>; overrides: Override[] }; transformations?: R.DataTransformerConfig[]; maxDataPoints?: number }
type Variable = Omit<R.VariableModel, 'current' | 'options' | 'datasource'> & { definition?: string; datasource?: R.DataSourceRef; current: { selected?: boolean; text: string | string[]; value: string | string[] }; options: { selected: boolean; text: string; value: string }[]; queryValue?: string };
export type Dashboard = Omit<R.Dashboard, 'panels' | 'annotations' | 'refresh' | 'templating' | 'id'> & { id: null; uid: string; refresh: string; panels: any[]; annotations: { list: any[] }; templating: { list: Variable[] } };
export type Row = Omit<R.RowPanel, 'panels'> & { panels: any[] };
`;

function typesOf({ version, root, named }) {
	const base = path.join(here, `node_modules/grafana-schema-${version}/${root}`);
	const file = (folder, name) => `${base}/${folder}/x/${named ? `${name}_` : ''}types.gen`;
	const lines = [`import type * as R from '${file('dashboard', 'dashboard')}';`];
	for (const [type, name] of Object.entries(panelTypes)) {
		lines.push(`import type * as ${name} from '${file(`composable/${type}/panelcfg`, `${name}PanelCfg`)}';`);
		const config = ['stat', 'bargauge', 'text'].includes(type) ? 'Record<string, never>' : `Partial<${name}.FieldConfig>`;
		lines.push(`export type ${name}Panel = P<'${type}', Partial<${name}.Options>, ${config}>;`);
	}
	return lines.join('\n') + common;
}

// One validator a type: against a union, ajv prints forty lines for one mistake.
function validatorsOf(which, folder) {
	const types = path.join(folder, `types-${which.version}.ts`), tsconfig = path.join(folder, `tsconfig-${which.version}.json`);
	fs.writeFileSync(types, typesOf(which));
	fs.writeFileSync(tsconfig, JSON.stringify({
		compilerOptions: {
			module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true, strict: true, target: 'es2020', types: [],
			paths: { '@grafana/schema': [path.join(here, `node_modules/grafana-schema-${which.version}/${which.index}`)] },
		}, files: [types],
	}));
	const generator = createGenerator({ path: types, tsconfig, skipTypeCheck: true, type: '*' });
	const ajv = new Ajv({ allErrors: true, strict: false });
	const validator = name => ajv.compile(generator.createSchema(name));
	return { dashboard: validator('Dashboard'), row: validator('Row'), ...Object.fromEntries(Object.entries(panelTypes).map(([type, name]) => [type, validator(`${name}Panel`)])) };
}

const folder = process.argv[2];
for (const which of versions) {
	const validators = validatorsOf(which, folder);
	const check = (name, where, value) => {
		if (!validators[name]) return report(`${where}: no panel type "${name}"`);
		if (validators[name](value)) return;
		for (const { instancePath, message, params } of validators[name].errors) {
			const what = params.additionalProperty ?? '';
			if (!which.unknown?.test(what)) report(`${where}, Grafana ${which.version}: ${name}${instancePath} ${message} ${what}`);
		}
	};
	for (const { file, json } of dashboards()) {
		check('dashboard', file, json);
		for (const panel of panelsOf(json)) check(panel.type, `${file} panel ${panel.id} "${panel.title}"`, panel);
	}
}
