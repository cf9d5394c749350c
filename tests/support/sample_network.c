/* SPDX-License-Identifier: MIT */
#include "tests/support/sample_machine.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t our_v4[4] = { 10, 20, 4, 17 };
static const uint8_t our_v6[16] = { 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x14, 0x00, 0x04, [15] = 0x17 };

uint16_t ephemeral_port(struct machine *m)
{
	return (uint16_t)between(m, 49700, 65000);
}

struct connection connection_v4(struct machine *m, const struct process *process,
				const char *remote, uint16_t remote_port, uint16_t local_port)
{
	struct connection c = { .network = { .process_id = process->id,
					     .remote_port = remote_port,
					     .local_port = local_port,
					     .connection = m->next_connection += 0x1a0 },
				.process = process };
	char *at = NULL;

	memcpy(c.network.local, our_v4, sizeof our_v4);
	for (size_t i = 0; i < 4; i++) {
		c.network.remote[i] = (uint8_t)strtoul(i == 0 ? remote : at + 1, &at, 10);
	}
	if (c.network.remote[0] == 127) {
		memcpy(c.network.local, c.network.remote, 4);
	}
	return c;
}

struct connection connection_v6(struct machine *m, const struct process *process,
				uint16_t remote_tail, uint16_t remote_port, uint16_t local_port)
{
	struct connection c = { .network = { .ipv6 = true,
					     .process_id = process->id,
					     .remote_port = remote_port,
					     .local_port = local_port,
					     .connection = m->next_connection += 0x1a0 },
				.process = process };

	memcpy(c.network.local, our_v6, sizeof our_v6);
	memcpy(c.network.remote, our_v6, sizeof our_v6);
	c.network.remote[14] = (uint8_t)(remote_tail >> 8);
	c.network.remote[15] = (uint8_t)remote_tail;
	return c;
}

void tcp_event(struct machine *m, const struct connection *connection, enum network_opcode opcode,
	       uint32_t size)
{
	struct kernel_network event = connection->network;
	struct sample_process_totals *totals = connection->process->totals;

	event.size = size;
	event_network(&m->events, opcode, &event);
	let_time_pass(m, between(m, 2000, 15000));
	switch (opcode) {
	case OP_NET_SEND:
		totals->tcp_sent_bytes += size;
		break;
	case OP_NET_RECEIVE:
		totals->tcp_received_bytes += size;
		break;
	case OP_NET_CONNECT:
		totals->connects++;
		break;
	case OP_NET_ACCEPT:
		totals->accepts++;
		break;
	case OP_NET_DISCONNECT:
		totals->disconnects++;
		break;
	case OP_NET_RETRANSMIT:
		totals->retransmits++;
		break;
	default:
		break;
	}
}

void tcp_failure(struct machine *m, uint16_t code)
{
	event_network_fail(&m->events, false, 2 /* AF_INET */, code);
	let_time_pass(m, 2000);
	m->totals->connect_failures++;
}

void udp_event(struct machine *m, const struct connection *connection, enum network_opcode opcode,
	       uint32_t size)
{
	struct kernel_network event = connection->network;

	event.udp = true;
	event.size = size;
	event_network(&m->events, opcode, &event);
	let_time_pass(m, between(m, 2000, 9000));
	if (opcode == OP_NET_SEND) {
		connection->process->totals->udp_sent_bytes += size;
	} else {
		connection->process->totals->udp_received_bytes += size;
	}
}
