// The live part of the landing page: reads the counters of the collector `file` every few seconds, and draws how many bytes each
// process writes. Names of processes are hostile text: they are shown with textContent only, and without what steers the direction
// of writing. The page asks for nothing while it is hidden, and less and less often while the exporter does not answer.
'use strict';
(() => {
const { make, shown, bytes, axis, widest, drawGrid } = charts; // chart.js stands before this script

const INTERVAL_MS = 3000, FIRST_MS = 1000, INTERVAL_MAX_MS = 60000, ANSWER_MS = 10000;
const WINDOW_MS = 5 * 60000; // that the chart shows
const LINES = 5, ROWS = 10, KEPT = 40; // processes: in the chart, in the table, in each sample
const STATE_EVERY = 5; // samples: sources and losses are read again that often
const FAMILY = 'etw_file_written_bytes_total{';

const section = document.getElementById('writers');
const samples = []; // { time, rates: Map of process -> bytes per second; null: a gap }
let before = null; // { time, totals: Map of process -> bytes }
let timer = 0, busy = false, delay = INTERVAL_MS, count = 0, said = '', top = [];

// ---- the document ----

const chart = make('svg', { class: 'chart', role: 'img', 'aria-label': 'Chart of bytes written per second' });
const status = make('p', { role: 'status' }, 'The counters are being read.');
const table = make('table');
const body = make('tbody');
const head = make('tr');
for (const [text, name] of [['Process', ''], ['Now', 'n'], ['Total', 'n']]) head.append(make('th', { scope: 'col', class: name }, text));
const thead = make('thead');
thead.append(head);
table.append(make('caption', {}, 'The busiest processes of the last five minutes, the same as in the chart'), thead, body);
table.hidden = true;
section.append(status, chart, table);

// Only a change is announced, because a screen reader reads it aloud.
const say = (text, name = '') => {
	if (text !== said) status.textContent = said = text;
	status.className = name;
};

// ---- the counters ----

// The value of a label in the text format: \\, \" and \n are escapes.
const unescape = text => text.replace(/\\(.)/g, (_, c) => c === 'n' ? '\n' : c);

// Sums the family over all other labels.
function totalsOf(page) {
	const totals = new Map();

	for (const line of page.split('\n')) {
		if (!line.startsWith(FAMILY)) continue;
		const label = /[{,]process="((?:[^"\\]|\\.)*)"/.exec(line), value = Number(line.slice(line.lastIndexOf(' ') + 1));
		if (!label || !Number.isFinite(value)) continue;
		const name = unescape(label[1]);
		totals.set(name, (totals.get(name) ?? 0) + value);
	}
	return totals;
}

function addSample(time, totals) {
	const rates = new Map();

	if (before && time > before.time) {
		for (const [name, total] of totals) {
			const was = before.totals.get(name) ?? 0;
			// A counter that falls has begun again at 0.
			const rate = (total >= was ? total - was : total) * 1000 / (time - before.time);
			if (rate > 0) rates.set(name, rate);
		}
		samples.push({ time, rates: new Map([...rates].sort((a, b) => b[1] - a[1]).slice(0, KEPT)) });
	}
	before = { time, totals };
	while (samples.length > 0 && samples[0].time < time - WINDOW_MS) samples.shift();
	// The busiest of the window; those that wrote nothing meanwhile by their total.
	const sums = new Map();
	for (const sample of samples) for (const [name, rate] of sample.rates ?? []) sums.set(name, (sums.get(name) ?? 0) + rate);
	top = [...totals].map(([name, total]) => ({ name, total, now: rates.get(name) ?? 0, sum: sums.get(name) ?? 0 }))
		.sort((a, b) => b.sum - a.sum || b.total - a.total || (a.name < b.name ? -1 : 1)).slice(0, ROWS);
}

// ---- drawing ----

function drawChart() {
	const width = Math.max(chart.clientWidth, 200), height = chart.clientHeight, right = 8, above = 10, below = 24;
	const lines = top.slice(0, LINES).filter(row => row.sum > 0);
	const end = before?.time ?? samples.at(-1)?.time ?? 0;
	// It begins with one minute, and grows with the samples to the whole window.
	const minutes = [1, 2, 3, 5].find(n => samples.length === 0 || samples[0].time >= end - n * 60000) ?? 5;
	const peak = Math.max(0, ...lines.flatMap(row => samples.map(sample => sample.rates?.get(row.name) ?? 0)));
	const values = axis(peak || 1000, rate => bytes(rate, '/s')), left = widest(chart, values.map(value => value.text)) + 12;
	const x = time => left + (width - left - right) * (1 - (end - time) / (minutes * 60000));
	const y = drawGrid(chart, { width, height, left, right, above, below }, values);

	const step = width < 500 && minutes > 2 ? minutes : 1;
	for (let ago = 0; ago <= minutes; ago += step) {
		chart.append(make('text', { x: x(end - ago * 60000), y: height - 6, 'text-anchor': ago === 0 ? 'end' : ago === minutes ? 'start' : 'middle' },
			ago === 0 ? 'now' : `−${ago} min`));
	}
	for (const [i, row] of lines.entries()) {
		let path = '', pen = 'M', last = null;
		for (const { time, rates } of samples) {
			if (rates === null) {
				pen = 'M';
				continue;
			}
			last = [x(time).toFixed(1), y(rates.get(row.name) ?? 0).toFixed(1)];
			path += `${pen}${last.join(' ')}`;
			pen = 'L';
		}
		chart.append(make('path', { class: `s${i}`, d: path }));
		if (last) chart.append(make('circle', { class: `s${i}`, cx: last[0], cy: last[1], r: 2.5 }));
	}
	if (lines.length === 0) {
		const why = !before ? '' : samples.length === 0 ? 'A second sample is awaited' : 'No process writes at the moment';
		chart.append(make('text', { class: 'empty', x: (left + width) / 2, y: above + (height - above - below) / 4 + 5 }, why));
	}
	chart.setAttribute('aria-label', lines.length === 0 ? 'Chart of bytes written per second; no process writes at the moment' :
		`Chart of bytes written per second in the last five minutes. Now: ${lines.map(row => `${shown(row.name)} ${bytes(row.now, '/s')}`).join(', ')}`);
}

function drawTable() {
	body.replaceChildren(...top.map((row, i) => {
		const line = make('tr'), cell = make('th', { scope: 'row' }), swatch = make('svg', { class: 'swatch', 'aria-hidden': 'true', viewBox: '0 0 26 13' });

		if (i < LINES && row.sum > 0) swatch.append(make('line', { class: `s${i}`, x1: 0, x2: 26, y1: 8, y2: 8 }));
		cell.append(swatch, make('bdi', {}, shown(row.name)));
		line.append(cell, make('td', { class: 'n' }, bytes(row.now, '/s')), make('td', { class: 'n' }, bytes(row.total)));
		return line;
	}));
	table.hidden = top.length === 0;
}

function draw() {
	drawChart();
	drawTable();
}

// ---- the samples ----

class Refused extends Error {} // by the exporter, with a sentence

async function read(address, type) {
	const response = await fetch(address, { cache: 'no-store', headers: { Accept: type }, signal: AbortSignal.timeout(ANSWER_MS) });
	const text = await response.text();

	if (response.status === 400) throw new Refused(text);
	if (!response.ok) throw new Error(`the answer is ${response.status}`);
	return text;
}

// What the server has written of the page, again: sources, losses, uptime.
async function readState() {
	const fresh = new DOMParser().parseFromString(await read(section.dataset.page, 'text/html'), 'text/html');

	for (const old of document.querySelectorAll('[data-live]')) {
		const now = fresh.getElementById(old.id);
		// What has the focus keeps it.
		if (now && now.textContent !== old.textContent && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(now));
	}
}

async function takeSample() {
	const page = await read(`${section.dataset.metrics}?collect%5B%5D=file`, 'text/plain;version=0.0.4');

	if (!chart.isConnected) status.after(chart);
	addSample(performance.now(), totalsOf(page));
	draw();
	if (++count % STATE_EVERY === 0) await readState();
	say(top.length === 0 ? 'No process has written yet.' : samples.length === 0 ? 'The counters are read every three seconds.' :
		top[0].sum > 0 ? `${shown(top[0].name)} has written most in the last five minutes.` : 'No process writes at the moment.');
}

// The next rate begins with the next sample: one over a pause would be a flat line that never was.
function addGap() {
	if (samples.length > 0) samples.push({ time: performance.now(), rates: null });
	before = null;
}

async function run() {
	timer = 0;
	busy = true;
	try {
		await takeSample();
		delay = samples.length === 0 ? FIRST_MS : INTERVAL_MS;
	} catch (error) {
		if (error instanceof Refused) {
			say(`There is nothing to draw. The exporter says: ${shown(error.message.trim())}`, 'warning');
			chart.remove();
			delay = INTERVAL_MAX_MS; // a reload of its configuration may change that
		} else {
			say('The exporter does not answer. The page tries again less and less often.', 'warning');
			delay = Math.min(Math.max(delay, INTERVAL_MS) * 2, INTERVAL_MAX_MS);
		}
		addGap();
	}
	busy = false;
	schedule(delay);
}

function schedule(ms) {
	if (!document.hidden && !busy) timer = setTimeout(run, ms);
}

document.addEventListener('visibilitychange', () => {
	clearTimeout(timer);
	if (!document.hidden) addGap();
	schedule(0);
});
new ResizeObserver(() => chart.isConnected && drawChart()).observe(chart);
document.title = `${location.host} · etw_exporter`;
schedule(0);
})();
