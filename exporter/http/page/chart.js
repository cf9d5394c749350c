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
	return `${i > 0 && value < 99.95 ? value.toFixed(1) : Math.round(value)} ${units[i]}${unit}`;
};
const rounded = text => text.replace(/\.0+(?=\D|$)/, ''); // for an axis

// The end of the axis, and its steps: 1, 2 or 5 times a power of ten.
function axis(most) {
	const power = 10 ** Math.floor(Math.log10(most / 4)), step = [1, 2, 5, 10].map(n => n * power).find(n => n * 4 >= most);

	return { step, end: Math.ceil(most / step - 1e-9) * step };
}

// Empties a chart and draws its horizontal lines. area: { width, height, left, right, above, below }, in pixels. write: a value as
// text. Returns where a value stands.
function drawGrid(chart, area, most, write) {
	const scale = axis(most), { width, height, left, right, above, below } = area;
	const y = value => height - below - (height - above - below) * value / scale.end;

	chart.setAttribute('viewBox', `0 0 ${width} ${height}`);
	chart.replaceChildren();
	for (let value = 0; value <= scale.end * 1.001; value += scale.step) {
		chart.append(make('line', { class: 'grid', x1: left, x2: width - right, y1: y(value), y2: y(value) }),
			make('text', { x: left - 8, y: y(value) + 4, 'text-anchor': 'end' }, rounded(write(value))));
	}
	return y;
}

return { make, shown, bytes, drawGrid };
})();
