/* SPDX-License-Identifier: MIT */
/* Takes the place of civetweb's access log, which writes files: the exporter has none. */
static void log_access(const struct mg_connection *connection)
{
	(void)connection;
}
