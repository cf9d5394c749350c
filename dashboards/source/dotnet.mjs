import { at, byProcess, dashboard, heatmap, optIn, query, rate, row, text, timeseries, topRates, quantile } from './lib.mjs';

const note = 'From the provider Microsoft-Windows-DotNETRuntime, of every .NET process on the host.';

export default dashboard({
	uid: 'etw-dotnet',
	description: 'Garbage collection, exceptions, contention and the thread pool of every .NET process, without changing one.',
	use: ['process', 'topn'],
	rows: [
		row('About', text('These figures need the collector `dotnet`, which is off by default: `--collector.dotnet`, or `collectors: { dotnet: on }` in etw_exporter.yaml.')),
		optIn('Garbage collection', ['dotnet'], note,
			timeseries('Pause by process', 'Share of time in which the process stood still for a collection.', 'percentunit', topRates('etw_dotnet_gc_pause_seconds_sum', 'process', '{{process}}', byProcess)),
			heatmap('Pauses by duration', 'All processes that are selected.', 'etw_dotnet_gc_pause_seconds', { matchers: [byProcess] }),
			timeseries('p99 of a pause', 'By process.', 's', [query(quantile(0.99, 'etw_dotnet_gc_pause_seconds', 'process', byProcess), '{{process}}')]),
			timeseries('Collections', 'By generation.', 'ops', [query(rate('etw_dotnet_gc_collections_total', 'process, generation', byProcess), '{{process}} gen {{generation}}')]),
			timeseries('Heap', 'After the last collection, by generation.', 'bytes', [query(`sum by (process, generation) (etw_dotnet_gc_heap_bytes${at(byProcess)})`, '{{process}} gen {{generation}}')], { stack: true }),
			timeseries('Allocated', 'Sampled by the runtime, one event for each 100 KB.', 'binBps', topRates('etw_dotnet_allocated_bytes_total', 'process', '{{process}}', byProcess))),
		optIn('Exceptions, locks and threads', ['dotnet'], note,
			timeseries('Exceptions thrown', 'Caught ones included.', 'ops', topRates('etw_dotnet_exceptions_total', 'process', '{{process}}', byProcess)),
			timeseries('Methods compiled', 'At run time.', 'ops', topRates('etw_dotnet_methods_jitted_total', 'process', '{{process}}', byProcess)),
			timeseries('Contended locks', 'Times a thread had to wait for a monitor.', 'ops', topRates('etw_dotnet_contentions_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Time lost to locks', 'Seconds a second, all threads.', 'short', topRates('etw_dotnet_contention_seconds_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Thread pool', 'Active workers.', 'short', [query(`sum by (process) (etw_dotnet_threadpool_threads${at(byProcess)})`, '{{process}}')], { width: 8 })),
	],
});
