// Makes the one page: every dashboard, with what Prometheus knows now. Grafana's components, our data, no network but loopback.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { dashboards } from '../check/dashboards.mjs';
import { runDashboard } from '../check/queries.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const inScript = value => JSON.stringify(value).replace(/</g, '\\u003c');

// live: { base, scrapeMs, minutes, to }; without `to` the range ends now. What runDashboard() found, by uid.
export async function makePage(folder, live) {
	const found = {}, all = dashboards().map(({ json }) => json), to = live.to ?? Date.now();

	for (const dashboard of all) {
		found[dashboard.uid] = await runDashboard(live.base, dashboard, { from: to - live.minutes * 6e4, to, scrapeMs: live.scrapeMs });
	}
	const problems = Object.entries(found).flatMap(([uid, { problems: list }]) => list.map(problem => ({ uid, ...problem })));
	const answers = Object.fromEntries(Object.entries(found).map(([uid, { problems: _, ...rest }]) => [uid, rest]));
	const script = fs.readFileSync(path.join(here, 'dist/page.js'), 'utf8').replace(/<\/script/g, '<\\/script');
	fs.writeFileSync(path.join(folder, 'index.html'), `<!doctype html><html lang="en"><meta charset="utf-8"><title>etw_exporter dashboards</title>
<style>${fs.readFileSync(path.join(here, 'dist/page.css'), 'utf8')} body { margin: 0 }</style><body><div id="root"></div>
<script>window.preview = ${inScript({ dashboards: all, found: answers, live })}</script><script>${script}</script>`);
	return problems;
}
