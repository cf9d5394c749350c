/* SPDX-License-Identifier: MIT */
/*
 * ALPC: local procedure calls.
 *
 * Source: "ALPC class", Microsoft Learn; WindowsKernelTrace.mof, public in tekert/goetw.
 */
#include "decode/kernel/layout.h"

static struct field send_message[] = {
	U32("MessageID"),
};

static struct field wait_for_new_message[] = {
	U32("IsServerPort"),
	WSTRING("PortName"),
};

static struct field unwait[] = {
	U32("Status"),
};

static const struct kernel_event events[] = {
	{ 33, "SendMessage" },
	{ 34, "ReceiveMessage" },
	{ 35, "WaitForReply" },
	{ 36, "WaitForNewMessage" },
	{ 37, "Unwait" },
};

static struct kernel_layout layouts[] = {
	LAYOUT(2, send_message, "ALPC_Send_Message", OPCODES(33)),
	LAYOUT(2, send_message, "ALPC_Receive_Message", OPCODES(34)),
	LAYOUT(2, send_message, "ALPC_Wait_For_Reply", OPCODES(35)),
	LAYOUT(2, wait_for_new_message, "ALPC_Wait_For_New_Message", OPCODES(36)),
	LAYOUT(2, unwait, "ALPC_Unwait", OPCODES(37)),
};

const struct kernel_table kernel_table_alpc = {
	.guid = GUID_INIT(0x45d8cccd, 0x539f, 0x4b72,
			  0xa8, 0xb7, 0x5c, 0x68, 0x31, 0x42, 0x60, 0x9a),
	.name = "ALPC",
	.class = KERNEL_OTHER,
	.events = events,
	.event_count = ROWS(events),
	.layouts = layouts,
	.layout_count = ROWS(layouts),
};
