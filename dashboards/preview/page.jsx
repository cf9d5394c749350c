// The preview page: all dashboards, one at a time, with Grafana's grid and components.
//
// window.preview (from render.mjs): { dashboards, found, live }. `found` holds for each uid what runDashboard() found when the page was
// made, so the page stands alone. `live`, when there: { base, scrapeMs, minutes }; then a choice is asked of that Prometheus.
//
// The address says what is shown, as Grafana's does: #UID or /d/UID, var-NAME=VALUE for what is chosen, theme=light or dark.
import * as D from '@grafana/data';
import { initPluginTranslations } from '@grafana/i18n';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import React, { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { panelsOf, runDashboard } from '../check/queries.mjs';
import { framesOf } from './frames.mjs';
import { replacer } from './macros.mjs';
import { Panel } from './panel.jsx';
import { registerStandard } from './registries.mjs';

const { dashboards, found, live } = window.preview;
const address = new URLSearchParams(location.search), mode = address.get('theme') === 'light' ? 'light' : 'dark';
const theme = D.createTheme({ colors: { mode } }), timeZone = 'utc';
const fieldStyle = { appearance: 'auto', background: theme.colors.background.secondary, border: `1px solid ${theme.colors.border.medium}`, color: theme.colors.text.primary, padding: '2px 6px', height: 30, fontSize: 14, lineHeight: '24px', width: 'auto' };
const margin = 16, gap = 8, rowHeight = 30, columns = 24, narrow = 769;

// All rows open: what a closed one holds moves what follows down.
function opened(dashboard) {
	const panels = [];
	let shift = 0;

	for (const panel of dashboard.panels) {
		const put = one => panels.push({ ...one, gridPos: { ...one.gridPos, y: one.gridPos.y + shift } });
		put(panel);
		if (panel.collapsed) {
			panel.panels.forEach(put);
			shift += Math.max(...panel.panels.map(({ gridPos }) => gridPos.y + gridPos.h)) - panel.gridPos.y - 1;
		}
	}
	return panels;
}

// Grafana's grid; on a narrow screen one column.
function places(panels, pageWidth) {
	const column = (pageWidth - 2 * margin - (columns - 1) * gap) / columns;
	const height = h => h * (rowHeight + gap) - gap;

	if (pageWidth < narrow) {
		let top = 0;
		return panels.map(({ gridPos: { h } }) => {
			const place = { left: 0, top, width: pageWidth - 2 * margin, height: height(h) };
			top += place.height + gap;
			return place;
		});
	}
	return panels.map(({ gridPos: { x, y, w, h } }) => ({ left: x * (column + gap), top: y * (rowHeight + gap), width: w * column + (w - 1) * gap, height: height(h) }));
}

async function dataOf(dashboard, { results, marks, from, to, fields }) {
	const context = { replaceVariables: replacer(fields, { from, to }), theme, timeZone }, data = {};

	for (const panel of panelsOf(dashboard)) {
		if (panel.type !== 'row') data[panel.id] = await framesOf(panel, results[panel.id] ?? [], { range: { from, to }, ...context });
	}
	return { data, marks, context, range: { from, to } };
}

function Field({ field, value, onChoose }) {
	const { name, label, options, all } = field;

	return <label style={{ display: 'inline-block', marginRight: margin }}>{label} <select style={fieldStyle} data-variable={name} value={value} onChange={event => onChoose(name, event.target.value)} disabled={!live}>
		{all && <option value="$__all">All</option>}{options.map(option => <option key={option}>{option}</option>)}
	</select></label>;
}

function Grid({ dashboard, prepared, pageWidth }) {
	const panels = opened(dashboard), spots = places(panels, pageWidth), { data, marks, context, range } = prepared;
	const moments = { from: D.dateTime(range.from), to: D.dateTime(range.to) }, timeRange = { ...moments, raw: moments };
	const height = Math.max(...spots.map(spot => spot.top + spot.height));

	return <div style={{ position: 'relative', height }}>{panels.map((panel, i) => {
		const { left, top, width, height: tall } = spots[i];
		return <div key={`${dashboard.uid}-${panel.id}`} data-panel={panel.id} data-type={panel.type} style={{ position: 'absolute', left, top, width, height: tall }}>
			{panel.type === 'row' ? <h4 style={{ margin: 0 }}>{panel.title}</h4>
				: <Panel key={`${range.to}`} {...{ panel, marks, context, range, timeRange }} data={data[panel.id]} width={width} height={tall} />}
		</div>;
	})}</div>;
}

const uidInAddress = () => location.hash.slice(1) || location.pathname.match(/\/d\/([\w-]+)/)?.[1] || dashboards[0].uid;
// Not the data source, of which there is one here.
const chosenInAddress = () => Object.fromEntries([...address].filter(([name, value]) => name.startsWith('var-') && name !== 'var-datasource' && value !== '$__all')
	.map(([name, value]) => [name.slice('var-'.length), value]));

function Page() {
	const [uid, setUid] = useState(uidInAddress());
	const [chosen, setChosen] = useState(chosenInAddress());
	const [answer, setAnswer] = useState(null); // { uid, prepared, fields, note }
	const [pageWidth, setPageWidth] = useState(window.innerWidth);
	const dashboard = dashboards.find(one => one.uid === uid) ?? dashboards[0];

	useEffect(() => {
		const onHash = () => { setChosen({}); setUid(uidInAddress()); }, onResize = () => setPageWidth(window.innerWidth);
		window.addEventListener('hashchange', onHash);
		window.addEventListener('resize', onResize);
		return () => { window.removeEventListener('hashchange', onHash); window.removeEventListener('resize', onResize); };
	}, []);
	useEffect(() => {
		let wanted = true;
		const show = async () => {
			let answers = found[dashboard.uid], note = '';
			if (live && Object.keys(chosen).length) {
				try {
					const to = live.to ?? Date.now(), single = answers.fields.filter(({ all }) => !all).map(({ name, shown }) => [name, shown]);
					answers = await runDashboard(live.base, dashboard, { from: to - live.minutes * 6e4, to, scrapeMs: live.scrapeMs, width: window.innerWidth, chosen: { ...Object.fromEntries(single), ...chosen } });
				} catch (error) {
					note = `Prometheus does not answer (${error.message}): this is what was seen when the page was made.`;
				}
			}
			const prepared = await dataOf(dashboard, answers);
			if (wanted) setAnswer({ uid: dashboard.uid, chosen, prepared, fields: answers.fields, note });
		};
		show().catch(error => { console.error(error.stack); window.previewShows = 'failed'; });
		return () => { wanted = false; };
	}, [dashboard, chosen]);
	useEffect(() => {
		// For the browser test and the pictures: what is on the screen.
		if (answer) setTimeout(() => { window.previewShows = JSON.stringify({ uid: answer.uid, chosen: answer.chosen }); }, 300);
	}, [answer]);

	return <D.ThemeContext.Provider value={theme}><GlobalStyles />
		<div style={{ padding: margin, background: theme.colors.background.canvas, minHeight: '100vh' }}>
			<nav>{dashboards.map(one => <a key={one.uid} href={`#${one.uid}`} style={{ display: 'inline-block', marginRight: margin, fontWeight: one === dashboard ? 'bold' : 'normal' }}>{one.title.replace('ETW / ', '')}</a>)}
				<a href={`?theme=${mode === 'dark' ? 'light' : 'dark'}#${uid}`} style={{ float: 'right' }}>{mode === 'dark' ? 'Light' : 'Dark'} theme</a></nav>
			<h2>{dashboard.title}</h2><p>{dashboard.description}</p>
			{answer?.uid === dashboard.uid && <>
				<p>{answer.fields.map(field => <Field key={field.name} field={field} value={chosen[field.name] ?? (field.all ? '$__all' : field.shown)}
					onChoose={(name, value) => setChosen({ ...chosen, [name]: value })} />)}</p>
				{answer.note && <p>{answer.note}</p>}
				<Grid dashboard={dashboard} prepared={answer.prepared} pageWidth={pageWidth} />
			</>}
			<PortalContainer />
		</div></D.ThemeContext.Provider>;
}

async function start() {
	registerStandard();
	await initPluginTranslations('etw_exporter');
	await document.fonts.ready;
	createRoot(document.getElementById('root')).render(<Page />);
}

start().catch(error => { console.error(error.stack); window.previewShows = 'failed'; });
