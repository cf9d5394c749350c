import { at, byProcess, closed, counted, dashboard, heatmap, query, quantile, row, text, timeseries, topGauges, topRates } from './lib.mjs';

const third = { width: 8 };
const gauges = (metric, legend) => topGauges(metric, 'process', legend, byProcess);
const rates = metric => topRates(metric, 'process', '{{process}}', byProcess);

export default dashboard({
	uid: 'etw-dotnet',
	description: 'Garbage collections, exceptions, lock contention and thread pools of all .NET processes. The processes need no change.',
	use: ['process', 'topn'],
	rows: [
		row('About', text('The panels below need the collector `dotnet`, which is off by default. To turn it on: `--collector.dotnet`, or `collectors: { dotnet: on }` in etw_exporter.yaml. It counts events of the provider Microsoft-Windows-DotNETRuntime, of every .NET process on the host. The rows that begin with *Counters* need the collector `dotnet_counters`, also off by default, and programs of .NET Core 3.1 or later.', { height: 3 })),
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
		closed('Counters of the runtime', '',
			timeseries('CPU usage', 'Share of all processors, as the runtime measures it every ten seconds.', 'percentunit', gauges('etw_dotnet_runtime_cpu_usage_ratio', '{{process}}'), third),
			timeseries('Heap size now', 'As the runtime estimates it, between collections too, in whole megabytes.', 'bytes', gauges('etw_dotnet_runtime_gc_heap_size_bytes', '{{process}}'), third),
			timeseries('Time in the last collection', 'Share of the time between the last two collections that the last one took.', 'percentunit', gauges('etw_dotnet_runtime_gc_time_ratio', '{{process}}'), third),
			timeseries('Collections counted', 'Garbage collections in each interval. A collection counts for its generation and for all younger ones.', 'short', [counted('etw_dotnet_runtime_gc_collections_total', 'process, generation', '{{process}} gen {{generation}}', byProcess)], { ...third, bars: true }),
			timeseries('Allocated', 'Bytes allocated, exactly.', 'binBps', rates('etw_dotnet_runtime_allocated_bytes_total'), third),
			timeseries('Exceptions counted', 'Exceptions in each interval, whether caught or not.', 'short', [counted('etw_dotnet_runtime_exceptions_total', 'process', '{{process}}', byProcess)], { ...third, bars: true }),
			timeseries('Waits for locks', 'Times that a thread had to wait for a lock that another thread held.', 'ops', rates('etw_dotnet_runtime_lock_contentions_total'), third),
			timeseries('Thread pool', 'Threads, and work items that wait for one. A queue that grows while threads are added slowly is a thread pool that is starved.', 'short', [...gauges('etw_dotnet_runtime_threadpool_threads', '{{process}} threads'), ...gauges('etw_dotnet_runtime_threadpool_queue_length', '{{process}} waiting')], third),
			timeseries('Work items finished', 'Work items that the thread pool has finished.', 'ops', rates('etw_dotnet_runtime_threadpool_completed_items_total'), third)),
		closed('Counters of ASP.NET Core and SqlClient', '',
			timeseries('Requests', 'Requests that ASP.NET Core has begun.', 'reqps', rates('etw_dotnet_hosting_requests_total'), third),
			timeseries('Requests in progress', 'Requests that ASP.NET Core has begun and not finished.', 'short', gauges('etw_dotnet_hosting_current_requests', '{{process}}'), third),
			timeseries('Failed requests', 'Since the process started: a restart of the process begins at zero.', 'short', gauges('etw_dotnet_hosting_failed_requests', '{{process}}'), third),
			timeseries('Connections of Kestrel', 'Connections that are open to the web server.', 'short', gauges('etw_dotnet_kestrel_current_connections', '{{process}}'), third),
			timeseries('New connections of Kestrel', 'Connections that the web server has accepted.', 'ops', rates('etw_dotnet_kestrel_connections_total'), third),
			timeseries('Queues of Kestrel', 'Connections and requests that wait for a thread.', 'short', [...gauges('etw_dotnet_kestrel_connection_queue_length', '{{process}} connections'), ...gauges('etw_dotnet_kestrel_request_queue_length', '{{process}} requests')], third),
			timeseries('Failed TLS handshakes', 'Since the process started: a restart of the process begins at zero.', 'short', gauges('etw_dotnet_kestrel_failed_tls_handshakes', '{{process}}'), third),
			timeseries('Connections of SqlClient', 'Open to servers; used by the program; waiting in pools.', 'short', [...gauges('etw_dotnet_sqlclient_open_connections', '{{process}} open'), ...gauges('etw_dotnet_sqlclient_active_connections', '{{process}} used'), ...gauges('etw_dotnet_sqlclient_free_connections', '{{process}} free')], third),
			timeseries('Connects and pools of SqlClient', 'Connections opened to servers a second, and connection pools in use. Many connects mean that pooling does not work.', 'short', [...topRates('etw_dotnet_sqlclient_connects_total', 'process', '{{process}} connects/s', byProcess), ...gauges('etw_dotnet_sqlclient_pools', '{{process}} pools')], third)),
	],
});
