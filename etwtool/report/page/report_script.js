// Draws the charts of a report of a recording above their tables, which report_page.js has made. All charts show the same time:
// what is dragged over in one is zoomed into in all, and a name that is picked in one table stands out in all. Everything that a
// pointer can do, keys can do as well. Names are hostile text: see chart.js, which stands before this script.
'use strict';
(() => {
const { make, bytes, axis, widest, drawGrid } = charts, { steps: STEPS, stepUs, grouped, rate, duration, time, iso, clock, swatch, DRAWN } = report;
const STEP_S = stepUs / 1e6;
const SHADES = 6; // of a heat map
const ROWS = 8; // of a table that are shown at first
const LEAST = 4; // steps that a zoom leaves
const PAPER = [448, 140]; // pixels of a chart in print, as the style has it

let view = { from: 0, to: STEPS }; // the steps that are shown
let picked = null; // { label, name }
let paper = false; // the charts are drawn for a page of A4 or Letter
let margin = 0; // at the left of all charts: a time stands at the same place in each
const plots = [];

// For an axis, whose values are few and round.
const round = value => value >= 1000 ? grouped(value) : String(Number(value.toPrecision(3)));
const axisText = (chart, value) => chart.unit === 'bytes' ? bytes(value, '/s') : chart.unit === 'count' ? `${round(value)}/s` :
	chart.noun ? `${round(value / 1e9)} ${chart.noun}` : `${round(value / 1e7)} %`;
const dated = ms => `${iso(ms).slice(0, 10)} ${clock(ms)}`;

// -n stands for n zeros.
function unpack(packed) {
	const values = [];

	for (const value of packed) {
		if (value >= 0) values.push(value);
		else for (let i = 0; i > value; i--) values.push(0);
	}
	while (values.length < STEPS) values.push(0);
	return values;
}

// ---- the axis of time ----

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE,
	2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY, 3650 * DAY, 36500 * DAY];

function drawTime(svg, area, x) {
	const from = time(view.from), to = time(view.to), text = (ms, step) => step >= DAY ? iso(ms).slice(0, 10) : step >= MINUTE ? iso(ms).slice(11, 16) : clock(ms, step < SECOND);
	const fits = step => (to - from) / step * (widest(svg, [text(from, step)]) + 12) <= area.width - area.left - area.right;
	const step = TICKS.find(fits) ?? to - from;

	for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) {
		const at = x(view.from + (ms - from) * (view.to - view.from) / (to - from)), written = text(ms, step);

		svg.append(make('line', { class: 'tick', x1: at, x2: at, y1: area.height - area.below, y2: area.height - area.below + 4 }));
		if (at + widest(svg, [written]) / 2 <= area.width) svg.append(make('text', { x: at, y: area.height - 6, 'text-anchor': 'middle' }, written));
	}
}

// ---- a chart ----

class Plot {
	constructor(element, chart) {
		Object.assign(this, { element, chart, cursor: null });
		this.buckets = chart.form === 'buckets';
		this.rows = chart.rows.map(row => ({ ...row, steps: unpack(row.steps) }));
		if (!this.buckets) this.joinRest();
		this.sums = Array.from({ length: STEPS }, (_, i) => this.rows.reduce((sum, row) => sum + row.steps[i], 0));
		this.svg = make('svg', { class: this.buckets ? 'chart heat' : 'chart stack', 'aria-hidden': 'true' });
		this.tip = make('div', { class: 'tip' });
		this.graph = make('div', { class: 'graph', tabindex: '0', role: 'slider', 'aria-label': `${chart.title}: time`, 'aria-valuemin': 0, 'aria-valuemax': STEPS - 1 });
		this.graph.append(this.svg, this.tip);
		element.querySelector('h3').after(this.graph);
		if (this.buckets) this.graph.after(make('p', { class: 'note' }, `The darker, the more ${chart.noun}; at most ${grouped(this.densest())} of one length in ${duration(STEP_S)}.`));
		this.tip.hidden = true;
		this.listen();
	}

	// What has no colour of its own is drawn as one.
	joinRest() {
		const rest = this.rows.splice(DRAWN).map(row => row.steps), count = rest.length + (this.chart.others?.count ?? 0);

		if (this.chart.others) rest.push(unpack(this.chart.others.steps));
		if (count > 0) this.rows.push({ title: `${grouped(count)} more`, others: true, steps: rest[0].map((_, i) => rest.reduce((sum, steps) => sum + steps[i], 0)) });
	}

	densest() {
		return Math.max(...this.rows.map(row => Math.max(...row.steps)));
	}

	area() {
		const { clientWidth, clientHeight } = this.svg, [width, height] = paper ? PAPER : [Math.max(clientWidth, 200), Math.max(clientHeight, 100)];

		return { width, height, left: margin, right: 28, above: 10, below: 24 };
	}

	values() {
		return axis(Math.max(...this.sums.slice(view.from, view.to)) / STEP_S || 1, value => axisText(this.chart, value));
	}

	// The width of what stands to the left of the chart.
	side() {
		return widest(this.svg, this.buckets ? this.rows.map((_, i) => this.bound(i)) : this.values().map(value => value.text));
	}

	x(step, area = this.area()) {
		return area.left + (area.width - area.left - area.right) * (step - view.from) / (view.to - view.from);
	}

	draw(area) {
		if (this.buckets) this.drawHeat(area);
		else this.drawStack(area);
		drawTime(this.svg, area, step => this.x(step, area));
		this.mark = make('rect', { class: 'mark', y: area.above, height: area.height - area.above - area.below, width: 0 });
		this.svg.append(this.mark);
		this.announce();
		this.moveTo(this.cursor);
	}

	drawStack(area) {
		const y = drawGrid(this.svg, area, this.values());
		const base = new Array(STEPS).fill(0);

		for (const row of this.rows) {
			let up = '', back = '';

			for (let i = view.from; i < view.to; i++) {
				const low = y(base[i] / STEP_S).toFixed(1), high = y((base[i] + row.steps[i]) / STEP_S).toFixed(1);
				const left = this.x(i, area).toFixed(1), right = this.x(i + 1, area).toFixed(1);

				up += `${i === view.from ? 'M' : 'L'}${left} ${high}L${right} ${high}`;
				back = `L${right} ${low}L${left} ${low}${back}`;
				base[i] += row.steps[i];
			}
			const dim = picked && picked.label === this.chart.label && picked.name !== row.title;
			this.svg.append(make('path', { class: `${row.others ? 'rest' : `c${row.colour}`}${dim ? ' dim' : ''}`, d: `${up}${back}Z` }));
		}
	}

	drawHeat(area) {
		const used = this.rows.map((row, i) => row.steps.some(value => value > 0) ? i : -1).filter(i => i >= 0);
		const first = used[0] ?? 0, count = (used.at(-1) ?? 0) - first + 1, most = Math.log(this.densest() + 1);
		const height = (area.height - area.above - area.below) / count, y = i => area.height - area.below - (i - first + 1) * height;
		const every = Math.ceil(16 / height);

		this.svg.setAttribute('viewBox', `0 0 ${area.width} ${area.height}`);
		this.svg.replaceChildren(make('rect', { class: 'ground', x: area.left, y: area.above, width: area.width - area.left - area.right, height: area.height - area.above - area.below }));
		for (let i = first; i < first + count; i++) {
			const shade = step => this.rows[i].steps[step] > 0 ? Math.min(Math.max(Math.ceil(SHADES * Math.log(this.rows[i].steps[step] + 1) / most), 1), SHADES) : 0;

			if ((i - first) % every === 0) this.svg.append(make('text', { x: area.left - 8, y: y(i) + height / 2 + 4, 'text-anchor': 'end' }, this.bound(i)));
			for (let step = view.from, end; step < view.to; step = end) {
				for (end = step + 1; end < view.to && shade(end) === shade(step); end++);
				if (shade(step) > 0) {
					this.svg.append(make('rect', { class: `h${shade(step)}`, x: this.x(step, area).toFixed(1), y: y(i).toFixed(1),
						width: (this.x(end, area) - this.x(step, area)).toFixed(1), height: Math.max(height - 0.5, 0.5).toFixed(1) }));
				}
			}
		}
	}

	bound(i) {
		const { name } = this.rows[i];

		return name === '+Inf' ? 'longer' : `≤ ${duration(Number(name))}`;
	}

	// ---- the step under the pointer ----

	lines(step) {
		const lines = this.rows.map((row, i) => ({ row, name: this.buckets ? this.bound(i) : row.title, value: row.steps[step] })).filter(line => line.value > 0);

		return this.buckets ? lines.reverse() : lines;
	}

	amount(value) {
		return this.buckets ? grouped(value) : rate(this.chart, value / STEP_S);
	}

	// What a screen reader says of the chart, or of the step.
	announce() {
		const step = this.cursor, at = step === null ? '' : clock(time(step));
		const peak = this.sums.indexOf(Math.max(...this.sums));

		this.graph.setAttribute('aria-valuenow', step ?? view.from);
		this.graph.setAttribute('aria-valuetext', step === null ? `highest at ${clock(time(peak))}: ${this.amount(this.sums[peak])}` :
			`${at}: ${this.lines(step).slice(0, 5).map(line => `${line.name} ${this.amount(line.value)}`).join(', ') || 'nothing'}`);
	}

	moveTo(step) {
		this.cursor = step === null ? null : Math.min(Math.max(step, view.from), view.to - 1);
		this.tip.hidden = this.cursor === null;
		this.mark.setAttribute('width', this.cursor === null ? 0 : Math.max(this.x(this.cursor + 1) - this.x(this.cursor), 1));
		this.announce();
		if (this.cursor === null) return;
		this.mark.setAttribute('x', this.x(this.cursor));
		this.fillTip();
	}

	fillTip() {
		const lines = this.lines(this.cursor), list = make('ul'), { width, left } = this.area(), at = this.x(this.cursor);

		for (const line of lines.slice(0, ROWS)) {
			const item = make('li');

			item.append(...this.buckets ? [] : [swatch(line.row)], make('bdi', {}, line.name), make('span', {}, this.amount(line.value)));
			list.append(item);
		}
		if (lines.length > ROWS) list.append(make('li', {}, `and ${lines.length - ROWS} more`));
		const foot = make('p', {}, lines.length === 0 ? 'Nothing' : `All: ${this.amount(this.sums[this.cursor])}`);
		this.tip.replaceChildren(make('strong', {}, clock(time(this.cursor))), list, foot);
		const beside = at + 14 + this.tip.offsetWidth <= width ? at + 14 : at - 14 - this.tip.offsetWidth;
		this.tip.style.left = `${Math.max(Math.min(beside, width - this.tip.offsetWidth), 0)}px`;
		this.tip.style.maxWidth = `${width - 40}px`;
	}

	// ---- pointer and keys ----

	stepAt(event) {
		const area = this.area(), x = event.clientX - this.svg.getBoundingClientRect().left;

		return Math.floor(view.from + (x - area.left) * (view.to - view.from) / (area.width - area.left - area.right));
	}

	listen() {
		let start = null, startX = 0;

		this.svg.addEventListener('pointerdown', event => {
			if (event.button !== 0) return;
			start = Math.min(Math.max(this.stepAt(event), view.from), view.to - 1);
			startX = event.clientX;
			this.svg.setPointerCapture(event.pointerId);
		});
		this.svg.addEventListener('pointermove', event => {
			const step = this.stepAt(event);

			this.moveTo(step);
			if (start === null || Math.abs(event.clientX - startX) < 6) return;
			const from = Math.min(start, this.cursor), to = Math.max(start, this.cursor) + 1;
			this.mark.setAttribute('x', this.x(from));
			this.mark.setAttribute('width', this.x(to) - this.x(from));
			this.tip.hidden = true;
		});
		this.svg.addEventListener('pointerup', event => {
			const end = Math.min(Math.max(this.stepAt(event), view.from), view.to - 1), from = start;

			start = null;
			if (from !== null && Math.abs(event.clientX - startX) >= 6) zoom(Math.min(from, end), Math.max(from, end) + 1);
			else this.moveTo(end);
		});
		this.svg.addEventListener('pointercancel', () => { start = null; });
		this.svg.addEventListener('pointerleave', () => { if (start === null && document.activeElement !== this.graph) this.moveTo(null); });
		this.svg.addEventListener('dblclick', () => zoom(0, STEPS));
		this.graph.addEventListener('blur', () => this.moveTo(null));
		this.graph.addEventListener('keydown', event => this.onKey(event));
	}

	onKey(event) {
		const at = this.cursor ?? view.from - 1, span = view.to - view.from, middle = this.cursor ?? view.from + Math.floor(span / 2);
		const half = Math.max(Math.round(span / 4), LEAST / 2);
		const actions = {
			ArrowRight: () => this.moveTo(at + 1), ArrowLeft: () => this.moveTo(at - 1), ArrowUp: () => this.moveTo(at + 1), ArrowDown: () => this.moveTo(at - 1),
			PageUp: () => this.moveTo(at + 10), PageDown: () => this.moveTo(at - 10), Home: () => this.moveTo(view.from), End: () => this.moveTo(view.to - 1),
			'+': () => zoom(middle - half, middle + half), '-': () => zoom(middle - span, middle + span), Escape: () => zoom(0, STEPS),
		};

		if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
		event.preventDefault();
		actions[event.key]();
	}
}

// ---- all charts together ----

const bar = make('div', { class: 'zoomed', role: 'status' }), range = make('span'), whole = make('button', { type: 'button' }, 'Show the whole recording');

// What is folded is drawn when it is opened.
function drawAll() {
	const shown = plots.filter(plot => plot.svg.clientWidth > 0);

	margin = Math.max(...shown.map(plot => plot.side())) + 12;
	// All areas first: the browser lays the page out to tell one after something was drawn.
	const areas = shown.map(plot => plot.area());
	for (const [i, plot] of shown.entries()) plot.draw(areas[i]);
}

// Sections that open at the same time, and the change of size that follows, are drawn once.
let drawsSoon = false;

function drawSoon() {
	if (drawsSoon) return;
	drawsSoon = true;
	requestAnimationFrame(() => {
		drawsSoon = false;
		drawAll();
	});
}

function zoom(from, to) {
	const first = Math.max(Math.min(from, STEPS - LEAST), 0), end = Math.min(Math.max(to, first + LEAST), STEPS);

	view = { from: first, to: end };
	bar.hidden = first === 0 && end === STEPS;
	range.textContent = `${dated(time(first))} to ${clock(time(end))} UTC`;
	drawAll();
}

function pick(label, name) {
	picked = picked && picked.label === label && picked.name === name ? null : { label, name };
	for (const button of document.querySelectorAll('button.pick')) {
		const on = picked !== null && button.dataset.label === picked.label && button.textContent === picked.name;

		button.setAttribute('aria-pressed', on);
		button.closest('tr').classList.toggle('picked', on);
	}
	drawAll();
}

// The names of a table become buttons, and its end is shown on demand.
function prepareTable(element, chart) {
	const rows = [...element.querySelectorAll('tbody tr')], long = rows.filter(row => !row.classList.contains('sum')).slice(ROWS);

	for (const row of rows) {
		const name = row.querySelector('bdi');

		if (!name || chart.form === 'buckets' || row.dataset.row === undefined) continue;
		const button = make('button', { type: 'button', class: 'pick', 'aria-pressed': 'false', title: 'Let it stand out in all charts' });
		button.dataset.label = chart.label;
		name.replaceWith(button);
		button.append(name);
		button.addEventListener('click', () => pick(chart.label, button.textContent));
	}
	if (long.length > 1) {
		const more = make('button', { type: 'button', class: 'more' }, `${long.length} more rows`);

		for (const row of long) row.classList.add('far');
		more.addEventListener('click', () => {
			for (const row of long) row.classList.remove('far');
			more.remove();
		});
		element.append(more);
	}
}

const folds = [...document.querySelectorAll('details')];

// Opens the section that a link leads into.
function openTarget() {
	const target = document.getElementById(location.hash.slice(1)), fold = target?.closest('details') ?? target?.querySelector('details');

	if (!fold) return;
	fold.open = true;
	target.scrollIntoView();
}

addEventListener('hashchange', openTarget);
openTarget();
if (folds.length > 0) {
	const all = make('button', { type: 'button' }, 'Open all sections'), item = make('li');

	all.addEventListener('click', () => {
		const open = folds.some(fold => !fold.open);

		for (const fold of folds) fold.open = open;
		all.textContent = open ? 'Close all sections' : 'Open all sections';
	});
	item.append(all);
	document.querySelector('.contents').append(item);
}

if (STEPS > 0) {
	for (const element of document.querySelectorAll('.plot[data-chart]')) {
		const chart = report.charts.find(({ id }) => id === element.dataset.chart);

		plots.push(new Plot(element, chart));
		prepareTable(element, chart);
	}
}
if (plots.length > 0) {
	const glance = document.getElementById('glance');

	bar.append(make('span', { class: 'what' }, 'Shown: '), range, whole);
	bar.hidden = true;
	whole.addEventListener('click', () => zoom(0, STEPS));
	document.body.append(bar);
	glance.append(make('p', { class: 'note hint' }, 'Point at a chart for its numbers, drag over it to zoom, double-click for the whole recording; ' +
		'with keys: arrows, + and −, Escape. Choose a name in a table to highlight it in all charts.'));
	drawAll();
	new ResizeObserver(drawSoon).observe(document.getElementById('main'));
	for (const fold of folds) fold.addEventListener('toggle', drawSoon);
}
// Paper has all sections; afterwards those are folded again that were.
let foldedBefore = [];

addEventListener('beforeprint', () => {
	foldedBefore = folds.filter(fold => !fold.open);
	for (const fold of folds) fold.open = true;
	paper = true;
	if (plots.length > 0) drawAll();
});
addEventListener('afterprint', () => {
	for (const fold of foldedBefore) fold.open = false;
	paper = false;
	if (plots.length > 0) drawAll();
});
})();
