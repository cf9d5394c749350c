// Layer 3: against a Prometheus that scrapes an exporter.
//
// usage: live.mjs panels URL MINUTES SCRAPE_MS HOST   every query of every panel: no error; data, or a line at zero, in each default panel;
//                                                nothing of targets that are no etw_exporter. HOST: for pages of one host
//        live.mjs native URL OTHER MINUTES SCRAPE_MS HOST   where a panel or rule of histograms has data in OTHER, which stores them as classic ones,
//                                                it has some in URL, which stores native ones
//        live.mjs annotations URL MINUTES HOST   every annotation answers, and the crash and the start of the exporter are among them
//        live.mjs sums URL JOB PAGE              sums from PromQL equal those of the exposition in PAGE, for every counter and gauge
//        live.mjs counters URL JOB RANGE MOST    each counter went back at most MOST times, and no rate was ever negative
//        live.mjs rules URL                      every rule was evaluated without an error
import fs from 'node:fs';

import { dashboards, report } from './dashboards.mjs';
import { annotationsOf, ask, panelsOf, runDashboard, toMs } from './queries.mjs';

// Families that only live sessions have: those of the system's list of processes.
const LIVE_ONLY = /etw_process_(?:(?:private_)?working_set_bytes|commit_bytes|handles)\b/;

const panelsWithTitle = (json, title) => json.panels.filter(panel => panel.targets && panel.title === title);

// Pages of one host show this one.
const onePage = (json, host) => (json.templating.list.find(({ name }) => name === 'instance').includeAll ? {} : { instance: host });

async function panels(url, minutes, scrapeMs, host) {
	const to = Date.now(), { result: all } = await ask(url, 'query', { query: 'up unless on (instance) etw_exporter_build_info' });
	const others = new Set(all.map(({ metric }) => metric.instance));
	const { result: [{ value: [, hosts] }] } = await ask(url, 'query', { query: 'count(up and on (job, instance) etw_exporter_build_info)' });
	if (others.size < 2) report('no other targets are scraped');

	for (const { file, json } of dashboards()) {
		const inClosedRow = new Set(json.panels.filter(panel => panel.collapsed).flatMap(row => row.panels.map(panel => panel.id)));
		const { results, problems } = await runDashboard(url, json, { from: to - minutes * 6e4, to, scrapeMs: +scrapeMs, chosen: onePage(json, host) });
		for (const { panel, what, expr } of problems) {
			if (what !== 'no data') report(`${file} panel ${panel.id} "${panel.title}": ${what}: ${expr}`);
		}
		for (const [id, answers] of Object.entries(results)) {
			for (const { target, series } of answers) {
				const names = [...(target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name);
				const nameless = series.find(({ metric, histograms }) => names.length && !histograms && !names.some(name => metric[name]));
				for (const { metric } of series) if (others.has(metric.instance)) report(`${file} panel ${id} ${target.refId}: shows ${metric.instance}, which is no etw_exporter: ${target.expr}`);
				if (nameless) report(`${file} panel ${id} ${target.refId}: a series without a name: ${target.expr}`);
			}
		}
		for (const { id } of file === 'etw-fleet.json' ? panelsWithTitle(json, 'Hosts up') : []) {
			const shown = results[id]?.[0].series[0]?.value[1];
			if (shown !== hosts) report(`"Hosts up" is ${shown}, and ${hosts} exporters are scraped`);
		}
		for (const panel of panelsOf(json).filter(({ targets }) => /windows_/.test(targets?.[0].expr))) {
			if (!results[panel.id]?.some(({ series }) => series.length)) report(`${file} panel ${panel.id} "${panel.title}": no data of windows_exporter, which is scraped: ${panel.targets[0].expr}`);
		}
		for (const panel of json.panels) {
			const data = (results[panel.id] ?? []).some(({ series }) => series.length);
			if (panel.targets && !inClosedRow.has(panel.id) && !data && !panel.targets.every(({ expr }) => LIVE_ONLY.test(expr))) report(`${file} panel ${panel.id} "${panel.title}": no data in any query`);
		}
	}
}

async function native(url, other, minutes, scrapeMs, host) {
	const to = Date.now(), range = { from: to - minutes * 6e4, to, scrapeMs: +scrapeMs };
	let compared = 0;

	for (const { file, json } of dashboards()) {
		const [here, there] = await Promise.all([url, other].map(async base => (await runDashboard(base, json, { ...range, chosen: onePage(json, host) })).results));
		for (const panel of panelsOf(json).filter(({ targets }) => targets?.some(({ expr }) => /histogram_|_bucket/.test(expr)))) {
			const [has, had] = [here, there].map(results => (results[panel.id] ?? []).some(({ series }) => series.length));
			if (had && !has) report(`${file} panel ${panel.id} "${panel.title}": no data of native histograms: ${panel.targets[0].expr}`);
			compared += had;
		}
	}
	if (compared < 20) report(`only ${compared} panels of histograms have data`);
	const counts = await Promise.all([url, other].map(async base => (await ask(base, 'query', { query: 'count(instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m >= 0)' })).result[0]?.value[1]));
	if (!counts[0] || counts[0] !== counts[1]) report(`the rule of disks has ${counts[0]} series of native histograms, ${counts[1]} of classic ones`);
}

// The sample crashes w3wp once a minute; the exporter started a short time ago.
async function annotations(url, minutes, host) {
	const to = Date.now(), wanted = ['Crashes: w3wp on', 'Exporter starts: etw_exporter on'];

	for (const { file, json } of dashboards()) {
		const found = await annotationsOf(url, json, { from: to - minutes * 6e4, to, step: 1e4, chosen: onePage(json, host) });
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
await { panels, native, annotations, sums, counters, rules }[what](url, ...rest);
