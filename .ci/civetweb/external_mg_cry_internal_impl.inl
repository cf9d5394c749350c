/* SPDX-License-Identifier: MIT */
/* Takes the place of civetweb's error log, which writes files: messages go to the callback of the program alone. */
static void mg_cry_internal_impl(const struct mg_connection *connection, const char *function,
				 unsigned line, const char *format, va_list arguments)
{
	char text[512] = "";

	(void)function;
	(void)line;
	if (connection && connection->phys_ctx && connection->phys_ctx->callbacks.log_message) {
		vsnprintf_impl(text, sizeof text, format, arguments);
		text[sizeof text - 1] = '\0';
		connection->phys_ctx->callbacks.log_message(connection, text);
	}
}
