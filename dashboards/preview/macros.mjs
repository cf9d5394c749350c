// Variables and macros in titles and links, filled in as Grafana does: ${name:format}, $name.

// values: of a variable, what its query parameters would be.
const formats = {
	percentencode: text => encodeURIComponent(text),
	queryparam: (text, name, values) => values.map(value => `var-${name}=${encodeURIComponent(value)}`).join('&'),
};

// fields: those of runDashboard(). What it returns takes the scope in which Grafana asks: the cell or the series with its labels.
export const replacer = (fields, { from, to }) => (text, scope) => String(text).replace(/\$\{([\w.]+)(?::(\w+))?\}|\$(\w+)/g, (whole, braced, format, bare) => {
	const name = braced ?? bare, { frame, field, rowIndex } = scope?.__dataContext?.value ?? {};
	const [, object, key] = name.match(/^(__data\.fields|__field\.labels)\.(\w+)$/) ?? [];
	const variable = fields.find(one => one.name === name);
	let value;

	if (name === '__url_time_range') return `from=${from}&to=${to}`;
	if (name === 'datasource') return 'default';
	if (object === '__data.fields') value = frame?.fields.find(one => one.name === key)?.values[rowIndex];
	if (object === '__field.labels') value = field?.labels?.[key];
	if (variable) value = variable.shown;
	if (value === undefined) return whole;
	return formats[format] ? formats[format](value, name, value === 'All' ? ['$__all'] : [value]) : value;
});
