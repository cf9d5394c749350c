import { at, byProcess, closed, counted, dashboard, heatmap, query, quantile, row, text, timeseries, topRates } from './lib.mjs';

export default dashboard({
	uid: 'etw-dotnet',
	description: 'Garbage collections, exceptions, lock contention and thread pools of all .NET processes. The processes need no change.',
	use: ['process', 'topn'],
	rows: [
		row('About', text('The panels below need the collector `dotnet`, which is off by default. To turn it on: `--collector.dotnet`, or `collectors: { dotnet: on }` in etw_exporter.yaml. It counts events of the provider Microsoft-Windows-DotNETRuntime, of every .NET process on the host.', { height: 3 })),
		closed('Garbage collection', '',
			timeseries('Time in GC pauses', 'Share of time for which all threads of the process were stopped, mostly for a garbage collection.', 'percentunit', topRates('etw_dotnet_gc_pause_seconds_sum', 'process', '{{process}}', byProcess)),
			heatmap('Pauses by duration', 'Pauses of all selected processes. Each column is one interval; brighter cells hold more pauses.', 'etw_dotnet_gc_pause_seconds', { matchers: [byProcess] }),
			timeseries('p99 pause by process (upper bound)', '99th percentile. With classic buckets, a factor of 4 apart, the pause is up to that much shorter.', 's', [query(quantile(0.99, 'etw_dotnet_gc_pause_seconds', 'process', byProcess), '{{process}}')], { step: true }),
			timeseries('Collections', 'Garbage collections started in each interval, by the oldest generation that they collect.', 'short', [counted('etw_dotnet_gc_collections_total', 'process, generation', '{{process}} gen {{generation}}', byProcess)], { bars: true }),
			timeseries('Heap size', 'Size after the last collection, by generation. Generation 3 is the large object heap, 4 the pinned object heap.', 'bytes', [query(`sum by (process, generation) (etw_dotnet_gc_heap_bytes${at(byProcess)})`, '{{process}} gen {{generation}}')], { stack: true }),
			timeseries('Allocations by process', 'Bytes allocated, from the runtime\'s sample of about one event per 100 KB.', 'binBps', topRates('etw_dotnet_allocated_bytes_total', 'process', '{{process}}', byProcess))),
		closed('Exceptions, locks and threads', '',
			timeseries('Exceptions thrown', 'Exceptions in each interval, whether caught or not.', 'short', [counted('etw_dotnet_exceptions_total', 'process', '{{process}}', byProcess)], { bars: true }),
			timeseries('Methods compiled', 'Methods that the just-in-time compiler started to compile.', 'suffix:methods/s', topRates('etw_dotnet_methods_jitted_total', 'process', '{{process}}', byProcess)),
			timeseries('Lock contentions', 'Times that a thread had to wait for a lock that another thread held.', 'ops', topRates('etw_dotnet_contentions_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Threads waiting for locks', 'Threads that wait for a lock, on average: the sum of their waits a second.', 'short', topRates('etw_dotnet_contention_seconds_total', 'process', '{{process}}', byProcess), { softMax: 0.01, width: 8 }),
			timeseries('Thread pool workers', 'Worker threads that are not retired.', 'short', [query(`sum by (process) (etw_dotnet_threadpool_threads${at(byProcess)})`, '{{process}}')], { width: 8 })),
	],
});
