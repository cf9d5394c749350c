import { at, byProcess, counted, dashboard, grownCount, heatmap, optIn, query, quantile, quantiles, rate, row, table, timeseries, topGauges, topRates, topRatesAndRest } from './lib.mjs';

const topDrivers = metric => topRates(`${metric}_sum`, 'driver', '{{driver}}');

// Samples of all processors, including idle ones; etw_process_cpu_samples_total leaves Idle out.
const samples = 'etw_process_cpu_samples_total', allSamples = `sum(rate(etw_provider_events_total${at('event="PerfInfo/SampleProf"')}[$__rate_interval]))`;
const shares = topRatesAndRest(samples, 'process', '{{process}}', byProcess).map(({ expr, legendFormat }) => query(`(${expr}) / on () group_left () ${allSamples}`, legendFormat));

export default dashboard({
	uid: 'etw-scheduler',
	description: 'Which processes start and crash, which use the processors or wait for them, and how much time drivers take.',
	use: ['process', 'topn'],
	rows: [
		row('Processes and threads',
			timeseries('Running processes', 'Instances with the same process name.', 'short', topGauges('etw_process_instances', 'process', '{{process}}', byProcess), { fill: 0, decimals: 0 }),
			timeseries('Threads', 'Threads of all instances with the same process name.', 'short', topGauges('etw_process_threads', 'process', '{{process}}', byProcess), { fill: 0, decimals: 0 }),
			timeseries('Process starts', 'Processes started in each interval. Programs that run for less than a scrape interval are counted too.', 'short', [counted('etw_process_starts_total', 'process', '{{process}}', byProcess)], { bars: true, width: 8 }),
			timeseries('Process exits', 'Processes ended in each interval, by result. crash: an unhandled exception; error: any other exit code except 0.', 'short', [counted('etw_process_exits_total', 'result', '{{result}}', byProcess)], { bars: true, colours: { success: 'green', error: 'orange', crash: 'red' }, width: 8 }),
			timeseries('Thread starts', 'Threads started, by process.', 'suffix:threads/s', topRates('etw_thread_starts_total', 'process', '{{process}}', byProcess), { width: 8 }),
			table('Totals in the time range', 'Including the first values of processes that started in the time range.', { process: 'Process' }, [
				['Starts', grownCount('etw_process_starts_total', 'process', byProcess), 'short', { bar: true, width: 150 }],
				['Crashes', grownCount('etw_process_exits_total', 'process', byProcess, 'result="crash"'), 'short', { steps: [[1, 'red']] }],
				['Errors', grownCount('etw_process_exits_total', 'process', byProcess, 'result="error"'), 'short', { steps: [[1, 'orange']] }],
				['Threads started', grownCount('etw_thread_starts_total', 'process', byProcess), 'short', { width: 135 }],
			])),
		optIn('CPU by samples', ['cpu'], 'One event for each millisecond and processor.',
			timeseries('CPU utilisation by process', 'Samples of the process divided by all samples, including those of idle processors: 100 % means that all processors are busy. Time in interrupts counts for the interrupted process.', 'percentunit', shares, { stack: true, width: 24 })),
		optIn('Scheduler', ['sched'], 'Exact figures, at the price of tens of thousands of events per second.',
			timeseries('CPU time by process', 'Processors in use on average, measured from switch-in to switch-out of each thread. Idle is not included.', 'suffix:cores', topRatesAndRest('etw_process_cpu_seconds_total', 'process', '{{process}}', byProcess), { stack: true, width: 24 }),
			heatmap('Time in the ready queue', 'Time that threads were ready to run but waited for a processor.', 'etw_thread_ready_duration_seconds'),
			timeseries('Time in the ready queue, quantiles', 'Median and 99th percentile of all processors. Buckets are a factor of 2 apart.', 's', quantiles('etw_thread_ready_duration_seconds', '', '')),
			timeseries('Context switches by processor', 'Including switches to and from Idle.', 'suffix:switches/s', topRates('etw_thread_context_switches_total', 'cpu', 'CPU {{cpu}}'), { width: 8 }),
			timeseries('Context switches by process', 'Switches to a thread of the process.', 'suffix:switches/s', topRates('etw_thread_process_context_switches_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Waits by reason', 'Waits of threads. A thread that was preempted is not waiting.', 'suffix:waits/s', topRates('etw_thread_waits_total', 'reason', '{{reason}}'), { width: 8 }),
			timeseries('Waits by process', 'Waits that the threads of the process began.', 'suffix:waits/s', topRates('etw_thread_process_waits_total', 'process', '{{process}}', byProcess), { width: 24 })),
		optIn('Drivers: DPCs and interrupts', ['interrupt'], 'While a DPC or an interrupt service routine runs, no thread runs on that processor.',
			timeseries('Time in DPCs by driver', 'Share of the time of one processor, summed over all processors.', 'percentunit', topDrivers('etw_dpc_duration_seconds'), { stack: true, softMax: 0.001 }),
			timeseries('Time in ISRs by driver', 'Share of the time of one processor, summed over all processors.', 'percentunit', topDrivers('etw_isr_duration_seconds'), { stack: true, softMax: 0.001 }),
			timeseries('p99 DPC duration by driver (upper bound)', 'Above 1 ms sound breaks up and network latency grows. With classic buckets, a factor of 2 apart, the duration is up to that much shorter.', 's', [query(quantile(0.99, 'etw_dpc_duration_seconds', 'driver'), '{{driver}}')], { step: true }),
			heatmap('DPCs by duration', 'All drivers.', 'etw_dpc_duration_seconds'),
			heatmap('ISRs by duration', 'All drivers.', 'etw_isr_duration_seconds', { width: 24, height: 7 })),
		optIn('Page faults and address space', ['page_faults', 'virtual_alloc'], 'A busy host has thousands of page faults per second.',
			timeseries('Page faults by type', 'Only hard faults wait for a disk; the dashboard Disk shows them by process.', 'suffix:faults/s', [query(rate('etw_memory_page_faults_total', 'type', byProcess), '{{type}}')], { width: 8 }),
			timeseries('Address space allocated', 'Bytes reserved or committed, by process.', 'binBps', topRates('etw_memory_virtual_allocated_bytes_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Address space freed', 'Bytes decommitted or released, by process.', 'binBps', topRates('etw_memory_virtual_freed_bytes_total', 'process', '{{process}}', byProcess), { width: 8 })),
		optIn('Images', ['image'], 'Programs, DLLs and drivers as they are loaded.',
			timeseries('Image loads by process', 'Programs, DLLs and drivers loaded in each interval.', 'short', [counted('etw_image_loads_total', 'process', '{{process}}', byProcess)], { bars: true }),
			timeseries('Driver loads', 'Drivers loaded into the kernel in each interval.', 'short', [counted('etw_driver_loads_total', 'driver', '{{driver}}')], { bars: true }),
			table('Program files of running processes', 'Path and checksum of the program of each process name.', { process: 'Process', path: 'Path', checksum: 'Checksum' }, [], {
				info: `max by (process, path, checksum) (etw_process_image_info${at(byProcess)})`, widths: { process: 150, checksum: 110 },
			})),
		optIn('Registry', ['registry'], 'A busy host has thousands of registry operations per second.',
			timeseries('Operations by process', 'All kinds of operations together.', 'ops', topRates('etw_registry_operations_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Operations by kind and result', 'The most frequent combinations.', 'ops', topRates('etw_registry_operations_total', 'operation, result', '{{operation}}: {{result}}', byProcess), { width: 8 }),
			timeseries('p99 duration (upper bound)', '99th percentile by operation. With classic buckets, a factor of 4 apart, the duration is up to that much shorter.', 's', [query(quantile(0.99, 'etw_registry_operation_duration_seconds', 'operation'), '{{operation}}')], { width: 8, step: true })),
	],
});
