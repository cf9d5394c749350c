// Layer 3: against a Prometheus that scrapes an exporter.
//
// usage: live.mjs panels URL MINUTES SCRAPE_MS   every query of every panel: no error; data, or a line at zero, in each default panel
//        live.mjs annotations URL MINUTES        every annotation answers, and the crash and the start of the exporter are among them
//        live.mjs sums URL JOB PAGE              sums from PromQL equal those of the exposition in PAGE, for every counter and gauge
//        live.mjs counters URL JOB RANGE MOST    each counter went back at most MOST times, and no rate was ever negative
//        live.mjs rules URL                      every rule was evaluated without an error
import fs from 'node:fs';

import { dashboards, report } from './dashboards.mjs';
import { annotationsOf, ask, runDashboard, toMs } from './queries.mjs';

async function panels(url, minutes, scrapeMs) {
	const to = Date.now();

	for (const { file, json } of dashboards()) {
		const inClosedRow = new Set(json.panels.filter(panel => panel.collapsed).flatMap(row => row.panels.map(panel => panel.id)));
		const { results, problems } = await runDashboard(url, json, { from: to - minutes * 6e4, to, scrapeMs: +scrapeMs });
		for (const { panel, what, expr } of problems) {
			if (what !== 'no data') report(`${file} panel ${panel.id} "${panel.title}": ${what}: ${expr}`);
		}
		for (const [id, answers] of Object.entries(results)) {
			for (const { target, series } of answers) {
				const names = [...(target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
				const nameless = series.find(({ metric }) => names.length && !names.some(name => metric[name]));
				if (nameless) report(`${file} panel ${id} ${target.refId}: a series without a name: ${target.expr}`);
			}
		}
		for (const panel of json.panels) {
			const data = (results[panel.id] ?? []).some(({ series }) => series.length);
			if (panel.targets && !inClosedRow.has(panel.id) && !data) report(`${file} panel ${panel.id} "${panel.title}": no data in any query`);
		}
	}
}

// The sample crashes w3wp once a minute; the exporter started a short time ago.
async function annotations(url, minutes) {
	const to = Date.now(), wanted = ['Crashes: w3wp on', 'Exporter starts: etw_exporter on'];

	for (const { file, json } of dashboards()) {
		const found = await annotationsOf(url, json, { from: to - minutes * 6e4, to, step: 1e4 });
		for (const text of wanted) if (!found.some(({ name, title }) => `${name}: ${title}`.startsWith(text))) report(`${file}: no annotation "${text} …" among ${found.map(({ title }) => title).join(', ')}`);
	}
}

// Sums of a page by family; histograms by their parts.
function sumsOf(page) {
	const sums = new Map();
	for (const [, name, value] of page.matchAll(/^([a-z_]\w*)(?:\{.*\})? (\S+)$/gm)) sums.set(name, (sums.get(name) ?? 0) + Number(value));
	return sums;
}

async function sums(url, job, pageFile) {
	const own = /^(process_|etw_exporter_|etw_consumer_busy|etw_replay_position)/; // these move while one looks
	let compared = 0;

	for (const [name, sum] of sumsOf(fs.readFileSync(pageFile, 'utf8'))) {
		if (own.test(name)) continue;
		const { result } = await ask(url, 'query', { query: `sum(last_over_time(${name}{job="${job}"}[5m]))` }); // the newest scrape may be a missed one
		const seen = Number(result[0]?.value[1]);
		if (!(Math.abs(seen - sum) <= 1e-9 * Math.abs(sum))) report(`${name}: PromQL says ${seen}, the page ${sum}`);
		compared++;
	}
	if (compared < 40) report(`only ${compared} families were compared`);
}

async function counters(url, job, range, most) {
	const selector = `{__name__=~"etw_.*_(total|bucket|count|sum)", job="${job}"}`, end = Date.now() / 1e3, seconds = toMs(range) / 1e3;
	const names = await ask(url, 'label/__name__/values', { 'match[]': selector, start: end - seconds, end });
	let resets = 0;

	for (const name of names) {
		const series = `${name}{job="${job}"}`;
		const { result } = await ask(url, 'query', { query: `max(resets(${series}[${range}]))`, time: end });
		const back = Number(result[0]?.value[1] ?? 0);
		if (back > most) report(`${name} went back ${back} times`);
		resets = Math.max(resets, back);
		const { result: rates } = await ask(url, 'query_range', { query: `min(rate(${series}[5s]))`, start: end - seconds, end, step: 1 });
		for (const [time, rate] of rates[0]?.values ?? []) if (Number(rate) < 0) report(`${name}: rate ${rate} at ${time}`);
	}
	if (names.length < 30) report(`only ${names.length} counters were there`);
	if (most > 0 && resets === 0) report('no counter went back, so no restart was seen');
}

async function rules(url) {
	const { groups } = await ask(url, 'rules', {});

	for (const rule of groups.flatMap(group => group.rules)) if (rule.health !== 'ok') report(`${rule.name}: ${rule.health} ${rule.lastError ?? ''}`);
	if (!groups.length) report('no rules');
}

const [, , what, url, ...rest] = process.argv;
await { panels, annotations, sums, counters, rules }[what](url, ...rest);
