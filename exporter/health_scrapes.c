/* SPDX-License-Identifier: MIT */
#include "health_scrapes.h"

bool scrape_families(struct registry *registry, struct scrape_families *families, struct error *err)
{
	static const uint64_t bounds_ns[] = { 1000000,    2500000,    5000000,    10000000,
					      25000000,   50000000,   100000000,  250000000,
					      500000000,  1000000000, 2500000000, 5000000000,
					      10000000000 };
	static const struct family_options scrapes = {
		.name = "etw_exporter_scrapes_total",
		.help = "Scrapes answered, by HTTP status; 499: the client left before the end.",
		.type = FAMILY_COUNTER,
		.labels = { "code" },
		.label_count = 1,
	};
	static const struct family_options duration = {
		.name = "etw_exporter_scrape_duration_seconds",
		.help = "Time to render and send a page of metrics.",
		.type = FAMILY_HISTOGRAM,
		.decimals = 9,
		.buckets = bounds_ns,
		.bucket_count = sizeof bounds_ns / sizeof bounds_ns[0],
	};
	static const struct family_options size = {
		.name = "etw_exporter_scrape_size_bytes",
		.help = "Size of the last page of metrics.",
		.type = FAMILY_GAUGE,
	};

	families->scrapes = registry_family(registry, &scrapes, err);
	families->duration = registry_family(registry, &duration, err);
	families->size = registry_family(registry, &size, err);
	return families->scrapes && families->duration && families->size;
}
