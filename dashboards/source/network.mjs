import { at, byProcess, dashboard, grown, heatmap, optIn, query, quantiles, rate, row, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';


export default dashboard({
	uid: 'etw-network',
	description: 'Who talks on the network, how much, and what goes wrong.',
	use: ['process', 'topn'],
	rows: [
		row('Bytes',
			timeseries('Sent by process', 'TCP and UDP payload, loopback included.', 'binBps', topRatesAndRest('etw_network_sent_bytes_total', 'process', '{{process}}', byProcess), { stack: true }),
			timeseries('Received by process', 'TCP and UDP payload, loopback included.', 'binBps', topRatesAndRest('etw_network_received_bytes_total', 'process', '{{process}}', byProcess), { stack: true }),
			timeseries('By protocol', 'All processes that are selected.', 'binBps', [
				query(rate('etw_network_sent_bytes_total', 'protocol', byProcess), '{{protocol}} sent'), query(rate('etw_network_received_bytes_total', 'protocol', byProcess), '{{protocol}} received')]),
			timeseries('Sends and receives', 'Operations, not packets.', 'ops', [query(rate('etw_network_operations_total', 'protocol, operation', byProcess), '{{protocol}} {{operation}}')]),
			table('In the time range', 'By process, with what new processes began with.', { process: 'Process' }, [
				['Sent', grown('etw_network_sent_bytes_total', 'process', byProcess), 'bytes', { bar: true, width: 150 }],
				['Received', grown('etw_network_received_bytes_total', 'process', byProcess), 'bytes'],
				['Connections', grown('etw_tcp_connections_total', 'process', byProcess), 'short'],
				['Retransmits', grown('etw_tcp_retransmits_total', 'process', byProcess), 'short'],
			])),
		row('TCP',
			timeseries('Connections', 'Outbound: connects; inbound: accepts.', 'cps', topRates('etw_tcp_connections_total', 'process, direction', '{{process}} {{direction}}', byProcess)),
			timeseries('Disconnects', 'By process.', 'cps', topRates('etw_tcp_disconnects_total', 'process', '{{process}}', byProcess)),
			timeseries('Retransmits', 'Segments sent again: loss on the way, or a peer that is too slow.', 'pps', topRates('etw_tcp_retransmits_total', 'process', '{{process}}', byProcess)),
			timeseries('Failed connects', 'By reason; the event carries no process.', 'cps', [query(`sum by (reason) (rate(etw_tcp_connect_failures_total${at()}[$__rate_interval])) or on () vector(0)`, '{{reason}}')])),
		optIn('TCP in detail', ['tcp'], 'From the provider Microsoft-Windows-TCPIP.',
			heatmap('How long connects take', 'Until the handshake is done.', 'etw_tcp_connect_duration_seconds'),
			timeseries('Failed connects by process', 'With the reason.', 'cps', topRates('etw_tcp_process_connect_failures_total', 'process, reason', '{{process}}: {{reason}}', byProcess))),
		optIn('DNS', ['dns'], 'From the provider Microsoft-Windows-DNS-Client.',
			timeseries('Queries', 'By process and type.', 'ops', topRates('etw_dns_queries_total', 'process, type', '{{process}} {{type}}', byProcess), { width: 8 }),
			timeseries('Failures', 'By process and status.', 'ops', topRates('etw_dns_failures_total', 'process, status', '{{process}}: {{status}}', byProcess), { width: 8 }),
			timeseries('How long they take', 'From query to answer.', 's', quantiles('etw_dns_query_duration_seconds', '', ''), { width: 8 })),
		optIn('HTTP.sys', ['http'], 'From the provider Microsoft-Windows-HttpService: IIS, WinRM and what else listens through HTTP.sys.',
			timeseries('Requests', 'By site and status code.', 'reqps', topRates('etw_http_requests_total', 'site, code', '{{site}}: {{code}}'), { width: 8 }),
			timeseries('How long they take', 'By site.', 's', quantiles('etw_http_request_duration_seconds', 'site', '{{site}}'), { width: 8 }),
			timeseries('Connections', 'Accepted.', 'cps', [query(`sum(rate(etw_http_connections_total${at()}[$__rate_interval]))`, 'accepted')], { width: 8 })),
	],
});
