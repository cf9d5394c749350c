/* SPDX-License-Identifier: MIT */
/*
 * UdpIp: UDP datagrams. Addresses and ports are in network order.
 *
 * Source: "UdpIp class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field udp_ip_v0_type_group1[] = {
	POINTER("context"),
	IP4("saddr"),
	PORT("sport"),
	U16("size"),
	IP4("daddr"),
	PORT("dport"),
	U16("dsize"),
};

static struct field udp_ip_v1_type_group1[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
};

static struct field udp_ip_type_group1[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field udp_ip_fail[] = {
	U16("Proto"),
	U16("FailureCode"),
};

static struct field udp_ip_type_group2[] = {
	U32("PID"),
	U32("size"),
	IP6("daddr"),
	IP6("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("seqnum"),
	POINTER("connid"),
};

static const struct kernel_event events[] = {
	{ 10, "SendIPV4" },
	{ 11, "RecvIPV4" },
	{ 17, "Fail" },
	{ 26, "SendIPV6" },
	{ 27, "RecvIPV6" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, udp_ip_v0_type_group1, "UdpIp_V0_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(1, udp_ip_v1_type_group1, "UdpIp_V1_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(2, udp_ip_type_group1, "UdpIp_TypeGroup1", OPCODES(10, 11)),
	LAYOUT(2, udp_ip_fail, "UdpIp_Fail", OPCODES(17)),
	LAYOUT(2, udp_ip_type_group2, "UdpIp_TypeGroup2", OPCODES(26, 27)),
};

const struct kernel_table kernel_table_udp_ip = {
	.guid = GUID_INIT(0xbf3a50c5, 0xa9c9, 0x4988,
			  0xa0, 0x05, 0x2d, 0xf0, 0xb7, 0xc8, 0x0f, 0x80),
	.name = "UdpIp",
	.class = KERNEL_UDP_IP,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};
