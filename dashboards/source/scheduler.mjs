import { at, byProcess, dashboard, grown, heatmap, optIn, query, quantile, quantiles, rate, row, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';

const share = metric => `sum by (driver) (rate(${metric}_sum${at()}[$__rate_interval]))`;
const topDrivers = metric => `${share(metric)} and on (driver) topk($topn, sum by (driver) (increase(${metric}_sum${at()}[$__range] @ end())))`;


export default dashboard({
	uid: 'etw-scheduler',
	description: 'What runs and starts, who has the CPU, who waits for it, and which driver takes it away.',
	use: ['process', 'topn'],
	rows: [
		row('Processes and threads',
			timeseries('Running processes', 'Instances behind one name.', 'short', [query(`topk($topn, sum by (process) (etw_process_instances${at(byProcess)}))`, '{{process}}')]),
			timeseries('Threads', 'Of all instances.', 'short', [query(`topk($topn, sum by (process) (etw_process_threads${at(byProcess)}))`, '{{process}}')]),
			timeseries('Process starts', 'Programs that ran for less than a scrape interval count as well.', 'ops', topRates('etw_process_starts_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Process exits', 'By how they ended: crash is an exception code.', 'ops', [query(rate('etw_process_exits_total', 'result', byProcess), '{{result}}')], { width: 8 }),
			timeseries('Thread starts', 'By process.', 'ops', topRates('etw_thread_starts_total', 'process', '{{process}}', byProcess), { width: 8 }),
			table('In the time range', 'With what new processes began with.', { process: 'Process' }, [
				['Starts', grown('etw_process_starts_total', 'process', byProcess), 'short', { bar: true, width: 150 }],
				['Crashes', grown('etw_process_exits_total', 'process', byProcess, 'result="crash"'), 'short', { steps: [[1, 'red']] }],
				['Errors', grown('etw_process_exits_total', 'process', byProcess, 'result="error"'), 'short', { steps: [[1, 'orange']] }],
				['Threads started', grown('etw_thread_starts_total', 'process', byProcess), 'short', { width: 135 }],
			])),
		optIn('CPU by samples', ['cpu'], 'Cheap: one event for each millisecond and processor.',
			timeseries('Share of samples', 'Idle left out.', 'percentunit', [query(`${rate('etw_process_cpu_samples_total', 'process', byProcess)} / on () group_left sum(rate(etw_process_cpu_samples_total${at()}[$__rate_interval]))`, '{{process}}')], { stack: true, width: 24 })),
		optIn('Scheduler', ['sched'], 'Exact, and tens of thousands of events a second.',
			timeseries('CPU time by process', 'Seconds a second, from switch-in to switch-out. Idle left out.', 'short', topRatesAndRest('etw_process_cpu_seconds_total', 'process', '{{process}}', byProcess), { stack: true, width: 24 }),
			heatmap('Time in the run queue', 'From ready to running: how long threads wait for a processor.', 'etw_thread_ready_duration_seconds'),
			timeseries('p50 and p99 in the run queue', 'All processors.', 's', quantiles('etw_thread_ready_duration_seconds', '', '')),
			timeseries('Context switches by processor', 'All threads.', 'ops', topRates('etw_thread_context_switches_total', 'cpu', 'CPU {{cpu}}'), { width: 8 }),
			timeseries('Context switches by process', 'Of the thread that comes.', 'ops', topRates('etw_thread_process_context_switches_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Why threads wait', 'By reason and mode, of threads that really wait.', 'ops', topRates('etw_thread_waits_total', 'reason, mode', '{{reason}} ({{mode}})'), { width: 8 })),
		optIn('Drivers: DPC and ISR', ['interrupt'], 'While one runs, no thread runs on that processor.',
			timeseries('Time in DPCs by driver', 'Seconds a second, all processors together.', 'short', [query(topDrivers('etw_dpc_duration_seconds'), '{{driver}}')], { stack: true }),
			timeseries('Time in ISRs by driver', 'Seconds a second, all processors together.', 'short', [query(topDrivers('etw_isr_duration_seconds'), '{{driver}}')], { stack: true }),
			timeseries('p99 of a DPC', 'Over 1 ms sound breaks up and the network stutters.', 's', [query(quantile(0.99, 'etw_dpc_duration_seconds', 'driver'), '{{driver}}')]),
			heatmap('DPCs by duration', 'All drivers.', 'etw_dpc_duration_seconds'),
			heatmap('ISRs by duration', 'All drivers.', 'etw_isr_duration_seconds', { width: 24, height: 7 })),
		optIn('Memory', ['page_faults', 'virtual_alloc'], 'Page faults are many.',
			timeseries('Page faults', 'By type; hard ones are on the dashboard Disk, too.', 'ops', [query(rate('etw_memory_page_faults_total', 'type', byProcess), '{{type}}')], { width: 8 }),
			timeseries('Address space taken', 'By process.', 'binBps', topRates('etw_memory_virtual_allocated_bytes_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Address space given back', 'By process.', 'binBps', topRates('etw_memory_virtual_freed_bytes_total', 'process', '{{process}}', byProcess), { width: 8 })),
		optIn('Images', ['image'], 'DLLs, programs and drivers as they are loaded.',
			timeseries('Image loads', 'By process.', 'ops', topRates('etw_image_loads_total', 'process', '{{process}}', byProcess)),
			timeseries('Driver loads', 'By driver.', 'ops', topRates('etw_driver_loads_total', 'driver', '{{driver}}')),
			table('Programs', 'Path and checksum of what runs under a name.', { process: 'Process', path: 'Path', checksum: 'Checksum' }, [], { info: `max by (process, path, checksum) (label_replace(etw_process_image_info${at(byProcess)}, "path", "$1", "path", "\\\\\\\\Device\\\\\\\\(.*)"))`, widths: { path: 545, checksum: 100 } })),
		optIn('Registry', ['registry'], 'Thousands of events a second on a busy host.',
			timeseries('Operations by process', 'All kinds.', 'ops', topRates('etw_registry_operations_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Operations by result', 'With the kind.', 'ops', topRates('etw_registry_operations_total', 'operation, result', '{{operation}}: {{result}}', byProcess), { width: 8 }),
			timeseries('How long they take', 'p50 and p99 by operation.', 's', quantiles('etw_registry_operation_duration_seconds', 'operation', '{{operation}}'), { width: 8 })),
	],
});
