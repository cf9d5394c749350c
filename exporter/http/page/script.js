// The live part of the landing page: reads the last five minutes of the busiest processes (exporter/landing.h) every few seconds, and
// draws one measure of them. Names of processes are hostile text: they are shown with textContent only, and without what steers the
// direction of writing. The page asks for nothing while it is hidden, and less and less often while the exporter does not answer.
'use strict';
(() => {
const { make, shown, bytes, axis, widest, drawGrid } = charts; // chart.js stands before this script

const INTERVAL_MS = 5000, INTERVAL_MAX_MS = 60000, ANSWER_MS = 10000;
const LINES = 5; // processes in the chart, as the caption says
const STATE_EVERY = 3; // answers: sources and losses are read again that often

const section = document.getElementById('busiest');
const UNITS = { // how rates and amounts are written
	bytes: [value => bytes(value, '/s'), value => bytes(value)],
	seconds: [value => `${digits(value)} cores`, value => `${digits(value)} s`],
	samples: [value => `${digits(value)}/s`, value => digits(value)],
};
let ages = [], measures = null; // of the last answer
let chosen = location.hash.slice(1), measure = null; // chosen: by the user, an id
let timer = 0, busy = false, delay = INTERVAL_MS, count = 0, said = '';

const digits = value => value === 0 ? '0' : value < 0.1 ? value.toFixed(3) : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);

// ---- the document ----

const choice = make('select', { id: 'measure' });
const chooser = make('p', { class: 'chooser' });
const note = make('p', { class: 'note' });
const chart = make('svg', { class: 'chart', role: 'img', 'aria-label': 'Chart' });
const status = make('p', { role: 'status' }, 'The last five minutes are being read.');
const table = make('table'), caption = make('caption'), body = make('tbody'), thead = make('thead'), head = make('tr');
const content = make('div');

for (const [text, name] of [['Process', ''], ['Now', 'n'], ['Last five minutes', 'n'], ['Since the start', 'n wide']]) {
	head.append(make('th', { scope: 'col', class: name }, text));
}
thead.append(head);
table.append(caption, thead, body);
chooser.append(make('label', { for: 'measure' }, 'Measure: '), choice);
content.append(chooser, note, chart, table);
content.hidden = true;
section.append(status, content);

// Only a change is announced, because a screen reader reads it aloud.
const say = (text, name = '') => {
	if (text !== said) status.textContent = said = text;
	status.className = name;
};

// ---- the values ----

const written = value => UNITS[measure.unit][0](value / 10 ** measure.decimals); // a rate
const amount = value => UNITS[measure.unit][1](value / 10 ** measure.decimals);
const now = process => process.rates.at(-1) ?? 0;

// Keeps the measure. If the user has chosen none and it has nothing to draw, it becomes the first one that has.
function choose() {
	const of = id => measures.find(one => one.id === id), former = of(measure?.id);

	measure = of(chosen) ?? (former?.processes.length > 0 ? former : measures.find(one => one.processes.length > 0) ?? former ?? measures[0]);
	if ([...choice.options].map(option => option.value).join() !== measures.map(({ id }) => id).join()) {
		choice.replaceChildren(...measures.map(({ id, title }) => make('option', { value: id }, title)));
	}
	if (measure) choice.value = measure.id;
}

// ---- drawing ----

function drawChart() {
	const width = Math.max(chart.clientWidth, 200), height = chart.clientHeight, right = 8, above = 10, below = 24;
	const lines = measure.processes.slice(0, LINES);
	// It begins with one minute, and grows with the time that the exporter has run to five.
	const minutes = [1, 2, 3].find(n => (ages[0] ?? 0) <= n * 60000) ?? 5;
	const peak = Math.max(0, ...lines.flatMap(process => process.rates));
	const values = axis(Math.max(peak || 1000, 10 ** measure.decimals / 100), written), left = widest(chart, values.map(value => value.text)) + 12;
	const x = age => left + (width - left - right) * (1 - age / (minutes * 60000));
	const y = drawGrid(chart, { width, height, left, right, above, below }, values);

	const step = width < 500 && minutes > 2 ? minutes : 1;
	for (let ago = 0; ago <= minutes; ago += step) {
		chart.append(make('text', { x: x(ago * 60000), y: height - 6, 'text-anchor': ago === 0 ? 'end' : ago === minutes ? 'start' : 'middle' },
			ago === 0 ? 'now' : `−${ago} min`));
	}
	for (const [i, { rates }] of lines.entries()) {
		let path = '', pen = 'M', last = null;
		for (const [at, rate] of rates.entries()) {
			if (rate === null) { // not counted then
				pen = 'M';
				continue;
			}
			last = [x(ages[at]).toFixed(1), y(rate).toFixed(1)];
			path += `${pen}${last.join(' ')}`;
			pen = 'L';
		}
		chart.append(make('path', { class: `s${i}`, d: path }));
		if (last) chart.append(make('circle', { class: `s${i}`, cx: last[0], cy: last[1], r: 2.5 }));
	}
	if (lines.length === 0) chart.append(make('text', { class: 'empty', x: (left + width) / 2, y: above + (height - above - below) / 4 + 5 }, 'Nothing to draw'));
	chart.setAttribute('aria-label', `Chart of ${measure.title} by process in the last five minutes. ${lines.length === 0 ? 'Nothing to draw' :
		`Now: ${lines.map(process => `${shown(process.name)} ${written(now(process))}`).join(', ')}`}`);
}

function drawTable() {
	body.replaceChildren(...measure.processes.map((process, i) => {
		const line = make('tr'), cell = make('th', { scope: 'row' }), swatch = make('svg', { class: 'swatch', 'aria-hidden': 'true', viewBox: '0 0 26 13' });

		if (i < LINES) swatch.append(make('line', { class: `s${i}`, x1: 0, x2: 26, y1: 8, y2: 8 }));
		cell.append(swatch, make('bdi', {}, shown(process.name)));
		line.append(cell, make('td', { class: 'n' }, written(now(process))), make('td', { class: 'n' }, amount(process.window)), make('td', { class: 'n wide' }, amount(process.total)));
		return line;
	}));
	table.hidden = measure.processes.length === 0;
	caption.textContent = `${measure.title}: the busiest processes of the last five minutes; the chart shows the first five`;
}

function draw() {
	choose();
	content.hidden = !measure;
	if (!measure) {
		say('There is nothing to draw, because the collectors file, network, disk, sched and cpu are off.', 'warning');
		return;
	}
	note.textContent = measure.note;
	drawChart();
	drawTable();
	const [first] = measure.processes;
	say(first ? `${measure.title}: ${shown(first.name)} is first in the last five minutes.` : ages.length === 0 ?
		'The exporter has just started. The first values come after five seconds.' : `${measure.title}: nothing was counted in the last five minutes.`);
}

// ---- the answers ----

async function read(name, type) {
	const response = await fetch(section.dataset.page + name, { cache: 'no-store', headers: { Accept: type }, signal: AbortSignal.timeout(ANSWER_MS) });

	if (!response.ok) throw new Error(`the answer is ${response.status}`);
	return response.text();
}

// What the server has written of the page, again: sources, losses, uptime.
async function readState() {
	const fresh = new DOMParser().parseFromString(await read('', 'text/html'), 'text/html');

	for (const old of document.querySelectorAll('[data-live]')) {
		const now = fresh.getElementById(old.id);
		// What has the focus keeps it.
		if (now && now.textContent !== old.textContent && !old.contains(document.activeElement)) old.replaceWith(document.adoptNode(now));
	}
}

async function run() {
	timer = 0;
	busy = true;
	try {
		({ ages_ms: ages, measures } = JSON.parse(await read('history.json', 'application/json')));
		draw();
		if (++count % STATE_EVERY === 0) await readState();
		delay = INTERVAL_MS;
	} catch {
		say('The exporter does not answer. The page tries again less and less often.', 'warning');
		delay = Math.min(Math.max(delay, INTERVAL_MS) * 2, INTERVAL_MAX_MS);
	}
	busy = false;
	schedule(delay);
}

function schedule(ms) {
	if (!document.hidden && !busy) timer = setTimeout(run, ms);
}

choice.addEventListener('change', () => {
	chosen = choice.value;
	history.replaceState(null, '', `#${chosen}`);
	draw();
});
document.addEventListener('visibilitychange', () => {
	clearTimeout(timer);
	schedule(0);
});
new ResizeObserver(() => measure && drawChart()).observe(chart);
document.title = `${location.host} · etw_exporter`;
schedule(0);
})();
