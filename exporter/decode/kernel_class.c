/* SPDX-License-Identifier: MIT */
/*
 * The kernel's event classes, one row each; their layouts are in kernel/.
 *
 * Offsets of fields are worked out when a layout is first asked for, once and for all threads.
 */
#include "decode/kernel_class.h"

#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "decode/event_info.h"
#include "decode/kernel/layout.h"

/*
 * In the order of the kernel's group numbers (etl-format.md section 8), then those without a group.
 */
static const struct kernel_table *const classes[] = {
	&kernel_table_event_trace,
	&kernel_table_disk_io,
	&kernel_table_page_fault,
	&kernel_table_process,
	&kernel_table_file_io,
	&kernel_table_thread,
	&kernel_table_tcp_ip,
	&kernel_table_job,
	&kernel_table_udp_ip,
	&kernel_table_registry,
	&kernel_table_debug_print,
	&kernel_table_system_config,
	&kernel_table_last_branch,
	&kernel_table_wnf,
	&kernel_table_pool,
	&kernel_table_perf_info,
	&kernel_table_heap,
	&kernel_table_object,
	&kernel_table_power,
	&kernel_table_module_bound,
	&kernel_table_image,
	&kernel_table_dpc,
	&kernel_table_cache_manager,
	&kernel_table_critical_section,
	&kernel_table_stack_walk,
	&kernel_table_ums,
	&kernel_table_alpc,
	&kernel_table_split_io,
	&kernel_table_thread_pool,
	&kernel_table_hypervisor,
	&kernel_table_hypervisor_extension,
	&kernel_table_lost_event,
	&kernel_table_mmcss,
	&kernel_table_sys_config,
	&kernel_table_image_id,
};

/*
 * Written when a recording is merged; describes other providers' events (etl-format.md section 12).
 */
static const struct kernel_table meta_data = {
	.guid = META_DATA_CLASS,
	.name = "MetaData",
	.class = KERNEL_META_DATA,
};

static struct os_once placed = { OS_ONCE_INIT };

static void place_layouts(void)
{
	for (size_t i = 0; i < ROWS(classes); i++) {
		for (const struct kernel_table *table = classes[i]; table; table = table->more) {
			for (unsigned k = 0; k < table->layout_count; k++) {
				struct kernel_layout *layout = &table->layouts[k];

				layout->schema.first_variable =
					fields_place(layout->placed, layout->schema.field_count);
			}
		}
	}
}

static const struct kernel_table *find_class(const struct guid *guid)
{
	for (size_t i = 0; i < ROWS(classes); i++) {
		if (guid_equal(&classes[i]->guid, guid)) {
			return classes[i];
		}
	}
	return guid_equal(&meta_data.guid, guid) ? &meta_data : NULL;
}

enum kernel_class kernel_class_of(const struct guid *guid)
{
	const struct kernel_table *table = find_class(guid);

	return table ? table->class : KERNEL_NONE;
}

const char *kernel_class_name(const struct guid *guid)
{
	const struct kernel_table *table = find_class(guid);

	return table ? table->name : NULL;
}

bool kernel_class_is_kernel(const struct guid *guid)
{
	const struct kernel_table *table = find_class(guid);

	return table && table != &meta_data;
}

const char *kernel_event_name(const struct guid *guid, uint8_t opcode)
{
	const struct kernel_table *table = find_class(guid);

	for (unsigned i = 0; table && i < table->event_count; i++) {
		if (table->events[i].opcode == opcode) {
			return table->events[i].name;
		}
	}
	return NULL;
}

bool kernel_class_find(const char *class_name, size_t class_size, struct guid *guid)
{
	struct guid found;
	const char *name;

	for (unsigned i = 0; (name = kernel_class_at(i, &found)); i++) {
		if (text_equal_nocase(name, strlen(name), class_name, class_size)) {
			*guid = found;
			return true;
		}
	}
	return false;
}

bool kernel_event_find(const struct guid *guid, const char *event_name, size_t size,
		       uint8_t *opcode)
{
	const struct kernel_table *table = find_class(guid);

	for (unsigned i = 0; table && i < table->event_count; i++) {
		const char *name = table->events[i].name;

		if (text_equal_nocase(name, strlen(name), event_name, size)) {
			*opcode = table->events[i].opcode;
			return true;
		}
	}
	return false;
}

const char *kernel_class_at(unsigned index, struct guid *guid)
{
	const struct kernel_table *table;

	if (index > ROWS(classes)) {
		return NULL;
	}
	table = index < ROWS(classes) ? classes[index] : &meta_data;
	if (guid) {
		*guid = table->guid;
	}
	return table->name;
}

const struct schema *kernel_schema_at(const struct guid *guid, uint8_t opcode, unsigned index,
				      uint8_t *version)
{
	os_once(&placed, place_layouts);
	for (const struct kernel_table *table = find_class(guid); table; table = table->more) {
		for (unsigned i = 0; i < table->layout_count; i++) {
			const struct kernel_layout *layout = &table->layouts[i];

			if (memchr(layout->opcodes, opcode, layout->opcode_count) && index-- == 0) {
				if (version) {
					*version = layout->version;
				}
				return &layout->schema;
			}
		}
	}
	return NULL;
}

const struct schema *kernel_schema(const struct guid *guid, uint8_t opcode, uint8_t version)
{
	const struct schema *best = NULL, *next;
	uint8_t best_version = 0, next_version;

	for (unsigned i = 0; (next = kernel_schema_at(guid, opcode, i, &next_version)); i++) {
		bool nearer = next_version <= version ?
				      best_version > version || next_version >= best_version :
				      next_version < best_version;

		if (!best || nearer) {
			best = next;
			best_version = next_version;
		}
	}
	return best;
}
