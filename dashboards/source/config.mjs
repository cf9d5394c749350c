// What an installation may want different in rules, alerts and dashboards. The files in prometheus/ and grafana/ have these values; the mixin
// has the same keys in `_config`. `<key>` in rules.mjs and alerts.mjs stands for the value.
export const config = {
	selector: 'job="etw"', // of series that other exporters have too, such as up
	labels: 'cluster, job, instance', // that tell hosts apart; one that the series do not have does no harm
	runbookBase: 'https://example.org/etw_exporter/docs/runbooks.md',
	grafanaUrl: 'http://localhost:3000',
	// Limits of the alerts.
	restartsIn30m: 3, lagSeconds: 15, busyRatio: 0.8, unattributedRatio: 0.05, decodeErrorRatio: 0.01, canaryLossRatio: 0.05, certificateDays: 7,
	longDpcsIn5m: 10, diskSlowSeconds: 0.5, crashesIn5m: 2, writtenGiBPerHour: 50, diskWrittenGiBPerHour: 50,
};

// Every string of a value with its <keys> replaced.
export const fill = value => {
	if (typeof value === 'string') return value.replace(/<(\w+)>/g, (whole, key) => config[key] ?? whole);
	if (Array.isArray(value)) return value.map(fill);
	return value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, fill(part)])) : value;
};
