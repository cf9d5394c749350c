// What the charts of the landing page and of the report of a recording (etwtool report) share: elements, values as people read them,
// axes. Names of processes and files are hostile text: they are shown with textContent only, and by shown().
'use strict';
const charts = (() => {
const SVG = ['svg', 'g', 'path', 'line', 'rect', 'text', 'circle', 'title'];

const make = (name, attributes = {}, text) => {
	const element = SVG.includes(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);

	for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
	if (text !== undefined) element.textContent = text;
	return element;
};

// Letters that turn the direction of writing, or that cannot be seen, are shown as what they are: odd.
const shown = name => name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');

const bytes = (value, unit = '') => {
	const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
	let i = 0;

	while (value >= 999.5 && i < units.length - 1) {
		value /= 1000;
		i++;
	}
	return `${(i > 0 || value % 1 !== 0) && value < 99.95 ? value.toFixed(1) : Math.round(value)} ${units[i]}${unit}`;
};
const rounded = text => text.replace(/\.0+(?=\D|$)/, ''); // for an axis

// The values of an axis, with their texts: a whole number of steps of 1, 2 or 5 times a power of ten. write: a value as text.
function axis(most, write) {
	const power = 10 ** Math.floor(Math.log10(most / 4)), step = [1, 2, 5, 10].map(n => n * power).find(n => n * 4 >= most);

	return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => ({ value: i * step, text: rounded(write(i * step)) }));
}

// How many pixels the widest of some texts takes in a chart. The browser lays the whole page out to measure a text that is new;
// charts have the same texts, in one font.
const widths = new Map();

function widest(chart, texts) {
	const unknown = texts.filter(text => !widths.has(text)), probes = unknown.map(text => chart.appendChild(make('text', {}, text)));
	const measured = probes.map(probe => probe.getComputedTextLength());

	for (const probe of probes) probe.remove();
	if (widths.size > 10000) widths.clear();
	for (const [i, width] of measured.entries()) {
		if (width > 0) widths.set(unknown[i], width); // none in a page that is not shown
	}
	return Math.ceil(Math.max(0, ...texts.map(text => widths.get(text) ?? 0)));
}

// Empties a chart and draws its horizontal lines. area: { width, height, left, right, above, below }, in pixels. values: of axis().
// Returns where a value stands.
function drawGrid(chart, area, values) {
	const { width, height, left, right, above, below } = area, end = values.at(-1).value;
	const y = value => height - below - (height - above - below) * value / end;

	chart.setAttribute('viewBox', `0 0 ${width} ${height}`);
	chart.replaceChildren();
	for (const { value, text } of values) {
		chart.append(make('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
			make('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, text));
	}
	return y;
}

return { make, shown, bytes, axis, widest, drawGrid };
})();
