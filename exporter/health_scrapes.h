/* SPDX-License-Identifier: MIT */
/*
 * The families about scrapes (docs/metrics.md): declared here, counted into by the web server.
 */
#ifndef EXPORTER_HEALTH_SCRAPES_H
#define EXPORTER_HEALTH_SCRAPES_H

#include <stdbool.h>

#include "base/error.h"
#include "metrics/registry.h"

struct scrape_families {
	struct family *scrapes;  /* by HTTP status */
	struct family *duration; /* histogram, ns */
	struct family *size;     /* gauge, bytes */
};

bool scrape_families(struct registry *registry, struct scrape_families *families,
		     struct error *err);

#endif
