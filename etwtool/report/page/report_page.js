// Writes the texts and tables of a report of a recording from the document in the page (docs/report.md describes it); report_script.js
// then draws the charts above their tables. All that comes from the recording is text of nodes, by way of shown(), and never markup.
'use strict';
const report = (() => {
const { make, shown, bytes } = charts;
const data = JSON.parse(document.getElementById('data').textContent), { recording, session, machine } = data, { steps, step_us: stepUs, origin_us: originUs } = data.time;
const DRAWN = 8; // rows of a chart that have a colour
const COLOURS = 12, INDENT_MOST = 8, BAR_WIDTH = 1000;

const put = (name, attributes, ...children) => {
	const element = make(name, attributes);

	element.append(...children.filter(child => child !== null));
	return element;
};
const bdi = name => make('bdi', {}, shown(name));

// ---- values and times, as etwtool writes them (report_charts.c) ----

const grouped = value => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
const real = value => value >= 99.95 ? grouped(value) : value === 0 ? '0' : value < 0.0005 ? '< 0.001' : value.toFixed(value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3);
const duration = s => s >= 0.9995 || s === 0 ? `${real(s)} s` : s >= 0.0009995 ? `${real(s * 1e3)} ms` : `${real(s * 1e6)} µs`;
const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? '' : 's'}`;
const total = (unit, value) => unit === 'bytes' ? bytes(value) : unit === 'ns' ? duration(value / 1e9) : grouped(value);
// value: in one second
const rate = (chart, value) => chart.unit === 'bytes' ? bytes(value, '/s') : chart.unit === 'count' ? `${real(value)}/s` :
	chart.noun ? `${real(value / 1e9)} ${chart.noun}` : `${real(value / 1e7)} %`;
const share = (part, whole) => {
	const percent = whole > 0 ? 100 * part / whole : 0;

	return percent > 0 && percent < 0.05 ? '< 0.1 %' : `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
};
const lasting = us => {
	const minutes = Math.floor(us / 6e7), hours = Math.floor(minutes / 60);

	return hours >= 48 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : hours > 0 ? `${hours} h ${minutes % 60} min` :
		minutes > 0 ? `${minutes} min ${Math.floor(us / 1e6) % 60} s` : duration(us / 1e6);
};

const time = step => originUs / 1000 + step * stepUs / 1000; // ms since 1970
const iso = ms => new Date(Math.min(Math.max(ms, 0), 253402300799000)).toISOString();
const clock = (ms, precise = stepUs < 1e6) => iso(ms).slice(11, precise ? 23 : 19);
const microseconds = text => Date.parse(`${text.slice(0, 23)}Z`) * 1000 + Number(text.slice(23, 26)); // of "2024-05-14T07:00:00.0012345Z"
const days = recording.first?.slice(0, 10) !== recording.last?.slice(0, 10);
// A time of that form, with the date if the recording has more than one.
const stamp = text => `${days ? `${text.slice(0, 10)} ` : ''}${text.slice(11, stepUs < 1e6 ? 23 : 19)}`;
const dated = text => text === null ? 'not known' : `${text.slice(0, 10)} ${text.slice(11, 23)}`;
const between = (from, to) => `from ${dated(from)}${to === null ? '' : ` to ${from?.slice(0, 10) === to.slice(0, 10) ? to.slice(11, 23) : dated(to)}`} UTC`;

// ---- charts: names, colours, and the rows that are drawn ----

// A name has one colour in all charts that have room for it, so that the eye finds it again.
const remembered = new Map();

function chooseColours(chart) {
	const known = remembered.get(chart.label) ?? new Map(), used = new Set(), rows = chart.rows.slice(0, DRAWN);
	const free = taken => Array.from({ length: COLOURS }, (_, i) => i).find(i => !taken.has(i));

	remembered.set(chart.label, known);
	for (const row of rows) {
		row.colour = used.has(known.get(row.name)) ? undefined : known.get(row.name);
		used.add(row.colour);
	}
	for (const row of rows.filter(row => row.colour === undefined)) {
		row.colour = free(new Set([...used, ...known.values()])) ?? free(used);
		used.add(row.colour);
		if (!known.has(row.name)) known.set(row.name, row.colour);
	}
}

data.charts.forEach((chart, i) => {
	chart.id = `c${i}`;
	for (const row of chart.rows) row.title = row.name === '' ? '(empty)' : shown(row.name);
	if (chart.form === 'stack') chooseColours(chart);
});
const chartOf = title => data.charts.find(chart => chart.title === title);

const swatch = row => put('svg', { class: 'swatch', 'aria-hidden': 'true', viewBox: '0 0 14 14' },
	make('rect', { class: row?.colour === undefined ? 'rest' : `c${row.colour}`, width: 14, height: 14 }));

// ---- tables ----

const number = text => make('td', { class: 'n' }, text);
const head = (...children) => put('th', { scope: 'row' }, ...children);

// columns: their titles; those that begin with # have numbers. rows: of elements.
function table(name, label, caption, columns, rows) {
	const titles = columns.map(title => make('th', { scope: 'col', ...title[0] === '#' ? { class: 'n' } : {} }, title.replace('#', '')));

	return put('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-labelledby': label },
		put('table', { class: name }, put('caption', {}, ...caption), put('thead', {}, put('tr', {}, ...titles)), put('tbody', {}, ...rows)));
}

// row: of a chart, its others, or the chart itself
const cells = (chart, row) => [number(total(chart.unit, row.total)), number(share(row.total, chart.total)), number(rate(chart, row.peak / (stepUs / 1e6))),
	number(stamp(iso(time(row.peak_step)))), number(rate(chart, row.total / (data.time.mean_us / 1e6)))];
const NUMBERS = ['#Total', '#Share', '#Peak', '#at (UTC)', '#Mean'];
const capital = word => word[0].toUpperCase() + word.slice(1);

function stackRows(chart) {
	const rows = chart.rows.map((row, i) => put('tr', { 'data-row': i }, head(swatch(row), make('bdi', {}, row.title)), ...cells(chart, row)));

	if (chart.others) rows.push(put('tr', {}, head(swatch(), `${grouped(chart.others.count)} more`), ...cells(chart, chart.others)));
	if (rows.length > 1) rows.push(put('tr', { class: 'sum' }, head('All'), ...cells(chart, chart)));
	return rows;
}

function bucketRows(chart) {
	let below = 0;

	return chart.rows.filter(row => row.total > 0).map(row => {
		below += row.total;
		return put('tr', {}, head(row.name === '+Inf' ? 'longer' : `up to ${duration(Number(row.name))}`), number(grouped(row.total)),
			number(share(row.total, chart.total)), number(share(below, chart.total)));
	});
}

function plot(chart) {
	const stack = chart.form === 'stack';

	return put('div', { class: 'plot', 'data-chart': chart.id }, make('h3', { id: chart.id }, chart.title),
		table('rows', chart.id, ['From ', make('code', {}, chart.sample)], stack ? [capital(chart.label), ...NUMBERS] :
			['Time', `#${capital(chart.noun)}`, '#Share', '#Cumulative share'], stack ? stackRows(chart) : bucketRows(chart)));
}

function fileTable(direction, title, sample) {
	const files = data.files[direction], all = data.charts.find(chart => chart.sample === sample)?.total ?? 0, id = `files-${direction}`;

	if (files.length === 0) return null;
	return put('div', { class: 'plot' }, make('h3', { id }, title),
		table('files', id, ['At most 20, by the process, without paging I/O'], ['File', 'Process', '#Total', '#Share'], files.map(file => put('tr', {},
			head(bdi(file.path)), put('td', {}, bdi(file.process)), number(`${file.error > 0 ? '≥ ' : ''}${bytes(file.bytes)}`), number(share(file.bytes, all))))),
		files.some(file => file.error > 0) ? make('p', { class: 'note' }, 'There are more files than the report counts one by one: a value with ≥ may be higher.') : null);
}

// ---- processes ----

function bar(process) {
	const first = recording.first ? microseconds(recording.first) : 0, span = recording.duration_us;
	const place = (text, otherwise) => text === null || span === 0 ? otherwise : Math.floor(Math.min(Math.max((microseconds(text) - first) / span, 0), 1) * BAR_WIDTH);
	const start = place(process.start, 0), end = Math.max(place(process.end, BAR_WIDTH), start + 4); // a short life is seen, too

	return put('td', { class: 'life' }, put('svg', { viewBox: `0 0 ${BAR_WIDTH} 10`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
		make('rect', { class: process.exit_status < 0 ? 'failed' : 'ran', x: start, y: 0, width: end - start, height: 10 })));
}

function processes() {
	const list = data.processes, started = list.filter(process => process.start !== null).length, ended = list.filter(process => process.end !== null).length;
	const failed = list.filter(process => process.exit_status < 0).length, before = list.length - started;
	const rows = list.map(process => put('tr', {},
		put('th', { scope: 'row', class: `i${Math.min(process.depth, INDENT_MOST)}` }, bdi(process.name || '(no name)'),
			process.command === '' ? null : put('small', {}, bdi(process.command))), bar(process),
		number(process.start === null ? 'before' : stamp(process.start)), number(process.end === null ? 'runs' : stamp(process.end)),
		make('td', { class: process.exit_status < 0 ? 'n exit bad' : 'n' }, process.exit_text ?? ''), number(String(process.id))));

	return [put('p', {}, `${grouped(before)} ${before === 1 ? 'process' : 'processes'} ran before the recording began. ${grouped(started)} started and ${grouped(ended)} ended while it was made`,
		...failed > 0 ? [', ', make('span', { class: 'bad' }, `${grouped(failed)} of them by an exception or an error of the system`)] : [], '.'),
	data.processes_left_out > 0 ? make('p', { class: 'warning' }, `The list is limited: at least ${grouped(data.processes_left_out)} later ones are not in it.`) : null,
	table('processes', 'processes-title', ['Each process below the one that started it; times in UTC'], ['Process', 'Lifetime', '#Started', '#Ended', '#Exit status', '#Id'], rows)];
}

// ---- what the recording lacks ----

function needs(lack) {
	const codes = names => names.flatMap((name, i) => [i > 0 ? ', ' : '', make('code', {}, shown(name))]), names = lack.providers.map(({ name, guid }) => name ?? guid ?? '…');

	return put('td', {}, ...lack.kernel.length > 0 ? ['kernel flags ', ...codes(lack.kernel)] : [], lack.kernel.length > 0 && names.length > 0 ? '; ' : '',
		...names.length > 0 ? ['provider ', ...codes(names)] : []);
}

function lacks() {
	return [put('p', { class: 'note' }, 'These were not recorded, or nothing of the kind happened. ', make('code', {}, 'etwtool doctor FILE'),
		' has command lines that record them, and writes a profile for Windows Performance Recorder.'),
	data.lacks.length === 0 ? make('p', {}, 'The recording has events for every collector.') :
		table('lacks', 'lacks-title', ['Collectors of the exporter that the recording has no events for'], ['Collector', 'What it would show', 'What must be recorded'],
			data.lacks.map(lack => put('tr', {}, head(shown(lack.collector)), make('td', {}, shown(lack.help)), needs(lack))))];
}

// ---- findings ----

// The text of a finding; the name at its beginning, or what stands before a colon, stands out or leads to the chart.
function sentence(finding) {
	const { text } = finding, chart = finding.chart ? chartOf(finding.chart) : undefined, name = finding.name ?? (chart ? text.slice(0, text.indexOf(':')) : '');
	const first = name === '' ? [] : [chart ? put('a', { href: `#${chart.id}` }, bdi(name)) : put('strong', {}, bdi(name))];

	return [...first, shown(text.slice(name.length))];
}

function losses() {
	const found = data.findings.filter(finding => finding.about === 'losses'), remarks = found.filter(finding => finding.severity === 'note');
	const paragraphs = found.filter(finding => finding.severity !== 'note').map(({ severity, text }) => {
		const lead = text.match(/^[^:.]*[:.]?/)[0];

		return put('p', { class: 'sentence' }, make('span', { class: `${severity === 'good' ? 'good' : 'bad'} sentence` }, shown(lead)), shown(text.slice(lead.length)));
	});

	return [...paragraphs, remarks.length > 0 ? put('ul', { class: 'remarks' }, ...remarks.map(finding => put('li', {}, ...sentence(finding)))) : null];
}

function glance() {
	const found = data.findings.filter(finding => finding.about === 'events');
	const rows = data.firsts.map(({ what, chart: title }) => {
		const chart = chartOf(title), [row] = chart.rows;

		return put('tr', {}, head(make('a', { href: `#${chart.id}` }, what)), put('td', {}, swatch(row), make('bdi', {}, row.title)), ...cells(chart, row));
	});

	return [found.length > 0 ? put('ul', { class: 'happened' }, ...found.map(finding => put('li', {}, ...sentence(finding)))) : null,
		rows.length > 0 ? table('glance', 'glance-title', ['Top process per resource'], ['What', 'First', ...NUMBERS], rows) :
			make('p', {}, 'The recording has no events that the charts are about.')];
}

// ---- the page ----

const section = (id, title, ...children) => put('section', { id, 'aria-labelledby': `${id}-title` }, make('h2', { id: `${id}-title` }, title), ...children);
// A section of which only the title is shown until it is opened: report_script.js opens it for links, and for paper.
const folded = (id, title, open, ...children) => put('section', { id, 'aria-labelledby': `${id}-title` }, put('details', open ? { open: '' } : {},
	put('summary', {}, make('h2', { id: `${id}-title` }, title)), put('div', { class: 'inside' }, ...children)));

function how(lines) {
	return lines === undefined ? [] : [make('p', { class: 'note' }, 'To record it (expected to work; no Windows has run it yet):'), make('pre', {}, lines.split('\n').map(shown).join('\n'))];
}

const more = { processes, writes: () => [fileTable('written', 'Most written files', 'etw_file_written_bytes_total')],
	reads: () => [fileTable('read', 'Most read files', 'etw_file_read_bytes_total')] };

// The first of them is open: who wrote what.
function full({ id, title, note }, i) {
	return folded(id, title, i === 0, note === null ? null : make('p', { class: 'note' }, note), ...data.charts.filter(chart => chart.section === id).map(plot), ...more[id]?.() ?? []);
}

function empty({ id, title, record_with: lines }) {
	return folded(id, title, false, make('p', {}, 'The recording has no such events: nothing of the kind happened, or it was not recorded.'), ...how(lines));
}

function facts() {
	const known = text => text ? [bdi(text), ', '] : [];
	const rows = [
		['Recorded', counted(recording.records, 'event'), recording.first ? ` in ${lasting(recording.duration_us)}, ${between(recording.first, recording.last)}` : ''],
		['Machine', ...known(machine.name), `Windows ${machine.windows} build ${machine.build}, ${counted(machine.processors, 'processor')}`,
			machine.cpu_mhz > 0 ? ` of ${machine.cpu_mhz} MHz` : '', machine.memory_mib > 0 ? `, ${(machine.memory_mib / 1024).toFixed(1)} GiB of memory` : ''],
		['Session', ...known(session.name), `${session.mode}, ${between(session.start, session.end)}${session.end === null ? '; it was not closed' : ''}, file of ${bytes(recording.size_bytes)}`],
	];

	return rows.map(([name, ...parts]) => put('div', {}, make('dt', {}, name), put('dd', {}, ...parts)));
}

const all = [...data.sections], lacking = { id: 'lacks', title: 'What the recording lacks' };
all.splice(all.findIndex(({ id }) => id === 'events'), 0, lacking);
const contents = all.map(({ id, title, empty: nothing }) => put('li', {}, make('a', { href: `#${id}` }, title), nothing ? ' ' : '', nothing ? make('span', { class: 'off' }, 'nothing') : ''));

document.title = `${shown(recording.file)} · report of a recording`;
document.querySelector('h1 bdi').textContent = shown(recording.file);
document.querySelector('.facts').append(...facts());
document.getElementById('main').append(section('losses', 'Losses and doubts', ...losses()), section('glance', 'At a glance', ...glance()),
	put('nav', { 'aria-label': 'Contents' }, put('ul', { class: 'contents' }, ...contents)),
	...all.filter(row => !row.empty).map((row, i) => row === lacking ? folded('lacks', lacking.title, false, ...lacks()) : full(row, i)), ...all.filter(row => row.empty).map(empty));
document.querySelector('footer').append(put('p', {}, `Made by etwtool report ${data.made_by}. The numbers are those of `, make('code', {}, 'etw_exporter --once'),
	' with every collector on; what each counter means is in ', make('code', {}, 'config/METRICS.md'), ' of its source. All times are UTC.'));

return { charts: data.charts, steps, stepUs, grouped, real, rate, duration, time, iso, clock, swatch, DRAWN };
})();
