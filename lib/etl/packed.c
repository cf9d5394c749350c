/* SPDX-License-Identifier: MIT */
/*
 * Unpacks recordings into temporary files.
 *
 * A recording is read by position, because its buffers are needed in time order, not in file order,
 * and names are at its end. A pipe or a packed file has no positions. So it is copied into a
 * temporary file first, which is then read like any recording. This needs little memory, but space
 * on the disk.
 *
 * The first bytes of a file determine its format. A recording begins with the size of a buffer
 * (docs/etl-format.md section 1.1), which cannot be the beginning of any format below, so for a
 * plain recording one read of a few bytes is enough. A stream is copied into a temporary file
 * unchanged; if that file is packed, it is unpacked into a second one. So the list of files at the
 * end of a zip archive can always be read.
 *
 * gzip is unpacked by zlib, because libarchive does not verify the checksum ("XXX TODO" in
 * consume_trailer(), libarchive/libarchive, libarchive/archive_read_support_filter_gzip.c). xz is
 * unpacked by liblzma, because libarchive sets no limit for memory, and a file can request up to 4
 * GiB. libarchive reads zip and zstd, and only these two formats are registered; it verifies their
 * checksums, and libzstd refuses windows above 128 MiB.
 *
 * Archives are untrusted input. The unpacked size is limited (struct etl_packed_limits), because a
 * few kilobytes can unpack to terabytes, and the disk is never filled: what states a size that has
 * no room is refused at once, the rest when it reaches the limit. Names in an archive are only
 * shown and compared; no file with such a name is created. An archive inside an archive is not
 * unpacked, nor is an encrypted one. Files in a zip archive that do not use deflate are refused,
 * because some other methods use as much memory as the file requests.
 */
#include "lib/etl/packed.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/files.h"
#include "base/glob.h"
#include "base/print.h"
#include "base/text.h"

enum {
	BLOCK_SIZE = 64 << 10,
	ENTRIES_MAX = 10000, /* most files of a zip archive */
	NAMES_SHOWN = 5,
	LIST_MAX = 16 << 20, /* most bytes of the list of files, which libarchive keeps in memory */
	XZ_MEMORY_MAX = 160 << 20, /* xz -9 makes files that need 65 MiB */
};

const struct etl_packed_limits etl_packed_limits = {
	.bytes_max = UINT64_C(64) << 30,
	.ratio_from = UINT64_C(256) << 20,
	.ratio_max = 1000, /* deflate can reach 1032; recordings reach 5 to 20 */
};

/* A packed file that is being unpacked into a temporary one. */
struct unpacking {
	struct os_file *packed; /* borrowed */
	uint64_t at;            /* offset of the next byte to read */
	uint64_t taken;      /* packed bytes that were read for the present file of the archive */
	bool lists;          /* the list of files of a zip archive is being read */
	struct os_file *out; /* owned */
	const char *choice; /* name of the file to take from an archive; NULL: the only recording in
			       it */
	const struct etl_packed_limits *limits;
	const char *folder; /* of the temporary file; borrowed */
	uint64_t room;      /* bytes that are free on its disk */
	/* Owned. The entry that libarchive 3.6.2 has itself is used without a check that it could
	 * be allocated. */
	struct archive_entry *entry;
	struct progress progress;
	uint8_t block[BLOCK_SIZE];
};

/* ---- the temporary file ---- */

/* Returns the most bytes of the temporary file. A tenth of the disk's free space stays free,
 * because other programs may need it. */
static uint64_t room_for_file(const struct unpacking *unpacking)
{
	return unpacking->room - unpacking->room / 10;
}

static bool check_size(const struct unpacking *unpacking, uint64_t size, struct etw_error *err)
{
	const struct etl_packed_limits *limits = unpacking->limits;

	if (size > limits->bytes_max) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "has more than %" PRIu64
				 " bytes: too many for a temporary file; make a file of it first",
				 limits->bytes_max);
	}
	if (size > room_for_file(unpacking)) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "needs at least %" PRIu64
				 " bytes for a temporary file, and the disk of %s has %" PRIu64
				 " free, of which a tenth stays free: name another folder in the "
				 "environment, in %s",
				 size, unpacking->folder, unpacking->room, os_temporary_variable);
	}
	if (unpacking->packed && size > limits->ratio_from &&
	    size / limits->ratio_max > unpacking->taken) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "unpacks to more than %" PRIu64
				 " times its size, which no recording does; unpack it first, if "
				 "it is one",
				 limits->ratio_max);
	}
	return true;
}

/* Checks the size that a packed file states, before anything is unpacked. */
static bool check_stated(const struct unpacking *unpacking, uint64_t size, struct etw_error *err)
{
	return (size <= unpacking->limits->bytes_max && size <= room_for_file(unpacking)) ||
	       check_size(unpacking, size, err);
}

static bool add(struct unpacking *unpacking, const void *bytes, size_t size, struct etw_error *err)
{
	return check_size(unpacking, os_file_size(unpacking->out) + size, err) &&
	       os_file_append(unpacking->out, bytes, size, err);
}

/* Reads the next block of the packed file. */
static bool next_block(struct unpacking *unpacking, size_t *got, struct etw_error *err)
{
	uint64_t size = os_file_size(unpacking->packed);

	if (!os_file_read(unpacking->packed, unpacking->at, unpacking->block, BLOCK_SIZE, got,
			  err)) {
		return false;
	}
	unpacking->at += *got;
	unpacking->taken += *got;
	progress_show(&unpacking->progress, unpacking->at, size, 0, size);
	return true;
}

/* ---- gzip ---- */

/*
 * Checks what follows a member: another member, or zeros that pad to a block of a tape. Returns
 * true if there is another member.
 */
static bool next_member(struct unpacking *unpacking, z_stream *stream, struct etw_error *err)
{
	while (true) {
		size_t got;

		while (stream->avail_in > 0 && *stream->next_in == 0) {
			stream->next_in++;
			stream->avail_in--;
		}
		if (stream->avail_in > 0) {
			return *stream->next_in == 0x1f ||
			       error_set(err, ETW_ERROR_FORMAT,
					 "is packed by gzip and has other bytes after it");
		}
		if (!next_block(unpacking, &got, err) || got == 0) {
			return false;
		}
		stream->next_in = unpacking->block;
		stream->avail_in = (uInt)got;
	}
}

static bool inflate_all(struct unpacking *unpacking, z_stream *stream, uint8_t *out,
			struct etw_error *err)
{
	bool more = true;

	while (more) {
		int result;

		if (stream->avail_in == 0) {
			size_t got;

			if (!next_block(unpacking, &got, err)) {
				return false;
			}
			if (got == 0) {
				return error_set(err, ETW_ERROR_FORMAT,
						 "is packed by gzip and cut short");
			}
			stream->next_in = unpacking->block;
			stream->avail_in = (uInt)got;
		}
		stream->next_out = out;
		stream->avail_out = BLOCK_SIZE;
		result = inflate(stream, Z_NO_FLUSH);
		if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
			return error_set(err, ETW_ERROR_FORMAT,
					 "is packed by gzip and damaged at %" PRIu64 ": %s",
					 unpacking->at - stream->avail_in,
					 stream->msg ? stream->msg : zError(result));
		}
		if (!add(unpacking, out, BLOCK_SIZE - stream->avail_out, err)) {
			return false;
		}
		if (result == Z_STREAM_END) {
			struct etw_error after = { 0 };

			more = next_member(unpacking, stream, &after);
			if (after.code != ETW_ERROR_NONE) {
				return error_set(err, after.code, "%s", after.text);
			}
			inflateReset(stream);
		}
	}
	return true;
}

static bool unpack_gzip(struct unpacking *unpacking, struct etw_error *err)
{
	uint8_t *out = malloc(BLOCK_SIZE);
	z_stream stream = { 0 };
	bool good;

	/* 15: the largest window; 16: with the header and the checksum of gzip. */
	if (!out || inflateInit2(&stream, 15 + 16) != Z_OK) {
		free(out);
		return error_no_memory(err, "what is packed by gzip");
	}
	good = inflate_all(unpacking, &stream, out, err);
	inflateEnd(&stream);
	free(out);
	return good;
}

/* ---- xz ---- */

static bool fail_xz(lzma_ret result, uint64_t at, struct etw_error *err)
{
	switch (result) {
	case LZMA_MEM_ERROR:
		return error_no_memory(err, "what is packed by xz");
	case LZMA_MEMLIMIT_ERROR:
		return error_set(err, ETW_ERROR_LIMIT,
				 "is packed by xz and needs more than %d MiB of memory to be "
				 "unpacked: unpack it first",
				 XZ_MEMORY_MAX >> 20);
	case LZMA_BUF_ERROR:
		return error_set(err, ETW_ERROR_FORMAT, "is packed by xz and cut short");
	case LZMA_OPTIONS_ERROR:
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "is packed by a kind of xz that is not read here: unpack it "
				 "first");
	default:
		return error_set(err, ETW_ERROR_FORMAT, "is packed by xz and damaged at %" PRIu64,
				 at);
	}
}

/* At the end of the input liblzma gets LZMA_FINISH; it then returns LZMA_BUF_ERROR if bytes are
 * missing. */
static bool unxz_all(struct unpacking *unpacking, lzma_stream *stream, uint8_t *out,
		     struct etw_error *err)
{
	lzma_action action = LZMA_RUN;
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		if (stream->avail_in == 0 && action == LZMA_RUN) {
			if (!next_block(unpacking, &stream->avail_in, err)) {
				return false;
			}
			stream->next_in = unpacking->block;
			action = stream->avail_in == 0 ? LZMA_FINISH : LZMA_RUN;
		}
		stream->next_out = out;
		stream->avail_out = BLOCK_SIZE;
		result = lzma_code(stream, action);
		if (!add(unpacking, out, BLOCK_SIZE - stream->avail_out, err)) {
			return false;
		}
	}
	return result == LZMA_STREAM_END || fail_xz(result, unpacking->at - stream->avail_in, err);
}

static bool unpack_xz(struct unpacking *unpacking, struct etw_error *err)
{
	uint8_t *out = malloc(BLOCK_SIZE);
	lzma_stream stream = LZMA_STREAM_INIT;
	bool good;

	if (!out || lzma_stream_decoder(&stream, XZ_MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK) {
		free(out);
		return error_no_memory(err, "what is packed by xz");
	}
	good = unxz_all(unpacking, &stream, out, err);
	lzma_end(&stream);
	free(out);
	return good;
}

/* ---- libarchive ---- */

static bool list_is_too_long(const struct unpacking *unpacking)
{
	return unpacking->lists && unpacking->taken > LIST_MAX;
}

static la_ssize_t on_read(struct archive *archive, void *context, const void **block)
{
	struct unpacking *unpacking = context;
	struct etw_error err = { 0 };
	size_t got;

	if (!next_block(unpacking, &got, &err)) {
		archive_set_error(archive, EIO, "%s", err.text);
		return ARCHIVE_FATAL;
	}
	if (list_is_too_long(unpacking)) {
		return ARCHIVE_FATAL; /* libarchive replaces the text of the error */
	}
	*block = unpacking->block;
	return (la_ssize_t)got;
}

static la_int64_t on_seek(struct archive *archive, void *context, la_int64_t offset, int whence)
{
	struct unpacking *unpacking = context;
	uint64_t size = os_file_size(unpacking->packed);
	uint64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? unpacking->at : size;

	(void)archive;
	if (offset < 0 ? 0 - (uint64_t)offset > from : (uint64_t)offset > size - from) {
		return ARCHIVE_FATAL;
	}
	unpacking->at = from + (uint64_t)offset;
	return (la_int64_t)unpacking->at;
}

static la_int64_t on_skip(struct archive *archive, void *context, la_int64_t count)
{
	struct unpacking *unpacking = context;
	uint64_t before = unpacking->at;
	uint64_t left = os_file_size(unpacking->packed) - before;

	(void)archive;
	if (count > 0) {
		unpacking->at += (uint64_t)count < left ? (uint64_t)count : left;
	}
	return (la_int64_t)(unpacking->at - before);
}

static bool fail(struct archive *archive, const char *format_name, struct etw_error *err)
{
	const char *text = archive_error_string(archive);

	if (archive_errno(archive) == ENOMEM) {
		return error_no_memory(err, format_name);
	}
	return error_set(err, ETW_ERROR_FORMAT, "is %s that cannot be unpacked: %s", format_name,
			 text ? text : "it is damaged");
}

/* Opens an archive of one format. Returns NULL on failure. */
static struct archive *open_archive(struct unpacking *unpacking, const char *format_name,
				    int (*support)(struct archive *archive), struct etw_error *err)
{
	struct archive *archive = archive_read_new();

	if (!unpacking->entry) {
		unpacking->entry = archive_entry_new();
	}
	if (!archive || !unpacking->entry) {
		error_no_memory(err, format_name);
		archive_read_free(archive);
		return NULL;
	}
	unpacking->at = 0;
	if (support(archive) != ARCHIVE_OK ||
	    archive_read_set_read_callback(archive, on_read) != ARCHIVE_OK ||
	    archive_read_set_seek_callback(archive, on_seek) != ARCHIVE_OK ||
	    archive_read_set_skip_callback(archive, on_skip) != ARCHIVE_OK ||
	    archive_read_set_callback_data(archive, unpacking) != ARCHIVE_OK ||
	    archive_read_open1(archive) != ARCHIVE_OK) {
		/* Some functions of libarchive set no error text when memory runs out. */
		if (archive_error_string(archive)) {
			fail(archive, format_name, err);
		} else {
			error_no_memory(err, format_name);
		}
		archive_read_free(archive);
		return NULL;
	}
	return archive;
}

/* Copies the present file of the archive. libarchive reports a wrong checksum as a warning. */
static bool copy_data(struct unpacking *unpacking, struct archive *archive, const char *format_name,
		      struct etw_error *err)
{
	while (true) {
		const void *bytes;
		size_t size;
		la_int64_t offset;
		int result = archive_read_data_block(archive, &bytes, &size, &offset);

		if (result == ARCHIVE_EOF) {
			return true;
		}
		if (result != ARCHIVE_OK) {
			return fail(archive, format_name, err);
		}
		if (offset < 0 || (uint64_t)offset != os_file_size(unpacking->out)) {
			return error_set(err, ETW_ERROR_FORMAT, "is %s that has gaps", format_name);
		}
		if (!add(unpacking, bytes, size, err)) {
			return false;
		}
	}
}

static bool unpack_filter(struct unpacking *unpacking, const char *format_name,
			  int (*support)(struct archive *archive), struct etw_error *err)
{
	struct archive *archive = open_archive(unpacking, format_name, support, err);
	int result;
	bool good;

	if (!archive) {
		return false;
	}
	result = archive_read_next_header2(archive, unpacking->entry);
	/* libarchive counts the filter itself and one that reads the bytes. */
	if (result == ARCHIVE_OK && archive_filter_count(archive) > 2) {
		good = error_set(err, ETW_ERROR_FORMAT,
				 "is packed more than once: unpack it first");
	} else if (result == ARCHIVE_OK) {
		good = copy_data(unpacking, archive, format_name, err);
	} else {
		good = result == ARCHIVE_EOF || fail(archive, format_name, err);
	}
	archive_read_free(archive);
	return good;
}

/* Registers formats for the bytes that the filter gives: any bytes, or none. */
static bool support_bytes(struct archive *archive)
{
	return archive_read_support_format_raw(archive) == ARCHIVE_OK &&
	       archive_read_support_format_empty(archive) == ARCHIVE_OK;
}

static int support_zstd(struct archive *archive)
{
	return support_bytes(archive) ? archive_read_support_filter_zstd(archive) : ARCHIVE_FATAL;
}

static bool unpack_zstd(struct unpacking *unpacking, struct etw_error *err)
{
	return unpack_filter(unpacking, "packed by zstd", support_zstd, err);
}

/* ---- zip ---- */

#define ZIP "a zip archive"

/* What an archive contains. */
struct contents {
	size_t files;          /* so far */
	size_t chosen;         /* files that match the choice */
	size_t index;          /* index of the first file that matches */
	struct etw_text names; /* names of these files, or of all files if none matches; owned */
	size_t shown;
};

static const char *name_of(struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	/* The name cannot be converted to the character set of the program. */
	name = name ? name : archive_entry_pathname_utf8(entry);
	return name ? name : "?";
}

static bool is_chosen(const char *choice, const char *name)
{
	const char *slash = strrchr(name, '/');

	if (!choice) {
		return glob_matches_nocase("*.etl", name);
	}
	return glob_matches_nocase(choice, name) ||
	       (slash && glob_matches_nocase(choice, slash + 1));
}

static void show_name(struct contents *contents, const char *name)
{
	if (contents->shown < NAMES_SHOWN) {
		text_add_format(&contents->names, "%s%s", contents->shown ? ", " : "", name);
	} else if (contents->shown == NAMES_SHOWN) {
		text_add_string(&contents->names, ", ...");
	}
	contents->shown++;
}

/* Lists the files of the archive. */
static bool list_files(struct unpacking *unpacking, struct archive *archive,
		       struct contents *contents, struct etw_error *err)
{
	struct archive_entry *entry = unpacking->entry;
	struct contents all = { 0 };
	int result;

	unpacking->lists = true; /* libarchive reads all of it before the first file */
	/* A warning means that a name cannot be converted. */
	while ((result = archive_read_next_header2(archive, entry)) == ARCHIVE_OK ||
	       result == ARCHIVE_WARN) {
		const char *name = name_of(entry);

		unpacking->lists = false;
		if (contents->files == ENTRIES_MAX) {
			text_free(&contents->names);
			text_free(&all.names);
			return error_set(err, ETW_ERROR_LIMIT,
					 "is " ZIP " of more than %d files: unpack it first",
					 ENTRIES_MAX);
		}
		if (archive_entry_filetype(entry) != AE_IFDIR) {
			show_name(&all, name);
		}
		if (archive_entry_filetype(entry) != AE_IFDIR &&
		    is_chosen(unpacking->choice, name)) {
			contents->index = contents->chosen++ ? contents->index : contents->files;
			show_name(contents, name);
		}
		contents->files++;
	}
	if (contents->chosen == 0) {
		contents->names = all.names; /* contents->names was still empty */
	} else {
		text_free(&all.names);
	}
	if (list_is_too_long(unpacking)) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "is " ZIP
				 " whose list of files has more than %d MiB: unpack it first",
				 LIST_MAX >> 20);
	}
	return result == ARCHIVE_EOF || fail(archive, ZIP, err);
}

static bool must_be_one(const struct unpacking *unpacking, const struct contents *contents,
			struct etw_error *err)
{
	const char *names = contents->names.data && !contents->names.failed ? contents->names.data :
									      "nothing";

	if (contents->chosen == 1) {
		return true;
	}
	if (contents->chosen > 1) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "is " ZIP " of %zu recordings: choose one by ARCHIVE:NAME, of %s",
				 contents->chosen, names);
	}
	return error_set(err, ETW_ERROR_FORMAT, "is " ZIP " without %s%s%s; it contains %s",
			 unpacking->choice ? "\"" : "",
			 unpacking->choice ? unpacking->choice : "a recording (.etl)",
			 unpacking->choice ? "\"" : "", names);
}

/* Checks the header of the present file of the archive and copies the file. */
static bool copy_file(struct unpacking *unpacking, struct archive *archive, struct etw_error *err)
{
	struct archive_entry *entry = unpacking->entry;
	/* "ZIP 2.0 (deflation)" */
	const char *method = archive_format_name(archive);

	if (archive_entry_is_encrypted(entry)) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "is an encrypted zip archive: unpack it first");
	}
	if (!method || (!strstr(method, "(deflation)") && !strstr(method, "(uncompressed)"))) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "is " ZIP " whose method is not read here, %s: unpack it first",
				 method ? method : "?");
	}
	if (archive_entry_size_is_set(entry) &&
	    !check_stated(unpacking,
			  archive_entry_size(entry) < 0 ? UINT64_MAX :
							  (uint64_t)archive_entry_size(entry),
			  err)) {
		return false;
	}
	unpacking->taken = 0;
	return copy_data(unpacking, archive, ZIP, err);
}

static bool unpack_one(struct unpacking *unpacking, struct etw_error *err)
{
	struct contents contents = { 0 };
	struct archive *archive =
		open_archive(unpacking, ZIP, archive_read_support_format_zip_seekable, err);
	bool good = archive && list_files(unpacking, archive, &contents, err) &&
		    must_be_one(unpacking, &contents, err);

	archive_read_free(archive);
	text_free(&contents.names);
	if (!good) {
		return false;
	}
	archive = open_archive(unpacking, ZIP, archive_read_support_format_zip_seekable, err);
	for (size_t i = 0; archive && i <= contents.index; i++) {
		int result = archive_read_next_header2(archive, unpacking->entry);

		if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
			fail(archive, ZIP, err);
			archive_read_free(archive);
			return false;
		}
	}
	good = archive && copy_file(unpacking, archive, err);
	archive_read_free(archive);
	return good;
}

/* libarchive converts names, most of which are in UTF-8, to the character set of the thread. */
static bool unpack_zip(struct unpacking *unpacking, struct etw_error *err)
{
	void *utf8 = os_utf8_start();
	bool good = unpack_one(unpacking, err);

	os_utf8_end(utf8);
	return good;
}

/* ---- opening ---- */

/*
 * Sources: ".ZIP File Format Specification" 4.3; RFC 1952, 2.3.1; "The .xz File Format" 2.1.1; RFC
 * 8878, 3.1.1.
 */
static const struct packing {
	char magic[6];
	uint8_t size;
	bool (*unpack)(struct unpacking *unpacking, struct etw_error *err);
} packings[] = {
	{ "PK\x03\x04", 4, unpack_zip },
	{ "\x1f\x8b", 2, unpack_gzip },
	{ "\xfd"
	  "7zXZ",
	  6, unpack_xz },
	{ "\x28\xb5\x2f\xfd", 4, unpack_zstd },
};

/* Finds the packing of a file; *found is NULL if it is not packed. */
static bool find_packing(struct os_file *file, const struct packing **found, struct etw_error *err)
{
	char start[sizeof packings[0].magic];
	size_t size;

	*found = NULL;
	if (!os_file_read(file, 0, start, sizeof start, &size, err)) {
		return false;
	}
	for (size_t i = 0; i < sizeof packings / sizeof packings[0]; i++) {
		if (size >= packings[i].size &&
		    memcmp(start, packings[i].magic, packings[i].size) == 0) {
			*found = &packings[i];
		}
	}
	return true;
}

static bool copy_stream(struct unpacking *unpacking, struct os_file *stream, struct etw_error *err)
{
	size_t got;

	do {
		if (!os_file_next(stream, unpacking->block, BLOCK_SIZE, &got, err) ||
		    !add(unpacking, unpacking->block, got, err)) {
			return false;
		}
		progress_show_bytes(&unpacking->progress, os_file_size(unpacking->out));
	} while (got > 0);
	return true;
}

static bool unpack(struct unpacking *unpacking, const struct packing *packing,
		   struct etw_error *err)
{
	const struct packing *again;

	if (!check_stated(unpacking, etl_packed_stated_size(unpacking->packed), err) ||
	    !packing->unpack(unpacking, err) || !find_packing(unpacking->out, &again, err)) {
		return false;
	}
	return !again ||
	       error_set(err, ETW_ERROR_FORMAT, "is packed more than once: unpack it first");
}

/* Makes a temporary file from a stream (packing is NULL) or a packed file. Returns NULL on failure.
 */
static struct os_file *spool(struct os_file *from, const struct packing *packing,
			     const char *choice, const struct etl_packed_limits *limits,
			     struct etw_error *err)
{
	struct unpacking *unpacking = calloc(1, sizeof *unpacking);
	char *folder = os_temporary_folder();
	struct os_file *out = NULL;
	bool good;

	if (!unpacking || !folder) {
		free(unpacking);
		free(folder);
		error_no_memory(err, "a recording");
		return NULL;
	}
	unpacking->folder = folder;
	unpacking->room = limits->room ? limits->room : os_disk_free_bytes(folder);
	unpacking->packed = packing ? from : NULL;
	unpacking->choice = choice;
	unpacking->limits = limits;
	progress_start(&unpacking->progress, packing ? "unpacking" : "reading", NULL,
		       OUTPUT_AT_END);
	unpacking->progress.passes = 1;
	unpacking->out = os_file_temporary(err);
	good = unpacking->out &&
	       (packing ? unpack(unpacking, packing, err) : copy_stream(unpacking, from, err));
	progress_end(&unpacking->progress);
	if (good) {
		out = unpacking->out;
	} else {
		os_file_close(unpacking->out);
	}
	archive_entry_free(unpacking->entry);
	free(folder);
	free(unpacking);
	return out;
}

/* Adds a suggestion to the error about a path that does not exist. */
static void suggest(const char *path, struct etw_error *err)
{
	const struct etw_error why = *err;
	struct etw_text hint = { 0 };

	missing_path_suggest("", path, &hint);
	if (hint.data && !hint.failed) {
		error_set(err, why.code, "%s%s", why.text, hint.data);
	}
	text_free(&hint);
}

/*
 * Opens the file. *name is set to the name that the path chooses in an archive, or to NULL. Because
 * a file name can contain a colon, the whole path is tried first.
 */
static struct os_file *open_path(const char *path, const char **name, struct etw_error *err)
{
	struct os_file *file = os_file_open_any(path, err);

	*name = NULL;
	for (const char *colon = strchr(path, ':'); !file && colon;
	     colon = strchr(colon + 1, ':')) {
		char *archive = text_duplicate(path, (size_t)(colon - path));
		const struct packing *packing = NULL;

		file = archive ? os_file_open(archive, NULL) : NULL;
		free(archive);
		if (file && (!find_packing(file, &packing, NULL) || !packing ||
			     packing->unpack != unpack_zip)) {
			os_file_close(file);
			file = NULL;
		}
		*name = file ? colon + 1 : NULL;
	}
	if (file && err) {
		*err = (struct etw_error){ 0 };
	} else if (err) {
		suggest(path, err);
	}
	return file;
}

static struct os_file *open_new(const char *path, const struct etl_packed_limits *limits,
				struct etw_error *err)
{
	const struct packing *packing = NULL;
	const char *choice;
	struct os_file *file = open_path(path, &choice, err);
	struct os_file *out;

	if (file && os_file_is_stream(file)) {
		out = spool(file, NULL, NULL, limits, err);
		os_file_close(file);
		file = out;
	}
	if (file && !find_packing(file, &packing, err)) {
		os_file_close(file);
		return NULL;
	}
	if (packing) {
		out = spool(file, packing, choice, limits, err);
		os_file_close(file);
		file = out;
	}
	return file;
}

/* ---- keeping ---- */

static struct kept {
	struct kept *next;
	struct os_file *file; /* owned */
	char *path;           /* owned */
} * kept_first;
static unsigned keeping; /* number of starts that have no end yet */

void etw_packed_keep_start(void)
{
	keeping++;
}

void etw_packed_keep_end(void)
{
	keeping--;
	while (keeping == 0 && kept_first) {
		struct kept *next = kept_first->next;

		os_file_close(kept_first->file);
		free(kept_first->path);
		free(kept_first);
		kept_first = next;
	}
}

/* Keeps a temporary file for the path. If memory runs out, the file is not kept. */
static void keep_temporary(const char *path, const struct os_file *file)
{
	struct kept *kept = calloc(1, sizeof *kept);

	if (kept) {
		kept->path = text_duplicate(path, strlen(path));
		kept->file = kept->path ? os_file_share(file, NULL) : NULL;
		kept->next = kept_first;
	}
	if (kept && kept->file) {
		kept_first = kept;
	} else if (kept) {
		free(kept->path);
		free(kept);
	}
}

struct os_file *etl_packed_open(const char *path, const struct etl_packed_limits *limits,
				struct etw_error *err)
{
	struct os_file *file;

	for (const struct kept *kept = kept_first; kept; kept = kept->next) {
		if (strcmp(kept->path, path) == 0) {
			return os_file_share(kept->file, err);
		}
	}
	file = open_new(path, limits, err);
	if (file && keeping > 0 && os_file_is_temporary(file)) {
		keep_temporary(path, file);
	}
	return file;
}
