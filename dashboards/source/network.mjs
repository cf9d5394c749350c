import { at, byProcess, counted, dashboard, grown, grownCount, heatmap, optIn, query, quantiles, rate, row, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';

const failures = 'No failed connections in this selection: none happened, or neither the collector "tcp" (provider Microsoft-Windows-TCPIP) nor "network" (kernel flag NETWORK_TCPIP) counts them.';

export default dashboard({
	uid: 'etw-network',
	description: 'Which processes use the network, how much they send and receive, and which connections fail.',
	use: ['process', 'topn'],
	rows: [
		row('Traffic',
			timeseries('Sent by process', 'TCP and UDP payload, including loopback.', 'binBps', topRatesAndRest('etw_network_sent_bytes_total', 'process', '{{process}}', byProcess), { stack: true }),
			timeseries('Received by process', 'TCP and UDP payload, including loopback.', 'binBps', topRatesAndRest('etw_network_received_bytes_total', 'process', '{{process}}', byProcess), { stack: true }),
			timeseries('Traffic by protocol', 'Payload of the selected processes.', 'binBps', [
				query(rate('etw_network_sent_bytes_total', 'protocol', byProcess), '{{protocol}} sent'), query(rate('etw_network_received_bytes_total', 'protocol', byProcess), '{{protocol}} received')]),
			timeseries('Sends and receives', 'Send and receive operations. One operation may be several packets.', 'ops', [query(rate('etw_network_operations_total', 'protocol, operation', byProcess), '{{protocol}} {{operation}}')]),
			table('Totals in the time range', 'Network use by process, including the first values of processes that started in the time range.', { process: 'Process' }, [
				['Sent', grown('etw_network_sent_bytes_total', 'process', byProcess), 'bytes', { bar: true, width: 150 }],
				['Received', grown('etw_network_received_bytes_total', 'process', byProcess), 'bytes'],
				['Connections', grownCount('etw_tcp_connections_total', 'process', byProcess), 'short', { width: 105 }],
				['Retransmits', grownCount('etw_tcp_retransmits_total', 'process', byProcess), 'short', { width: 105 }],
			])),
		row('TCP connections',
			timeseries('Connections established', 'Outbound connections were made by the process, inbound ones accepted by it.', 'suffix:conn/s', topRates('etw_tcp_connections_total', 'process, direction', '{{process}} {{direction}}', byProcess)),
			timeseries('Connections closed', 'By process.', 'suffix:conn/s', topRates('etw_tcp_disconnects_total', 'process', '{{process}}', byProcess)),
			timeseries('Segments retransmitted', 'TCP segments retransmitted in each interval, after loss or because the peer answered late.', 'short', [counted('etw_tcp_retransmits_total', 'process', '{{process}}', byProcess)], { bars: true }),
			timeseries('Failed connections by reason', 'In each interval. From the collector tcp where it is on, whose reasons are the exact ones; else from the kernel, which calls most of them "other".', 'short', [query(`${counted('etw_tcp_process_connect_failures_total', 'reason', '', byProcess).expr} or on () ${counted('etw_tcp_connect_failures_total', 'reason', '').expr}`, '{{reason}}')], { bars: true, noValue: failures })),
		optIn('TCP connection time and failures by process', ['tcp'], 'Events of the provider Microsoft-Windows-TCPIP.',
			heatmap('Outbound connections by connection time', 'Time from the request to the end of the handshake.', 'etw_tcp_connect_duration_seconds'),
			timeseries('Failed connections by process and reason', 'Outbound connections in each interval that could not be established.', 'short', [counted('etw_tcp_process_connect_failures_total', 'process, reason', '{{process}}: {{reason}}', byProcess)], { bars: true })),
		optIn('DNS', ['dns'], 'Events of the provider Microsoft-Windows-DNS-Client.',
			timeseries('Queries by process and type', 'Answered from the cache or by a server.', 'suffix:queries/s', topRates('etw_dns_queries_total', 'process, type', '{{process}} {{type}}', byProcess), { width: 8 }),
			timeseries('Failed queries by status', 'In each interval, by process and status.', 'short', [counted('etw_dns_failures_total', 'process, status', '{{process}}: {{status}}', byProcess)], { bars: true, width: 8 }),
			timeseries('Query time', 'Median and 99th percentile, from the query to its answer. Buckets are a factor of 2 apart.', 's', quantiles('etw_dns_query_duration_seconds', '', ''), { width: 8 })),
		optIn('HTTP.sys', ['http'], 'Events of the provider Microsoft-Windows-HttpService: requests to IIS, WinRM and all other programs that listen through HTTP.sys.',
			timeseries('Requests by site and status', 'Requests that were answered.', 'reqps', topRates('etw_http_requests_total', 'site, code', '{{site}}: {{code}}')),
			timeseries('Requests by application pool', 'By request queue, which is the application pool of IIS. _none: answered from the cache of HTTP.sys.', 'reqps', topRates('etw_http_requests_total', 'pool', '{{pool}}')),
			timeseries('Response time by site', 'Median and 99th percentile, from the arrival of the request until its response was sent. Buckets are a factor of 2 apart.', 's', quantiles('etw_http_request_duration_seconds', 'site', '{{site}}'), { width: 8 }),
			timeseries('Responses not sent', 'Responses that could not be sent, in each interval, by site.', 'short', [counted('etw_http_send_errors_total', 'site', '{{site}}')], { bars: true, width: 8, noValue: 'None, or the collector "http" is off.' }),
			timeseries('Connections accepted', 'All sites together.', 'suffix:conn/s', [query(`sum(rate(etw_http_connections_total${at()}[$__rate_interval]))`, 'accepted')], { width: 8 })),
	],
});
