/* SPDX-License-Identifier: MIT */
/*
 * TcpIp: TCP segments and connections. Addresses and ports are in network order.
 *
 * Source: "TcpIp class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field tcp_ip_v0_type_group1[] = {
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("size"),
	U32("PID"),
};

static struct field tcp_ip_v1_send[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("startime"),
	U32("endtime"),
	POINTER("connid"),
	U32("seqnum"),
};

static struct field tcp_ip_send_ipv4[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("startime"),
	U32("endtime"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field tcp_ip_v1_receive[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	POINTER("connid"),
	U32("seqnum"),
};

static struct field tcp_ip_type_group1[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field tcp_ip_v1_type_group2[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U16("mss"),
	U16("sackopt"),
	U16("tsopt"),
	U16("wsopt"),
	U32("rcvwin"),
	I16("rcvwinscale"),
	I16("sndwinscale"),
	POINTER("connid"),
	U32("seqnum"),
};

static struct field tcp_ip_type_group2[] = {
	U32("PID"),
	U32("size"),
	IP4("daddr"),
	IP4("saddr"),
	PORT("dport"),
	PORT("sport"),
	U16("mss"),
	U16("sackopt"),
	U16("tsopt"),
	U16("wsopt"),
	U32("rcvwin"),
	I16("rcvwinscale"),
	I16("sndwinscale"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field tcp_ip_v1_fail[] = {
	U32("Proto"),
};

static struct field tcp_ip_fail[] = {
	U16("Proto"),
	U16("FailureCode"),
};

static struct field tcp_ip_send_ipv6[] = {
	U32("PID"),
	U32("size"),
	IP6("daddr"),
	IP6("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("startime"),
	U32("endtime"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field tcp_ip_type_group3[] = {
	U32("PID"),
	U32("size"),
	IP6("daddr"),
	IP6("saddr"),
	PORT("dport"),
	PORT("sport"),
	U32("seqnum"),
	POINTER("connid"),
};

static struct field tcp_ip_type_group4[] = {
	U32("PID"),
	U32("size"),
	IP6("daddr"),
	IP6("saddr"),
	PORT("dport"),
	PORT("sport"),
	U16("mss"),
	U16("sackopt"),
	U16("tsopt"),
	U16("wsopt"),
	U32("rcvwin"),
	I16("rcvwinscale"),
	I16("sndwinscale"),
	U32("seqnum"),
	POINTER("connid"),
};

static const struct kernel_event events[] = {
	{ 10, "SendIPV4" },
	{ 11, "RecvIPV4" },
	{ 12, "ConnectIPV4" },
	{ 13, "DisconnectIPV4" },
	{ 14, "RetransmitIPV4" },
	{ 15, "AcceptIPV4" },
	{ 16, "ReconnectIPV4" },
	{ 17, "Fail" },
	{ 18, "TCPCopyIPV4" },
	{ 19, "ARPCopy" },
	{ 20, "FullACK" },
	{ 21, "PartACK" },
	{ 22, "DupACK" },
	{ 26, "SendIPV6" },
	{ 27, "RecvIPV6" },
	{ 28, "ConnectIPV6" },
	{ 29, "DisconnectIPV6" },
	{ 30, "RetransmitIPV6" },
	{ 31, "AcceptIPV6" },
	{ 32, "ReconnectIPV6" },
	{ 34, "TCPCopyIPV6" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(0, tcp_ip_v0_type_group1, "TcpIp_V0_TypeGroup1", OPCODES(10, 11, 12, 13, 14, 15)),
	LAYOUT(1, tcp_ip_v1_send, "TcpIp_V1_Send", OPCODES(10)),
	LAYOUT(2, tcp_ip_send_ipv4, "TcpIp_SendIPV4", OPCODES(10)),
	LAYOUT(1, tcp_ip_v1_receive, "TcpIp_V1_Receive", OPCODES(11)),
	LAYOUT(2, tcp_ip_type_group1, "TcpIp_TypeGroup1", OPCODES(11, 13, 14, 16, 18)),
	LAYOUT(1, tcp_ip_v1_type_group2, "TcpIp_V1_TypeGroup2", OPCODES(12, 15)),
	LAYOUT(2, tcp_ip_type_group2, "TcpIp_TypeGroup2", OPCODES(12, 15)),
	LAYOUT(1, tcp_ip_v1_receive, "TcpIp_V1_TypeGroup1", OPCODES(13, 14, 16)),
	LAYOUT(1, tcp_ip_v1_fail, "TcpIp_V1_Fail", OPCODES(17)),
	LAYOUT(2, tcp_ip_fail, "TcpIp_Fail", OPCODES(17)),
	LAYOUT(1, tcp_ip_v1_receive, "TcpIp_V1_TypeGroup3", OPCODES(18, 19, 20, 21, 22)),
	LAYOUT(2, tcp_ip_send_ipv6, "TcpIp_SendIPV6", OPCODES(26)),
	LAYOUT(2, tcp_ip_type_group3, "TcpIp_TypeGroup3", OPCODES(27, 29, 30, 32, 34)),
	LAYOUT(2, tcp_ip_type_group4, "TcpIp_TypeGroup4", OPCODES(28, 31)),
};

const struct kernel_table kernel_table_tcp_ip = {
	.guid = GUID_INIT(0x9a280ac0, 0xc8e0, 0x11d1,
			  0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2),
	.name = "TcpIp",
	.class = KERNEL_TCP_IP,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};
