/* SPDX-License-Identifier: MIT */
/*
 * Tables of the keys of a web configuration, one row for each key, as in config/config.c.
 *
 * The format is that of Prometheus' exporter toolkit ("Web configuration",
 * prometheus/exporter-toolkit), so that one file serves for all exporters of a machine. A key is
 * applied or refused, never ignored: settings that the toolkit accepts without effect, such as
 * minimum versions without a certificate, are errors here, and so are settings that this program
 * does not support (HTTP/2, versions before TLS 1.2). docs/web.md lists all keys.
 *
 * The rows read the YAML into struct web_settings. check_tls() then reads the files that the YAML
 * names and has OpenSSL try certificate and key, so that --check-config finds what would prevent
 * the server from starting. The bytes of the files stay in the settings, because the server that
 * uses them is made later, and are overwritten after that. Relative paths start at the folder of
 * the configuration. Each file has the stamp that it had before it was read: a change while it is
 * read then shows as a change afterwards.
 */
#include "exporter/http/web_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/text.h"
#include "config/yaml_rows.h"
#include "exporter/http/auth.h"
#include "exporter/http/crypto.h"

enum { PEM_SIZE_MAX = 1024 * 1024 };

static const char *const pem_keys[WEB_PEMS] = { "cert", "key", "client_ca" };
static const char *const pem_file_keys[WEB_PEMS] = { "cert_file", "key_file", "client_ca_file" };

/* ---- tls_server_config ---- */

static bool read_client_auth(struct yaml_reader *in, const struct yaml_node *node,
			     const struct yaml_row *row, void *base)
{
	/* RequireClientCert is an older name, which the toolkit accepts too. */
	static const char *const words[] = { "NoClientCert",
					     "RequestClientCert",
					     "RequireAnyClientCert",
					     "VerifyClientCertIfGiven",
					     "RequireAndVerifyClientCert",
					     "RequireClientCert",
					     NULL };
	static const enum tls_client_auth types[] = {
		TLS_CLIENT_NONE,        TLS_CLIENT_REQUEST,
		TLS_CLIENT_REQUIRE_ANY, TLS_CLIENT_VERIFY_IF_GIVEN,
		TLS_CLIENT_VERIFY,      TLS_CLIENT_REQUIRE_ANY
	};
	struct web_settings *settings = base;
	unsigned index;

	if (!yaml_word(in, node, row->key, YAML_WORDS(words), &index)) {
		return false;
	}
	settings->tls.client_auth = types[index];
	return true;
}

static bool read_version(struct yaml_reader *in, const struct yaml_node *node,
			 const struct yaml_row *row, void *base)
{
	static const char *const words[] = { "TLS10", "TLS11", "TLS12", "TLS13", NULL };
	enum tls_version *version = yaml_member(base, row);
	unsigned index;

	if (!yaml_word(in, node, row->key, YAML_WORDS(words), &index)) {
		return false;
	}
	if (index < 2) {
		return yaml_wrong(in, node,
				  "%s: %s is not supported, because RFC 8996 forbids the versions "
				  "before TLS 1.2",
				  row->key, words[index]);
	}
	*version = index == 2 ? TLS_VERSION_1_2 : TLS_VERSION_1_3;
	return true;
}

#define PEM(pem)                                      \
	YAML_TO(struct web_settings, pems[pem].text), \
		.at = offsetof(struct web_settings, pems[pem].at)
#define PEM_FILE(pem)                                 \
	YAML_TO(struct web_settings, pems[pem].file), \
		.at = offsetof(struct web_settings, pems[pem].at)

static const struct yaml_shape some_text = { .type = SHAPE_TEXT, .least = 1 };

static const struct yaml_row tls_rows[] = {
	{ "cert", &some_text, PEM(WEB_CERT) },
	{ "cert_file", &some_text, PEM_FILE(WEB_CERT) },
	{ "key", &some_text, PEM(WEB_KEY) },
	{ "key_file", &some_text, PEM_FILE(WEB_KEY) },
	{ "client_ca", &some_text, PEM(WEB_CLIENT_CA) },
	{ "client_ca_file", &some_text, PEM_FILE(WEB_CLIENT_CA) },
	{ "client_auth_type", YAML_SHAPE(.type = SHAPE_TEXT, .read = read_client_auth),
	  .fallback = "NoClientCert" },
	{ "client_allowed_sans",
	  YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .most = 1000, .items = "names",
		     .item = &some_text),
	  YAML_TO_LIST(struct web_settings, allowed_sans, tls.allowed_san_count) },
	{ "min_version", YAML_SHAPE(.type = SHAPE_TEXT, .read = read_version),
	  YAML_TO(struct web_settings, tls.least), .fallback = "TLS12" },
	{ "max_version", YAML_SHAPE(.type = SHAPE_TEXT, .read = read_version),
	  YAML_TO(struct web_settings, tls.most), .fallback = "TLS13" },
	{ "cipher_suites",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = 100, .items = "suites",
		     .item = YAML_SHAPE(.type = SHAPE_WORD, .word = tls_suite_name)),
	  YAML_TO_LIST(struct web_settings, suites, tls.suite_count) },
	{ "prefer_server_cipher_suites", &yaml_switch_shape,
	  YAML_TO(struct web_settings, tls.prefer_server_suites), .fallback = "on" },
	{ "curve_preferences",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = 100, .items = "curves",
		     .item = YAML_SHAPE(.type = SHAPE_WORD, .word = tls_curve_name)),
	  YAML_TO_LIST(struct web_settings, curves, tls.curve_count) },
};

/* Sets the name that errors use for a PEM text. */
static bool name_pem(struct web_pem_source *pem, const char *key, struct etw_error *err)
{
	struct etw_text name = { 0 };

	text_add_string(&name, key);
	if (pem->file) {
		text_add_string(&name, " '");
		text_add_shown(&name, pem->file);
		text_add_string(&name, "'");
	}
	if (name.failed) {
		text_free(&name);
		return error_no_memory(err, key);
	}
	pem->name = name.data;
	return true;
}

/* Finds the source of a PEM text, and reads its file. */
static bool read_pem(struct yaml_reader *in, struct web_settings *settings, enum web_pem which)
{
	struct web_pem_source *pem = &settings->pems[which];
	struct etw_error why = { 0 };
	struct etw_text hint = { 0 };
	bool good;

	if (!pem->text && !pem->file) {
		return true;
	}
	if (pem->text && pem->file) {
		return yaml_wrong(in, pem->at, "only one of %s and %s is possible", pem_keys[which],
				  pem_file_keys[which]);
	}
	if (!name_pem(pem, pem->file ? pem_file_keys[which] : pem_keys[which], in->err)) {
		return false;
	}
	if (pem->text) {
		return true;
	}
	pem->path = file_beside(yaml_name(in->tree), pem->file);
	if (!pem->path) {
		return error_no_memory(in->err, pem_file_keys[which]);
	}
	os_file_stamp(pem->path, &pem->stamp);
	if (!file_read_whole(pem->path, PEM_SIZE_MAX, &pem->bytes, &pem->size, &why)) {
		if (why.code == ETW_ERROR_NO_MEMORY) {
			return error_no_memory(in->err, pem_file_keys[which]);
		}
		missing_path_explain(yaml_name(in->tree), pem->file, &hint);
		good = yaml_wrong(in, pem->at, "%s %s%s", pem->name, why.text,
				  hint.data ? hint.data : "");
		text_free(&hint);
		return good;
	}
	if (which == WEB_KEY && os_file_is_public(pem->path)) {
		yaml_warning(in->tree, pem->at,
			     "%s: every user of this machine can read the private key", pem->name);
	}
	return true;
}

static struct tls_pem pem_of(const struct web_pem_source *source)
{
	if (source->text) {
		return (struct tls_pem){ source->text, strlen(source->text), source->name };
	}
	return (struct tls_pem){ source->bytes, source->size, source->name };
}

static bool has_pem(const struct web_settings *settings, enum web_pem which)
{
	return settings->pems[which].text || settings->pems[which].file;
}

/* Checks keys that have an effect, or are safe, only together with others. */
static bool check_clients(struct yaml_reader *in, const struct yaml_node *node,
			  const struct web_settings *settings)
{
	enum tls_client_auth type = settings->tls.client_auth;
	bool verifies = type == TLS_CLIENT_VERIFY || type == TLS_CLIENT_VERIFY_IF_GIVEN;

	if (has_pem(settings, WEB_CLIENT_CA) && type == TLS_CLIENT_NONE) {
		return yaml_wrong(in, settings->pems[WEB_CLIENT_CA].at,
				  "an authority for clients has no effect without "
				  "client_auth_type, such as RequireAndVerifyClientCert");
	}
	if (verifies && !has_pem(settings, WEB_CLIENT_CA)) {
		return yaml_wrong(
			in, yaml_find(node, "client_auth_type"),
			"client_auth_type: client_ca_file is needed; without it the public "
			"authorities of the system would vouch for clients");
	}
	if (settings->tls.allowed_san_count > 0 && type != TLS_CLIENT_REQUIRE_ANY &&
	    type != TLS_CLIENT_VERIFY) {
		return yaml_wrong(in, yaml_find(node, "client_allowed_sans"),
				  "client_allowed_sans needs the client_auth_type "
				  "RequireAndVerifyClientCert or RequireAnyClientCert; with others "
				  "clients may come without a certificate");
	}
	return true;
}

static bool check_tls(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct web_settings *settings = base;
	struct etw_error why = { 0 };
	struct tls_server *tried;
	bool good = true;

	if (node->size == 0) {
		return true; /* the same as if the key were absent */
	}
	for (unsigned i = 0; i < WEB_PEMS; i++) {
		if (i != WEB_CLIENT_CA && !has_pem(settings, i)) {
			good = yaml_wrong(in, node, "tls_server_config needs %s", pem_file_keys[i]);
		} else {
			good = read_pem(in, settings, i) && good;
		}
	}
	if (settings->tls.least > settings->tls.most) {
		good = yaml_wrong(in, yaml_find(node, "max_version"),
				  "max_version is before min_version");
	}
	good = check_clients(in, node, settings) && good;
	if (!good) {
		return false;
	}
	settings->tls.cert = pem_of(&settings->pems[WEB_CERT]);
	settings->tls.key = pem_of(&settings->pems[WEB_KEY]);
	settings->tls.client_ca = pem_of(&settings->pems[WEB_CLIENT_CA]);
	settings->tls.allowed_sans = settings->allowed_sans;
	settings->tls.suites = settings->suites;
	settings->tls.curves = settings->curves;
	tried = tls_server_new(&settings->tls, &why);
	if (!tried) {
		return why.code == ETW_ERROR_NO_MEMORY ? error_no_memory(in->err, "TLS") :
							 yaml_wrong(in, node, "%s", why.text);
	}
	tls_server_free(tried);
	settings->has_tls = true;
	return true;
}

/* ---- http_server_config ---- */

static bool check_http2(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct web_settings *settings = base;

	return !settings->http2 ||
	       yaml_wrong(in, node,
			  "http2: HTTP/2 is not supported; without this key, or "
			  "with false, clients use HTTP/1.1");
}

/* Refuses values that would end the header line or begin another one. */
static bool check_header(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	(void)base;
	for (const char *c = node->text; *c != '\0'; c++) {
		if (*c < ' ' || *c > '~') {
			return yaml_wrong(in, node,
					  "%s: a header consists of ASCII letters, digits, "
					  "punctuation and blanks",
					  node->key->text);
		}
	}
	return true;
}

static bool check_value(struct yaml_reader *in, const struct yaml_node *node,
			const char *const *values)
{
	if (node->size == 0) {
		return true;
	}
	for (size_t i = 0; values[i]; i++) {
		if (strcmp(values[i], node->text) == 0) {
			return true;
		}
	}
	return yaml_wrong(in, node, "%s: expected %s%s%s, found '%s'", node->key->text, values[0],
			  values[1] ? " or " : "", values[1] ? values[1] : "", node->text);
}

static bool check_content_type_options(struct yaml_reader *in, const struct yaml_node *node,
				       void *base)
{
	static const char *const values[] = { "nosniff", NULL };

	(void)base;
	return check_value(in, node, values);
}

static bool check_frame_options(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	static const char *const values[] = { "deny", "sameorigin", NULL };

	(void)base;
	return check_value(in, node, values);
}

#define HEADER(index, function)                              \
	YAML_SHAPE(.type = SHAPE_TEXT, .check = (function)), \
		YAML_TO(struct web_settings, headers[index])

static const struct yaml_row header_rows[WEB_HEADERS] = {
	{ "Content-Security-Policy", HEADER(0, check_header) },
	{ "X-Frame-Options", HEADER(1, check_frame_options) },
	{ "X-Content-Type-Options",
	  HEADER(WEB_HEADER_CONTENT_TYPE_OPTIONS, check_content_type_options) },
	{ "X-XSS-Protection", HEADER(3, check_header) },
	{ "Strict-Transport-Security", HEADER(4, check_header) },
};

const char *web_header_name(size_t index)
{
	return header_rows[index].key;
}

static const struct yaml_row http_rows[] = {
	{ "http2", YAML_SHAPE(.type = SHAPE_SWITCH, .check = check_http2),
	  YAML_TO(struct web_settings, http2) },
	{ .key = "headers", .shape = YAML_MAP_OF(header_rows) },
};

/* ---- basic_auth_users ---- */

static bool read_user(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	const struct yaml_node *name = node->key;
	struct auth_user *user = base;
	struct etw_error why = { 0 };

	(void)row;
	for (const char *c = name->text; *c != '\0'; c++) {
		if (*c == ':' || (unsigned char)*c < ' ' || *c == 0x7f) {
			return yaml_wrong(in, name,
					  "a user's name contains neither colons nor control "
					  "characters: RFC 7617 cannot transmit them");
		}
	}
	if (name->size == 0 || name->size > 255) {
		return yaml_wrong(in, name, "a user's name has from 1 to 255 bytes");
	}
	if (!password_check_hash(node->text, &why)) {
		return yaml_wrong(in, node, "%s: %s", name->text, why.text);
	}
	user->name = name->text;
	user->hash = node->text;
	return true;
}

/* ---- rate_limit ---- */

/* Parses a duration of Go ("1s", "1m30s", "1.5h") into nanoseconds; 0 needs no unit. */
static bool parse_go_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 },  { "us", 1e3 }, { "\xc2\xb5s", 1e3 }, { "ms", 1e6 },
		      { "s", 1e9 }, { "m", 6e10 }, { "h", 3.6e12 } };
	double sum = 0;

	*ns = 0;
	if (strcmp(text, "0") == 0) {
		return true;
	}
	if (*text == '\0') {
		return false;
	}
	while (*text != '\0') {
		size_t digits = strspn(text, "0123456789."), i = 0;
		char *end;
		double number = strtod(text, &end);

		if (digits == 0 || end != text + digits) {
			return false;
		}
		text += digits;
		while (i < sizeof units / sizeof units[0] &&
		       (strncmp(text, units[i].name, strlen(units[i].name)) != 0 ||
			/* "m" is also the beginning of "ms" */
			(strcmp(units[i].name, "m") == 0 && text[1] == 's'))) {
			i++;
		}
		if (i == sizeof units / sizeof units[0]) {
			return false;
		}
		text += strlen(units[i].name);
		sum += number * units[i].ns;
	}
	if (sum > (double)RATE_INTERVAL_MOST_NS) {
		return false;
	}
	*ns = (uint64_t)sum;
	return true;
}

static bool read_interval(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row, void *base)
{
	return parse_go_duration(node->text, yaml_member(base, row)) ||
	       yaml_wrong(in, node, "interval: '%s' is not a duration such as 1s, of at most 24h",
			  node->text);
}

static bool check_rate(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct web_settings *settings = base;

	return settings->rate_interval_ns == 0 || settings->rate_burst > 0 ||
	       yaml_wrong(in, node, "rate_limit: with a burst of 0 every request would be refused");
}

static const struct yaml_row rate_rows[] = {
	{ "interval", YAML_SHAPE(.type = SHAPE_TEXT, .read = read_interval),
	  YAML_TO(struct web_settings, rate_interval_ns) },
	{ "burst", YAML_NUMBER(0, RATE_BURST_MOST), YAML_TO(struct web_settings, rate_burst) },
};

/* ---- the file ---- */

static const struct yaml_row settings_rows[] = {
	{ .key = "tls_server_config",
	  .shape = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(tls_rows), .check = check_tls) },
	{ .key = "http_server_config", .shape = YAML_MAP_OF(http_rows) },
	{ "basic_auth_users",
	  YAML_SHAPE(.type = SHAPE_NAMES, .most = WEB_USERS_MOST, .items = "users",
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .read = read_user)),
	  YAML_TO_LIST(struct web_settings, users, user_count) },
	{ .key = "rate_limit",
	  .shape = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(rate_rows), .check = check_rate) },
};

static bool check_settings(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct web_settings *settings = base;

	if (settings->user_count > 0 && !settings->has_tls) {
		yaml_warning(in->tree, yaml_find(node, "basic_auth_users"),
			     "basic_auth_users: without tls_server_config passwords travel "
			     "unencrypted");
	}
	return true;
}

static const struct yaml_shape settings_shape = { .type = SHAPE_MAP,
						  YAML_ROWS(settings_rows),
						  .check = check_settings };

struct web_settings *web_settings_read(const char *path, struct problems *problems,
				       struct etw_error *err)
{
	struct web_settings *settings = calloc(1, sizeof *settings);
	struct yaml_reader in = { .err = err, .owner = settings };

	if (!settings) {
		error_no_memory(err, "the web configuration");
		return NULL;
	}
	os_file_stamp(path, &settings->stamp);
	settings->tree = in.tree = yaml_open_file(path, path, problems, err);
	if (!settings->tree) {
		web_settings_free(settings);
		return NULL;
	}
	settings->broken = !yaml_read_root(&in, &settings_shape, "the web configuration", settings);
	return settings;
}

void web_settings_forget_files(struct web_settings *settings)
{
	for (unsigned i = 0; i < WEB_PEMS; i++) {
		struct web_pem_source *pem = &settings->pems[i];

		if (pem->bytes) {
			crypto_wipe(pem->bytes, pem->size);
		}
		free(pem->bytes);
		pem->bytes = NULL;
	}
}

void web_settings_free(struct web_settings *settings)
{
	if (!settings) {
		return;
	}
	web_settings_forget_files(settings);
	for (unsigned i = 0; i < WEB_PEMS; i++) {
		free(settings->pems[i].path);
		free(settings->pems[i].name);
	}
	yaml_close(settings->tree);
	free(settings);
}
