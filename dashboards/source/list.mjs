// The dashboards, in the order in which a person needs them: links and the tabs of the preview have this order.
//
// `source` is a file of this folder; the JSON is named after the uid.
export const list = [
	{ uid: 'etw-fleet', source: 'fleet', title: 'Fleet' },
	{ uid: 'etw-host', source: 'host', title: 'Host' },
	{ uid: 'etw-process-io', source: 'process_io', title: 'Process I/O' },
	{ uid: 'etw-process', source: 'process', title: 'Process' },
	{ uid: 'etw-disk', source: 'disk', title: 'Disk' },
	{ uid: 'etw-network', source: 'network', title: 'Network' },
	{ uid: 'etw-scheduler', source: 'scheduler', title: 'Scheduler and drivers' },
	{ uid: 'etw-dotnet', source: 'dotnet', title: '.NET' },
	{ uid: 'etw-health', source: 'health', title: 'Exporter health' },
];
